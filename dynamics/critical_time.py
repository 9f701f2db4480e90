"""When is each feature learned: exact critical times, what they depend on, and how they look for a small start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1, log

import numpy as np

from dynamics.checks import check_epsilon, check_fraction
from dynamics.clock import BLOCK, dimensionless_time, saturation_tail
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.grid import Setting
from dynamics.objectives import Objective
from dynamics.power_law import asymptote, growth_span, growth_time
from dynamics.status import Status, StatusArray, status_of, words
from dynamics.table import Columns, Tabular


@dataclass(frozen=True, eq=False)
class CriticalTimes(Tabular):
    """Critical times of every feature under one objective, arrays of shape ``(len(features),)``.

    Attributes
    ----------
    time
        Gradient-flow time at unit learning rate per layer; ``inf`` where the status is ``never`` or a double overflows.
    log10_time
        Decimal logarithm, finite also where ``time`` overflows; ``-inf`` where the feature is already reached.
    """

    objective: Objective
    features: Features
    epsilon: float
    fraction: float
    time: FloatArray
    log10_time: FloatArray

    @cached_property
    def asymptote(self) -> FloatArray:
        """Encoder amplitude that each feature tends to; 0 where lambda <= 0."""
        return asymptote(self.objective, self.features.rho)

    @cached_property
    def status(self) -> StatusArray:
        """A `Status` a feature."""
        return status_of(self.log10_time)

    def columns(self) -> Columns:
        """The standard columns: feature, setting, lambda, rho, sigma, asymptote, critical time (training time), status."""
        return Setting(self.objective, self.epsilon, self.fraction).columns(self.features) | {
            "asymptote": self.asymptote,
            "critical_time": self.time,
            "log10_critical_time": self.log10_time,
            "status": words(self.status),
        }

    def require_reached(self) -> None:
        """Raise a `LindynError` that names the first feature which is not ``reached`` and why."""
        for row in np.flatnonzero(self.status != Status.REACHED)[:1]:
            status: Status = self.status[row]
            name = self.features.labels()[row]
            raise LindynError(f"Feature {name} has no critical time after the start: {status.value}. {status.message}")


def critical_times(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> CriticalTimes:
    """First training time at which each feature reaches a fraction of its own asymptote.

    Exact for balanced, aligned gradient flow (Littwin et al. 2024, critical times of JEPA and MAE in deep linear networks);
    a network trained with a finite step follows it to first order in the learning rate.

    Parameters
    ----------
    epsilon
        Encoder amplitude of every feature at the start, the product over layers; one layer starts at ``epsilon**(1/depth)``.
    fraction
        Share of the asymptote that counts as learned, in (0, 1).

    Returns
    -------
    CriticalTimes
        Arrays of shape ``(len(features),)``. ``time`` is gradient-flow time at unit learning rate per layer, accurate to
        ``1e-13 + 4 * 2**-53 * |ln t|`` relative where epsilon is at most half of ``fraction * asymptote`` (nearer to it, to
        what rounding leaves of the distance); multiply by the depth for the convention without the factor L.

    Raises
    ------
    ParameterError
        If ``epsilon`` is not positive or ``fraction`` lies outside (0, 1).
    """
    check_epsilon(epsilon)
    check_fraction(fraction)
    count = len(features)
    time, log10_time = np.empty(count), np.empty(count)
    for first in range(0, count, BLOCK):
        part = slice(first, first + BLOCK)
        lam, rho = features.lam[part], features.rho[part]
        positive = lam > 0
        lam, rho = np.where(positive, lam, 1.0), np.where(positive, rho, 1.0)
        span = growth_span(objective, rho, epsilon, fraction)
        reached = positive & (span.gap > 0)
        scaled = growth_time(objective, lam, epsilon, span)
        time[part] = np.where(reached, scaled.value, np.where(positive, 0.0, np.inf))
        with np.errstate(divide="ignore"):
            log10_time[part] = np.where(reached, scaled.log10, np.where(positive, -np.inf, np.inf))
    return CriticalTimes(objective, features, epsilon, fraction, time, log10_time)


@dataclass(frozen=True, eq=False)
class Elasticities(Tabular):
    """Relative change of the critical time per relative change of one parameter, the others held; one entry a feature.

    ``rho`` varies at fixed ``lam``.
    """

    lam: FloatArray
    rho: FloatArray
    epsilon: FloatArray
    fraction: FloatArray

    def columns(self) -> Columns:
        """One column a parameter."""
        return {
            "elasticity_lambda": self.lam,
            "elasticity_rho": self.rho,
            "elasticity_epsilon": self.epsilon,
            "elasticity_fraction": self.fraction,
        }


def elasticities(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> Elasticities:
    """d ln t / d ln of lambda, rho, epsilon and fraction, exactly (Littwin et al. 2024, critical times; differentiated).

    Parameters are those of `critical_times`.

    Raises
    ------
    LindynError
        Also if a feature has no critical time after the start: it has no logarithm to differentiate.
    """
    critical_times(objective, features, epsilon=epsilon, fraction=fraction).require_reached()
    span = growth_span(objective, features.rho, epsilon, fraction)
    alpha, power = float(objective.alpha), objective.b / objective.depth
    total, saturation = dimensionless_time(objective.alpha, span)
    start, start_gap, survived = span.start, span.start_gap, np.exp(-alpha * span.log_ratio)
    return Elasticities(
        lam=np.full(len(features), -1.0),
        rho=(survived * start_gap + start - alpha * start_gap * saturation) / (start_gap * total),
        epsilon=-power / (start_gap * total),
        fraction=power * survived / (span.end_gap * total),
    )


@dataclass(frozen=True, eq=False)
class Expansion(Tabular):
    """The critical time as epsilon tends to 0, term by term, in training time; arrays with one row a feature.

    Attributes
    ----------
    terms
        The powers of 1/epsilon, most singular first; the first does not depend on rho.
    logarithm
        The term in ln(1 / epsilon), zero where alpha is not an integer.
    constant
        What is left as epsilon tends to 0; the only part that depends on the fraction.
    """

    terms: FloatArray
    logarithm: FloatArray
    constant: FloatArray

    def columns(self) -> Columns:
        """The dominant term and the sum of all."""
        return {"dominant_time": self.dominant, "expansion_time": self.total}

    @property
    def dominant(self) -> FloatArray:
        """The most singular term alone. Off by tens of per cent at common epsilons: never quote it for the time."""
        leading: FloatArray = self.terms[:, 0] if self.terms.shape[1] else self.logarithm
        return leading

    @property
    def total(self) -> FloatArray:
        """All terms, accurate up to what vanishes with epsilon."""
        total: FloatArray = self.terms.sum(axis=1) + self.logarithm + self.constant
        return total


def expansion(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> Expansion:
    """The expansion of the critical time for a small start (Littwin et al. 2024, asymptotics of critical times).

    Not a substitute for `critical_times`: it says nothing where ``epsilon`` is not small against the asymptote. Parameters are
    those of `critical_times`.

    Raises
    ------
    ParameterError
        Also if a lambda is not positive: there is no critical time to expand.
    """
    check_epsilon(epsilon)
    check_fraction(fraction)
    lam, rho, alpha = features.lam, features.rho, objective.alpha
    if not (lam > 0).all():
        raise ParameterError("lambda", lam[np.argmin(lam > 0)], "positive for its critical time to have an expansion")
    orders = range(ceil(alpha))
    powers = [objective.a - 1 - k * objective.b for k in orders]
    log_end = objective.b / objective.depth * log(fraction)
    log_unit = -float(alpha) * np.log(rho) - log(objective.b) - np.log(lam)
    with np.errstate(all="ignore"):
        terms = [
            _term(np.float64(epsilon) ** (-n / objective.depth) / n, lam, rho, k) for k, n in zip(orders, powers, strict=True)
        ]
        ends = sum(np.exp(log_unit - float(alpha - k) * log_end) / float(alpha - k) for k in orders)
        if alpha.denominator == 1:
            logarithm = np.exp(log_unit) * objective.b / objective.depth * -log(epsilon)
            rest = np.log(rho) + log_end - log(-expm1(log_end))
        else:
            base = alpha % 1
            logarithm = np.zeros(len(features))
            rest = saturation_tail(base, exp(log_end), -expm1(log_end)) * np.exp(-float(base) * log_end)
        constant = np.exp(log_unit) * rest - ends
        result = Expansion(np.array(terms).reshape(len(powers), len(features)).T, logarithm, constant)
        undefined = np.isnan(result.total)
    if undefined.any():
        name = features.labels()[int(np.argmax(undefined))]
        raise LindynError(f"The expansion of feature {name} needs numbers that a double cannot hold.")
    return result


def _term(power: float, lam: FloatArray, rho: FloatArray, k: int) -> FloatArray:
    """power / (lam rho**k), by way of logarithms where a factor leaves the doubles."""
    direct = power / lam / rho**k
    return np.where(np.isfinite(direct), direct, np.exp(np.log(power) - np.log(lam) - k * np.log(rho)))
