"""From a loss to critical times in numbered lines, each with what was checked on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from sympy import Expr, S

from derivations.expression import LossError, parse_loss
from derivations.family_lines import family_lines
from derivations.formulas import inline
from derivations.gradient_flow import (
    LOSSES,
    Flow,
    Member,
    balanced_line,
    family_member,
    gradient_flow,
    powers_of_layer,
)
from derivations.lines import Line, opening, other_lines
from derivations.notation import (
    L,
    M,
    lam,
    rho,
    sg,
    sigma,
    v,
)
from derivations.reduction import normal
from dynamics.errors import LindynError, ParameterError

MOST_LAYERS = 1000


@dataclass(frozen=True)
class Derivation:
    """The lines, and what they arrive at.

    Attributes
    ----------
    terms
        The balanced rate as exponent -> coefficient of powers of u, sigma^2 written as lambda/rho.
    member
        The rate as a member of the power-law family; None if it is none.
    """

    title: str
    depth: int | None
    predictor_depth: int | None
    terms: Mapping[Expr, Expr]
    member: Member | None
    lines: tuple[Line, ...]


def derive(objective: str, depth: int | None = None, predictor_depth: int | None = None) -> Derivation:
    """The derivation of a named objective, for every depth where none is given (Littwin et al. 2024).

    Parameters
    ----------
    objective
        ``jepa``, ``mae`` or ``supervised``, whose ``depth`` counts all layers.
    depth, predictor_depth
        L and M; symbolic if None.

    Raises
    ------
    ParameterError
        If a depth is not a whole number in its range.
    """
    _check_layers("depth", depth, 2 if objective == "supervised" else 1)
    _check_layers("predictor_depth", predictor_depth, 1)
    title = {"jepa": "JEPA", "mae": "MAE", "supervised": "Supervised network"}[objective]
    if objective == "supervised":
        if predictor_depth not in (None, 1):
            raise ParameterError("predictor_depth", predictor_depth, "1 for a supervised network: its depth counts all layers")
        return derive_loss(LOSSES[objective], depth - 1 if depth else None, 1, title=f"{title}, its last layer as the decoder")
    return derive_loss(LOSSES[objective], depth, predictor_depth, title=title)


def derive_loss(
    loss: str | Expr, depth: int | None = None, predictor_depth: int | None = None, *, title: str = "Your loss"
) -> Derivation:
    """The derivation of any per-feature loss in u, v, L, M, lam, sigma, rho and sg(...).

    A loss of the power-law family gets closed forms; another gets its fixed points and, for given depths, its time by partial
    fractions. A loss without M has one predictor layer.

    Raises
    ------
    LossError
        If the text is no such loss, its flow keeps no balanced line, or it has no positive fixed point.
    """
    _check_layers("depth", depth, 1)
    _check_layers("predictor_depth", predictor_depth, 1)
    expression = parse_loss(loss) if isinstance(loss, str) else loss
    if depth is None and not expression.has(L):
        raise LossError("The loss does not contain L; give --depth, the number of encoder layers that it is written for.")
    if predictor_depth is None and not expression.has(M):
        predictor_depth = 1
    layers = {symbol: S(count) for symbol, count in ((L, depth), (M, predictor_depth)) if count is not None}
    flow = gradient_flow(expression)
    flow = Flow(normal(flow.encoder.subs(layers)), normal(flow.predictor.subs(layers)))
    line, rate, terms = _reduced(flow, frozen=expression.has(sg))
    member = family_member(rate)
    lines = [*opening(expression.subs(layers), flow, line, rate, member)]
    lines += family_lines(member, layers) if member else other_lines(terms)
    for written in lines:
        _check(written)
    return Derivation(title, depth, predictor_depth, terms, member, tuple(lines))


def _reduced(flow: Flow, *, frozen: bool) -> tuple[Expr, Expr, Mapping[Expr, Expr]]:
    """v on the balanced line, du/dt there, and that as exponent -> coefficient."""
    line = balanced_line(flow)
    if line is None:
        open_depths = flow.encoder.has(L, M) or flow.predictor.has(L, M)
        advice = ["a loss written for fixed numbers of layers needs --depth and --predictor-depth"] if open_depths else []
        advice += [] if frozen else ["a target that the student makes itself stands in sg(...)"]
        raise LossError(
            f"The loss has no balanced line: v = u is not kept by du/dt = {inline(flow.encoder)}, "
            f"dv/dt = {inline(flow.predictor)}{'; ' if advice else ''}{', and '.join(advice)}."
        )
    rate = normal(flow.encoder.subs(v, line).subs(sigma**2, lam / rho))
    terms = powers_of_layer(rate)
    if terms is None:
        raise LossError(f"The loss gives du/dt = {inline(rate)}, which is no sum of powers of u.")
    return line, rate, terms


def _check_layers(name: str, layers: int | None, least: int) -> None:
    """Raise a `ParameterError` unless a number of layers is None or a whole number in its range."""
    whole = isinstance(layers, int) and not isinstance(layers, bool)
    if layers is not None and not (whole and least <= layers <= MOST_LAYERS):
        raise ParameterError(name, layers, f"a whole number from {least} to {MOST_LAYERS}")


def _check(line: Line) -> None:
    for step in line.checks:
        finding = step.check(line.domain, Random(line.title))
        if not finding.holds:
            raise LindynError(f"{line.title}: {step.sentence} {finding.reason}")


def objectives() -> tuple[str, ...]:
    """The named objectives."""
    return tuple(LOSSES)
