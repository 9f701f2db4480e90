"""The lines of a derivation from a mode equation of the power-law family to its critical times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sympy import Add, Eq, Expr, Integral, S, Sum, Symbol, expand

from derivations.closed_form import (
    antiderivative,
    critical_time,
    general_antiderivative,
    layer_fixed_point,
    written_out,
    written_out_time,
)
from derivations.elasticity import BY_EPSILON, BY_FRACTION, BY_LAMBDA, BY_RHO
from derivations.expansion import (
    dominant_term,
    expansion,
    logarithm,
    singular_term,
)
from derivations.formulas import Series, inline
from derivations.gradient_flow import (
    Member,
)
from derivations.integrals import Duration, Tail, head_and_tail
from derivations.lines import Line, by_time
from derivations.notation import (
    Domain,
    Integers,
    L,
    a,
    b,
    epsilon,
    lam,
    n,
    p,
    rho,
    s,
    t,
    tau,
    u,
    u0,
    ustar,
    w,
    x,
    x0,
    x1,
    z,
)
from derivations.proof import Identity, Limit, Step
from derivations.reduction import normal

MOST_WRITTEN = 60
"""Most powers of a closed form that are written out one by one."""

AWAY_FROM_ONE: Domain = {L: Integers(3, 6)}
"""Depths at which a, which grows with the depth from -1 on, is not 1."""


def family_lines(member: Member, layers: Mapping[Symbol, Expr]) -> Iterator[Line]:
    """Product, fixed points, clock, time, critical time, small start, elasticities; ``layers`` gives L and M their numbers."""
    depth = layers.get(L, L)
    star = Member(member.growth, member.a, member.b, ustar**member.b)
    yield _product(member, depth)
    yield _rest(member, star, depth)
    yield _clock(member)
    written = _has_numbers(member) and head_and_tail(member.a, member.b)[0] <= MOST_WRITTEN
    yield _explicit_time(member) if written else _general_time(member)
    yield _critical(member, star, layers, written)
    yield _written_small_start(member, star, layers) if written else _general_small_start(member, layers)
    yield _answers(member, star, layers)


def _has_numbers(member: Member) -> bool:
    return bool(member.a.is_Rational and member.b.is_Rational)


def _sum(terms: tuple[Expr, ...], layers: Mapping[Symbol, Expr]) -> Expr:
    """The sum, its terms kept in their order."""
    return Series(*(term.subs(layers) for term in terms))


def _product(member: Member, depth: Expr) -> Line:
    layer = w ** (1 / depth)
    rate = depth * member.growth * w ** (1 + (member.a - 1) / depth) * (1 - layer**member.b / member.capacity)
    chain = Identity(
        "By the chain rule.",
        depth * u ** (depth - 1) * member.rate,
        rate.subs(w, u**depth),
    )
    return Line(
        "Encoder product",
        "The encoder's amplitude is the product w = u^L; in training time, and in the paper's time tau = L t.",
        (Eq(by_time(w), rate, evaluate=False), Eq(by_time(w, tau), rate / depth, evaluate=False)),
        (chain,),
    )


def _rest(member: Member, star: Member, depth: Expr) -> Line:
    layer = layer_fixed_point(member)
    speed = member.growth * member.b * ustar ** (member.a - 1)
    symbolic = sorted(map(inline, member.growth.free_symbols | member.capacity.free_symbols))
    condition = f"For positive {' and '.join(symbolic)}, " if symbolic else ""
    return Line(
        "Fixed points",
        _capital(
            f"{condition}{_at_zero(member)}one positive fixed point, which attracts every positive start; near it the "
            "distance decays at the rate r."
        ),
        (
            Eq(Symbol("u_*"), layer, evaluate=False),
            Eq(Symbol("w_*"), layer**depth, evaluate=False),
            Eq(Symbol("r"), speed.subs(ustar, layer), evaluate=False),
        ),
        (
            Identity("The layer stands still there.", star.rate.subs(u, ustar), S.Zero),
            Identity("The rate is minus the slope there.", -star.rate.diff(u).subs(u, ustar), speed),
        ),
    )


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _at_zero(member: Member) -> str:
    """What happens at u = 0, which is a fixed point for a > 0 only."""
    if expand(member.a).is_positive:
        return "besides 0, which repels, "
    return "" if member.a.is_number else "besides 0, which repels where a > 0, "


def _clock(member: Member) -> Line:
    coordinate = u**member.b / member.capacity
    return Line(
        "Its own clock",
        f"A member of the power-law family c u^a (1 - u^b/r) with a = {inline(member.a)}, b = {inline(member.b)}, growth "
        f"c = {inline(member.growth)} and capacity r = {inline(member.capacity)}: in z and in its own clock s the feature "
        "is logistic.",
        (
            Eq(z, coordinate, evaluate=False),
            Eq(by_time(s), member.growth * u ** (member.a - 1), evaluate=False),
            Eq(by_time(z, s), member.b * z * (1 - z), evaluate=False),
        ),
        (
            Identity(
                "By the chain rule.",
                coordinate.diff(u) * member.rate / (member.growth * u ** (member.a - 1)),
                (member.b * z * (1 - z)).subs(z, coordinate),
            ),
        ),
    )


def _definition(member: Member) -> Expr:
    return Eq(Duration(member.a, member.b, x0, x1), Integral(x**-member.a / (1 - x**member.b), (x, x0, x1)), evaluate=False)


def _tail_definition(tail: Tail) -> Expr:
    c, saturation, _ = tail.args
    y = Symbol("y", positive=True)
    return Eq(Tail(c, saturation, x), Integral(y ** (c - 1) / (1 - y**saturation), (y, 0, x)), evaluate=False)


def _explicit_time(member: Member) -> Line:
    primitive = antiderivative(member.a, member.b)
    tails = sorted(primitive.atoms(Tail), key=str)
    return Line(
        "Time in closed form",
        "The time between two amplitudes, in x = u/u*, has this antiderivative F, proved by differentiation: T = F(x1) - "
        "F(x0).",
        (_definition(member), Eq(Symbol("F"), primitive, evaluate=False), *map(_tail_definition, tails)),
        (_differentiates(member, primitive),),
    )


def _differentiates(member: Member, primitive: Expr) -> Step:
    return Identity("Its derivative is the integrand.", primitive.diff(x), x**-member.a / (1 - x**member.b))


def _general_time(member: Member) -> Line:
    cases = general_antiderivative(member.a, member.b)
    tails = sorted({tail for _, primitive in cases for tail in primitive.atoms(Tail)}, key=str)
    conditions = "; ".join(f"F{number} for {condition}" for number, (condition, _) in enumerate(cases, 1) if condition)
    shown = tuple(
        Eq(Symbol(f"F_{number}" if len(cases) > 1 else "F"), primitive, evaluate=False)
        for number, (_, primitive) in enumerate(cases, 1)
    )
    checks, domain = _general_checks(member, [primitive for _, primitive in cases])
    return Line(
        "Time in closed form",
        "The time between two amplitudes, in x = u/u*, has an antiderivative F, proved by differentiation: T = F(x1) - F(x0)"
        + (f"; {conditions}." if conditions else "."),
        (_definition(member), *shown, *map(_tail_definition, tails)),
        checks,
        domain,
    )


def _general_checks(member: Member, primitives: list[Expr]) -> tuple[tuple[Step, ...], Domain]:
    """By differentiation where there is no sum; else what proves head and tail for every a, b and K."""
    if not any(primitive.has(Sum) for primitive in primitives):
        first, logarithmic = primitives
        one = Member(member.growth, S.One, b, member.capacity)
        return (_differentiates(member, first), _differentiates(one, logarithmic.subs(member.b, b))), AWAY_FROM_ONE
    from derivations.statements.closed_forms import closed_form, closed_form_with_logarithm

    return (*closed_form.prove(), *closed_form_with_logarithm.prove()), closed_form.domain


def _critical(member: Member, star: Member, layers: Mapping[Symbol, Expr], written: bool) -> Line:
    time, depth, scaled = _scaled(star, layers)
    shown = [critical_time(member).subs(layers)]
    checks: list[Step] = [
        Identity(
            "A later start saves the time that passes at the start.",
            time.diff(epsilon).subs(scaled),
            -((x0 * ustar) ** (1 - depth)) / depth / star.rate.subs(u, x0 * ustar),
        )
    ]
    if written:
        shown.append(_sum(written_out_time(member), layers))
        in_star = Add(*written_out_time(star)).subs(layers).subs(scaled)
        checks.append(Identity("Written out it is the same.", written_out(time.subs(scaled)), in_star))
    return Line(
        "Critical time",
        "From the product epsilon to the fraction p of its asymptote, epsilon < p w*, in training time; the paper's time "
        "is L times that.",
        tuple(Eq(t, formula, evaluate=False) for formula in shown),
        tuple(checks),
    )


def _scaled(star: Member, layers: Mapping[Symbol, Expr]) -> tuple[Expr, Expr, dict[Symbol, Expr]]:
    """The critical time, the depth, and epsilon and p in the scaled layer amplitudes."""
    depth = layers.get(L, L)
    return critical_time(star).subs(layers), depth, {epsilon: (x0 * ustar) ** depth, p: x1**depth}


def _general_small_start(member: Member, layers: Mapping[Symbol, Expr]) -> Line:
    power = Eq(Symbol("t_n"), singular_term(member, n).subs(layers), evaluate=False)
    logarithmic = Eq(Symbol("t_log"), logarithm(member).subs(layers), evaluate=False)
    known = f"only the first does not know {_capacity(member)}"
    whole = normal((member.a - 1) / member.b)
    if whole.is_integer:
        return Line(
            "Small start",
            f"As epsilon tends to 0 the n-th of {inline(whole)} powers is t_n; {known}; then the logarithm t_log and a "
            "constant.",
            (power, logarithmic),
        )
    if not _has_numbers(member):
        return Line(
            "Small start",
            f"As epsilon tends to 0, for a > 1, the n-th of K = ceil((a-1)/b) powers is t_n; {known}. A logarithm follows "
            "where (a-1)/b is a whole number from 0 on, then a constant.",
            (power, logarithmic),
        )
    count, _ = head_and_tail(member.a, member.b)
    return Line("Small start", f"As epsilon tends to 0 the n-th of {count} powers is t_n; {known}; then a constant.", (power,))


def _capacity(member: Member) -> str:
    return inline(member.capacity) if member.capacity.is_Symbol else "the capacity"


def _written_small_start(member: Member, star: Member, layers: Mapping[Symbol, Expr]) -> Line:
    depth = layers.get(L, L)
    rest = (Add(*written_out_time(star)) - Add(*expansion(star))).subs(layers).subs({epsilon: u0**depth, p: x1**depth})
    series = Eq(t, _sum(expansion(member), layers), evaluate=False)
    check = Limit("The difference to the exact time tends to 0.", rest, u0, S.Zero)
    if member.a < 1:
        return Line("Small start", "As epsilon tends to 0 the time has a limit, as a < 1.", (series,), (check,))
    first = Eq(Symbol("t_dominant"), dominant_term(member).subs(layers), evaluate=False)
    return Line(
        "Small start",
        f"As epsilon tends to 0, up to what vanishes with it; the dominant term does not know {_capacity(member)}.",
        (first, series),
        (check,),
    )


def _answers(member: Member, star: Member, layers: Mapping[Symbol, Expr]) -> Line:
    time, _, scaled = _scaled(star, layers)
    bind = {a: member.a, b: member.b, **layers}
    named = (member.growth, member.capacity) == (lam, rho)
    growth, capacity = ("lambda", "rho") if named else ("growth", "capacity")
    formulas = {growth: BY_LAMBDA, capacity: BY_RHO, "epsilon": BY_EPSILON, "p": BY_FRACTION}
    moved = (
        ("capacity", ustar * time.diff(ustar) / member.b, BY_RHO),
        ("start", epsilon * time.diff(epsilon), BY_EPSILON),
        ("fraction", p * time.diff(p), BY_FRACTION),
    )
    return Line(
        "Elasticities",
        f"d ln t / d ln of {growth}, {capacity}, epsilon and p, the others held, at x0 = epsilon^(1/L)/u* and x1 = p^(1/L).",
        tuple(Eq(Symbol(f"E_{name}"), formula.subs(bind), evaluate=False) for name, formula in formulas.items()),
        tuple(
            Identity(f"By the {name}.", slope.subs(scaled), (formula.subs(bind) * time).subs(scaled))
            for name, slope, formula in moved
        ),
    )
