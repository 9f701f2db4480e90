"""The lines of a derivation from a mode equation of the power-law family to its critical times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sympy import Add, Eq, Expr, Integral, S, Symbol

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
from derivations.integrals import Duration, Tail
from derivations.lines import Line, by_time
from derivations.notation import (
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

MOST_WRITTEN = 60
"""Largest exponent of growth up to which closed forms are written out power by power."""


def family_lines(member: Member, layers: Mapping[Symbol, Expr]) -> Iterator[Line]:
    """Product, fixed points, clock, time, critical time, small start, elasticities; ``layers`` gives L and M their numbers."""
    depth = layers.get(L, L)
    star = Member(member.growth, member.a, member.b, ustar**member.b)
    yield _product(member, depth)
    yield _rest(member, star, depth)
    yield _clock(member)
    whole = member.a.is_Integer and member.b.is_Integer and member.a <= MOST_WRITTEN
    yield _explicit_time(member) if whole else _general_time(member)
    yield _critical(member, star, layers, bool(whole))
    yield _small_start(member, layers, bool(whole))
    yield _answers(member, layers)


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
    return Line(
        "Fixed points",
        "Besides 0, which repels, one positive fixed point, which attracts every positive start; near it the distance "
        "decays at the rate r.",
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


def _clock(member: Member) -> Line:
    coordinate = u**member.b / member.capacity
    return Line(
        "Its own clock",
        f"A member of the power-law family with a = {inline(member.a)}, b = {inline(member.b)}: in z and in its own clock "
        "s the feature is logistic.",
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
    primitive = antiderivative(int(member.a), int(member.b))
    tails = sorted(primitive.atoms(Tail), key=str)
    return Line(
        "Time in closed form",
        "The time between two amplitudes, in x = u/u*, has this antiderivative F, proved by differentiation: T = F(x1) - "
        "F(x0).",
        (_definition(member), Eq(Symbol("F"), primitive, evaluate=False), *map(_tail_definition, tails)),
        (Identity("Its derivative is the integrand.", primitive.diff(x), x**-member.a / (1 - x**member.b)),),
    )


def _general_time(member: Member) -> Line:
    from derivations.statements.closed_forms import closed_form, closed_form_with_logarithm

    cases = general_antiderivative(member.a, member.b)
    tails = sorted({tail for _, primitive in cases for tail in primitive.atoms(Tail)}, key=str)
    conditions = "; ".join(f"F{number} for {condition}" for number, (condition, _) in enumerate(cases, 1) if condition)
    shown = tuple(
        Eq(Symbol(f"F_{number}" if len(cases) > 1 else "F"), primitive, evaluate=False)
        for number, (_, primitive) in enumerate(cases, 1)
    )
    return Line(
        "Time in closed form",
        "The time between two amplitudes, in x = u/u*, has an antiderivative F, proved by differentiation: T = F(x1) - F(x0)"
        + (f"; {conditions}." if conditions else "."),
        (_definition(member), *shown, *map(_tail_definition, tails)),
        tuple(step for proved in (closed_form, closed_form_with_logarithm) for step in proved.prove()),
        closed_form.domain,
    )


def _critical(member: Member, star: Member, layers: Mapping[Symbol, Expr], whole: bool) -> Line:
    time = critical_time(star).subs(layers)
    shown = [critical_time(member).subs(layers)]
    depth = layers.get(L, L)
    scaled = {epsilon: (x0 * ustar) ** depth, p: x1**depth}
    later = Identity(
        "A later start saves the time that passes at the start.",
        time.diff(epsilon).subs(scaled),
        -((x0 * ustar) ** (1 - depth)) / depth / star.rate.subs(u, x0 * ustar),
    )
    checks: list[Step] = [later]
    if whole:
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


def _small_start(member: Member, layers: Mapping[Symbol, Expr], whole: bool) -> Line:
    first = dominant_term(member).subs(layers)
    if not whole:
        return Line(
            "Small start",
            "As epsilon tends to 0 the n-th of K = ceil((a-1)/b) powers is t_n; only the first is blind to rho. A "
            "logarithm follows where (a-1)/b is whole, then a constant.",
            (
                Eq(Symbol("t_n"), singular_term(member, n).subs(layers), evaluate=False),
                Eq(Symbol("t_log"), logarithm(member).subs(layers), evaluate=False),
            ),
        )
    series = _sum(expansion(member), layers)
    depth = layers.get(L, L)
    star = Member(member.growth, member.a, member.b, ustar**member.b)
    rest = (Add(*written_out_time(star)) - Add(*expansion(star))).subs(layers).subs({epsilon: u0**depth, p: x1**depth})
    return Line(
        "Small start",
        "As epsilon tends to 0, up to what vanishes with it; the dominant term is blind to rho.",
        (Eq(Symbol("t_dominant"), first, evaluate=False), Eq(t, series, evaluate=False)),
        (Limit("The difference to the exact time tends to 0.", rest, u0, S.Zero),),
    )


def _answers(member: Member, layers: Mapping[Symbol, Expr]) -> Line:
    from derivations.statements.elasticities import elasticity_epsilon, elasticity_fraction, elasticity_lambda, elasticity_rho

    bind = {a: member.a, b: member.b, **layers}
    names = ((BY_LAMBDA, "E_lambda"), (BY_RHO, "E_rho"), (BY_EPSILON, "E_epsilon"), (BY_FRACTION, "E_p"))
    statements = (elasticity_lambda, elasticity_rho, elasticity_epsilon, elasticity_fraction)
    return Line(
        "Elasticities",
        "d ln t / d ln of each parameter, at x0 = epsilon^(1/L)/u* and x1 = p^(1/L)"
        + ("." if member.capacity == rho and member.growth == lam else ", lambda and rho standing for growth and capacity."),
        tuple(Eq(Symbol(name), formula.subs(bind), evaluate=False) for formula, name in names),
        tuple(step for statement in statements for step in statement.prove()),
        elasticity_rho.domain,
    )
