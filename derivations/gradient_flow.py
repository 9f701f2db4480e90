"""From a loss to the equation of one feature: differentiate with the target frozen, find what is conserved, reduce.

A loss is written for one feature whose layers share their amplitudes, u in each of the L encoder layers and v in each of the M
predictor layers. Training moves every layer on its own, at rate 1; as the loss sees the layers through their products, one
encoder layer moves at (1/L) of the derivative by the shared u, and one predictor layer at (1/M) of that by v.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Add, Expr, Mul, S, expand, expand_power_exp, fraction, powsimp, together

from derivations.notation import L, M, lam, released, rho, sg, sigma, u, v
from derivations.reduction import normal, vanishes

LOSSES: dict[str, Expr] = {
    "jepa": sigma**2 * (v**M * u**L) ** 2 / 2 - lam * v**M * u**L * sg(u**L),
    "mae": sigma**2 * (v**M * u**L) ** 2 / 2 - lam * v**M * u**L,
}
"""The loss of one feature, up to what does not depend on the student: 1/2 E(v^M u^L x - target)^2."""

LOSSES["supervised"] = LOSSES["mae"]  # the last of N layers counts as the decoder: L = N - 1, M = 1


@dataclass(frozen=True)
class Flow:
    """du/dt and dv/dt of one encoder layer and one predictor layer, at unit learning rate."""

    encoder: Expr
    predictor: Expr


def gradient_flow(loss: Expr) -> Flow:
    """Minus the gradient of the loss by one layer, the stop-gradients released after differentiation.

    Numbers of layers are put into the flow that comes out, not into the loss: the rates are shares 1/L and 1/M.
    """
    return Flow(*(normal(-released(loss.diff(layer)) / count) for layer, count in ((u, L), (v, M))))


def conserved(flow: Flow) -> Expr | None:
    """v**q - k u**r if it is constant along the flow, as it is wherever dv/du is a product of powers; else None.

    Balanced losses have v**2 - u**2.
    """
    powers = _conserved_powers(flow)
    if powers is None:
        return None
    q, k, r = powers
    return v**q - k * u**r


def _conserved_powers(flow: Flow) -> tuple[Expr, Expr, Expr] | None:
    """(q, k, r) of v**q - k u**r."""
    if flow.encoder == 0 or flow.predictor == 0:
        return None
    slope = _monomial(normal(flow.predictor / flow.encoder))
    if slope is None or vanishes(1 - slope[2]) or vanishes(1 + slope[1]):
        return None
    k, by_u, by_v = slope
    return 1 - by_v, normal(k * (1 - by_v) / (1 + by_u)), 1 + by_u


def _monomial(expression: Expr) -> tuple[Expr, Expr, Expr] | None:
    """(k, r, q) of k u**r v**q, k free of both."""
    powers = {u: S.Zero, v: S.Zero}
    k = S.One
    for factor in Mul.make_args(powsimp(expression)):
        base, exponent = factor.as_base_exp()
        if base in powers and not exponent.has(u, v):
            powers[base] += exponent
        elif factor.has(u, v):
            return None
        else:
            k *= factor
    return k, powers[u], powers[v]


def balanced_rate(flow: Flow) -> Expr | None:
    """du/dt where v = u, if the flow never leaves that line or the encoder does not depend on v; else None."""
    line = balanced_line(flow)
    return normal(flow.encoder.subs(v, u)) if line == u else None


def balanced_line(flow: Flow) -> Expr | None:
    """v as a function of u on a curve through the origin on which one equation is left; None if none is found.

    That is v = u where both layers move alike there, so that the flow never leaves it, or where the encoder does not depend on
    v; else the curve on which a conserved power law is 0.
    """
    if not flow.encoder.has(v) or vanishes(flow.encoder.subs(v, u) - flow.predictor.subs(v, u)):
        return u
    powers = _conserved_powers(flow)
    if powers is None or not powers[1].is_positive:
        return None
    q, k, r = powers
    return (k * u**r) ** (1 / q)


@dataclass(frozen=True)
class Member:
    """A mode equation du/dt = growth u**a (1 - u**b / capacity) of the power-law family."""

    growth: Expr
    a: Expr
    b: Expr
    capacity: Expr

    @property
    def rate(self) -> Expr:
        """The right-hand side."""
        return self.growth * u**self.a * (1 - u**self.b / self.capacity)


def family_member(rate: Expr) -> Member | None:
    """The rate as a member of the family: two powers of u, the lower growing and the higher saturating; None if it is not."""
    terms = powers_of_layer(rate)
    if terms is None or len(terms) != 2:
        return None
    (low, growth), (high, loss) = sorted(terms.items(), key=lambda term: _rank(term[0]))
    gap = expand(high - low)
    if not gap.is_positive or not growth.is_positive or not (-loss).is_positive:
        return None
    return Member(growth, low, gap, normal(-growth / loss))


def powers_of_layer(rate: Expr) -> dict[Expr, Expr] | None:
    """The rate as exponent -> coefficient of a sum of powers of u; None if it is no such sum."""
    numerator, denominator = fraction(together(expand(rate)))
    if denominator.has(u):
        numerator = expand(expand_power_exp(numerator / denominator))
        denominator = S.One
    terms: dict[Expr, Expr] = {}
    for term in Add.make_args(expand(expand_power_exp(numerator))):
        exponent, coefficient = S.Zero, S.One / denominator
        for factor in Mul.make_args(term):
            base, power = factor.as_base_exp()
            if base == u and not power.has(u):
                exponent += power
            elif factor.has(u):
                return None
            else:
                coefficient *= factor
        exponent = expand(exponent)
        terms[exponent] = terms.get(exponent, S.Zero) + coefficient
    collected = {exponent: normal(coefficient.subs(sigma**2, lam / rho)) for exponent, coefficient in terms.items()}
    return {exponent: coefficient for exponent, coefficient in collected.items() if coefficient != 0}


def _rank(exponent: Expr) -> tuple[float, str]:
    """Exponents by their value at large depth, which sorts those of two terms as any depth does."""
    return float(exponent.subs({L: 101, M: 11})), str(exponent)


def mode(objective: str) -> Member:
    """The mode equation of a named objective, derived from its loss."""
    rate = balanced_rate(gradient_flow(LOSSES[objective]))
    member = family_member(rate) if rate is not None else None
    assert member is not None, objective
    return member
