"""The first lines of a derivation, which every loss has, and those of a loss outside the power-law family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sympy import Add, Derivative, Eq, Expr, Rational, RootSum, Symbol, expand, powsimp

from derivations.expression import LossError
from derivations.fixed_points import fixed_points, is_isolated
from derivations.formulas import inline
from derivations.gradient_flow import (
    Flow,
    Member,
    conserved,
)
from derivations.notation import (
    Domain,
    L,
    M,
    sg,
    sigma,
    t,
    u,
    v,
)
from derivations.partial_fractions import antiderivative as partial_fractions
from derivations.partial_fractions import is_antiderivative
from derivations.proof import Identity, Step
from derivations.rates import Rate, by_signs, polynomial
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


APART = "The rate is no member of the power-law family lambda u^a (1 - u^b/rho)."
PARTLY = "Whether the rate is a member of the power-law family lambda u^a (1 - u^b/rho) depends on the numbers."
MOST_DEGREE = 120
MOST_SIZE = 1_000
MOST_TERMS_OF_REPEATED = 6
"""Partial fractions are sought up to this degree, degree times terms, and terms if zeros repeat: their proof takes a second."""


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
        "Every layer moves at unit rate; the layers of a kind are equal and enter the loss alike, so one encoder layer "
        "moves at 1/L of minus the derivative by the shared u, one predictor layer at 1/M of that by v.",
        tuple(Eq(by_time(layer), _tidy(rate), evaluate=False) for layer, rate in ((u, flow.encoder), (v, flow.predictor))),
    )
    yield _balance(flow, line)
    yield Line(
        "Mode equation",
        _one_equation(loss, flow, line),
        (Eq(by_time(u), family.rate if family else _tidy(rate), evaluate=False),),
        (Identity("The same.", rate, family.rate),) if family else (),
    )


def _one_equation(loss: Expr, flow: Flow, line: Expr) -> str:
    balanced = f"On the balanced line, v = {inline(line)}, one equation is left"
    sentence = balanced if flow.encoder.has(v) else "The encoder's equation stands alone"
    return f"{sentence}; sigma^2 = lambda/rho." if loss.has(sigma) else f"{sentence}."


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
    free = set().union(*(exponent.free_symbols for exponent in terms))
    if free:
        options = " and ".join(option for symbol, option in ((L, "--depth"), (M, "--predictor-depth")) if symbol in free)
        yield Line("Not one of the family", f"{APART} Its fixed points and its time in partial fractions need {options}.")
        return
    rate = polynomial(terms)
    yield _resting(rate)
    yield _fractions(rate)


def _resting(rate: Rate) -> Line:
    """The fixed points: isolated where the loss has numbers only, told by the signs elsewhere."""
    if not rate.is_numeric:
        signs = by_signs(rate)
        undecided = signs.count is None and len(rate.terms) == 2
        return Line("Fixed points", f"{PARTLY if undecided else APART} {signs.sentence} Parameters are positive.")
    if not is_isolated(rate):
        reason = f"they are zeros of a polynomial with {rate.size}, too large to isolate them; lower the depth"
        return Line("Fixed points", f"{APART} {by_signs(rate).sentence} In numbers they are left out: {reason}.")
    points = fixed_points(rate)
    words = ", ".join(f"{point.ball().str(10, radius=False)} ({point.stability})" for point in points)
    exact = tuple(Eq(Symbol("u_*"), point.exact, evaluate=False) for point in points if point.exact is not None)
    return Line("Fixed points", f"{APART} Its positive fixed points are u = {words}.", exact)


def _fractions(rate: Rate) -> Line:
    """The time by partial fractions, or why it is left out."""
    title, q = "Time by partial fractions", rate.root
    whole = rate.of_root
    polynomial_named = "the polynomial du/dt" if q == 1 else f"the polynomial dy/dt, where u = y^{q},"
    reason = None
    if not rate.is_rational:
        reason = "a coefficient is an irrational number"
    elif whole.degree > MOST_DEGREE:
        reason = f"{polynomial_named} has degree {whole.degree}, above {MOST_DEGREE}"
    elif whole.degree * len(rate.terms) > MOST_SIZE:
        reason = f"{polynomial_named} has degree {whole.degree} and {len(rate.terms)} terms, which makes them too long"
    found = None if reason else partial_fractions(whole)
    if found is not None and found.is_repeated and len(rate.terms) > MOST_TERMS_OF_REPEATED:
        reason = f"{polynomial_named} has repeated zeros and {len(rate.terms)} terms, which makes them too long"
    if reason or found is None:
        return Line(title, f"The partial fractions are left out because {reason}.{_in_numbers(rate)}")
    if not is_antiderivative(found, 1 / whole.expression):
        raise LindynError("The partial fractions of the time do not differentiate to 1/(du/dt).")
    formula = found.expression.subs(u, u ** Rational(1, q))
    sentence = (
        "An antiderivative F of dt/du, proved by differentiation"
        + ("" if q == 1 else f" in y = {inline(u ** Rational(1, q))}")
        + ": the time from u1 to u2, with no fixed point between them, is F(u2) - F(u1)."
    )
    return Line(title, sentence + _where_real(rate, formula), (Eq(Symbol("F"), formula, evaluate=False),))


def _in_numbers(rate: Rate) -> str:
    """What is left to ask where there is no formula."""
    return " With --lambda and --rho the critical time is computed without them." if is_isolated(rate) else ""


def _where_real(rate: Rate, formula: Expr) -> str:
    """Where the logarithms are real, and how to read them elsewhere."""
    single = by_signs(rate).count == 1
    over_roots = bool(formula.has(RootSum))
    listed = " A sum over roots runs over the zeros r of the polynomial named." if over_roots else ""
    if len(rate.terms) == 1:
        return f" It is real for all u > 0.{listed}"
    roots = ", in a sum over roots for every real r" if over_roots else ""
    bound = "the positive fixed point" if single else "the first positive fixed point (everywhere, if there is none)"
    return f" It is real below {bound}; above that read ln(X) as ln|X| where X is real{roots}.{listed}"


def _refuse_one_sign(terms: Mapping[Expr, Expr]) -> None:
    """Raise if the rate cannot vanish for u > 0, whatever the depth."""
    for turn, word in ((1, "positive"), (-1, "negative")):
        if all((turn * coefficient).is_positive for coefficient in terms.values()):
            shown = inline(Add(*(coefficient * u**exponent for exponent, coefficient in terms.items())))
            which = "the one term" if len(terms) == 1 else "every term"
            raise LossError(f"The loss has no positive fixed point: {which} of du/dt = {shown} is {word} for u > 0.")
