"""The first lines of a derivation, which every loss has, and those of a loss outside the power-law family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sympy import Add, Derivative, Eq, Expr, Symbol, expand, powsimp

from derivations.expression import LossError
from derivations.fixed_points import Rate, by_signs, fixed_points, polynomial
from derivations.formulas import inline
from derivations.gradient_flow import (
    Flow,
    Member,
    conserved,
)
from derivations.notation import (
    Domain,
    sg,
    t,
    u,
    v,
)
from derivations.partial_fractions import antiderivative as partial_fractions
from derivations.partial_fractions import is_antiderivative
from derivations.proof import Identity, Step
from derivations.reduction import normal
from dynamics.errors import LindynError


@dataclass(frozen=True)
class Line:
    """One numbered line of a derivation.

    Attributes
    ----------
    formulas
        What it arrives at.
    checks
        Steps that were reduced symbolically and evaluated at random points before the line was written.
    """

    title: str
    sentence: str
    formulas: tuple[Expr, ...] = ()
    checks: tuple[Step, ...] = ()
    domain: Domain = field(default_factory=dict)


def by_time(amplitude: Expr, time: Symbol = t) -> Derivative:
    """d amplitude / d time, to be read."""
    return Derivative(amplitude, time, evaluate=False)


def _tidy(rate: Expr) -> Expr:
    """A sum with equal powers collected."""
    return powsimp(expand(rate))


def opening(loss: Expr, flow: Flow, line: Expr, rate: Expr, family: Member | None) -> Iterator[Line]:
    """From the loss to the mode equation; written as a member of the family where it is one."""
    frozen = " What stands inside sg(...) is frozen." if loss.has(sg) else ""
    yield Line(
        "Loss",
        "The loss of one feature, u the amplitude of each encoder layer and v that of each predictor layer, up to what "
        f"does not depend on them.{frozen}",
        (Eq(Symbol("ell"), loss, evaluate=False),),
    )
    yield Line(
        "Gradient flow",
        "Every layer moves at unit rate; the loss sees the layers through their products, so one encoder layer moves at "
        "1/L of minus the derivative by the shared u, one predictor layer at 1/M of that by v.",
        tuple(Eq(by_time(layer), _tidy(rate), evaluate=False) for layer, rate in ((u, flow.encoder), (v, flow.predictor))),
    )
    yield _balance(flow, line)
    yield Line(
        "Mode equation",
        f"On the balanced line, v = {inline(line)}, one equation is left; sigma^2 = lambda/rho.",
        (Eq(by_time(u), family.rate if family else _tidy(rate), evaluate=False),),
        (Identity("The same.", rate, family.rate),) if family else (),
    )


def _balance(flow: Flow, line: Expr) -> Line:
    if not flow.encoder.has(v):
        return Line("Balance", "The encoder does not depend on v: it trains as it would alone.")
    found = conserved(flow)
    if found is None:
        return Line(
            "Balance",
            "No power law of u and v is conserved, but both layers move alike where v = u: a balanced start stays balanced.",
            checks=(Identity("Both layers move alike on v = u.", flow.encoder.subs(v, u), flow.predictor.subs(v, u)),),
        )
    growth = Identity(
        "What one side adds along the flow, the other takes away.",
        normal(found.diff(v) * flow.predictor),
        normal(-found.diff(u) * flow.encoder),
    )
    return Line(
        "Conserved quantity",
        f"Along the flow this stays what it was at the start; a balanced start, v = {inline(line)}, stays balanced.",
        (Eq(by_time(found), 0, evaluate=False),),
        (growth,),
    )


def other_lines(terms: Mapping[Expr, Expr]) -> Iterator[Line]:
    """Fixed points and time of a mode equation outside the family.

    Raises
    ------
    LossError
        If it has no positive fixed point.
    """
    _refuse_one_sign(terms)
    if any(not exponent.is_Integer for exponent in terms):
        yield Line(
            "Not one of the family",
            "The rate is no member of the power-law family lambda u^a (1 - u^b/rho). Its fixed points and its time in "
            "partial fractions need --depth and --predictor-depth.",
        )
        return
    rate = polynomial(terms)
    yield _resting(rate)
    found = partial_fractions(rate)
    if not is_antiderivative(found, 1 / rate.expression):
        raise LindynError("The partial fractions of the time do not differentiate to 1/(du/dt).")
    yield Line(
        "Time by partial fractions",
        "An antiderivative of dt/du below the first positive fixed point, proved by differentiation; a sum over roots "
        "runs over the zeros r of the polynomial named.",
        (Eq(Symbol("F"), found.expression, evaluate=False),),
    )


def _resting(rate: Rate) -> Line:
    """The fixed points: isolated where the loss has numbers only, told by the signs elsewhere."""
    apart = "The rate is no member of the power-law family lambda u^a (1 - u^b/rho)."
    if not rate.is_numeric:
        return Line("Fixed points", f"{apart} {by_signs(rate).sentence}")
    points = fixed_points(rate)
    words = ", ".join(f"{point.ball().str(10, radius=False)} ({point.stability})" for point in points)
    exact = tuple(Eq(Symbol("u_*"), point.exact, evaluate=False) for point in points if point.exact is not None)
    return Line("Fixed points", f"{apart} Its positive fixed points are u = {words}.", exact)


def _refuse_one_sign(terms: Mapping[Expr, Expr]) -> None:
    """Raise if the rate cannot vanish for u > 0, whatever the depth."""
    for turn, word in ((1, "positive"), (-1, "negative")):
        if all((turn * coefficient).is_positive for coefficient in terms.values()):
            shown = inline(Add(*(coefficient * u**exponent for exponent, coefficient in terms.items())))
            which = "the one term" if len(terms) == 1 else "every term"
            raise LossError(f"The loss has no positive fixed point: {which} of du/dt = {shown} is {word} for u > 0.")
