"""Critical times for a small start: which term dominates, which knows rho first, and what is left."""

from __future__ import annotations

from sympy import Add, Expr, Integer, Rational, S, Symbol, log

from derivations.closed_form import critical_time, logarithmic_tail, written_out_time
from derivations.expansion import (
    constant_beside_logarithm,
    constant_of_tail,
    dominant_term,
    end_term,
    logarithm,
    singular_term,
)
from derivations.gradient_flow import Member, mode
from derivations.integrals import Duration, Tail
from derivations.notation import (
    UNIT,
    Domain,
    Integers,
    K,
    L,
    M,
    NonZero,
    Reals,
    a,
    b,
    epsilon,
    lam,
    n,
    p,
    rho,
    rho_A,
    rho_B,
    u,
    ustar,
    x,
    x1,
    z,
)
from derivations.proof import Bracket, CertifiedPositive, Identity, Limit, Positive, Proof, RatioLimit, Step
from derivations.statement import statement
from derivations.statements.closed_forms import c, d
from derivations.statements.modes import BALANCED, FAMILY, MEMBER, ONE_PREDICTOR_LAYER

star_A, star_B = (Symbol(f"u_*{name}", positive=True) for name in "AB")
SMALL_START = ("epsilon tends to 0",)
DEEP: Domain = {L: Integers(2, 4), M: Integers(1, 3), a: Integers(2, 6), b: Integers(1, 4), x: UNIT}
FROM_ONE_LAYER: Domain = {**DEEP, L: Integers(1, 4)}
DISTINCT: Domain = {star_A**b - star_B**b: NonZero(), star_A**M - star_B**M: NonZero()}
"""rho_A and rho_B differ."""


def time_from(member: Member, start: Expr = x) -> Expr:
    """The critical time from the layer amplitude ``start``, one encoder layer's share of epsilon."""
    return critical_time(member).subs(epsilon, start**L)


def at(objective: str, star: Expr) -> Member:
    """The mode of an objective whose layer's fixed point is ``star``."""
    member = mode(objective)
    return Member(member.growth, member.a, member.b, star**member.b)


def blind(term: Expr) -> Proof:
    """The term depends neither on rho nor on the fixed point."""
    return tuple(Identity("It does not know rho.", term.diff(symbol), S.Zero) for symbol in (rho, ustar))


def dominates(member: Member, term: Expr, what: str = "The critical time over the term tends to 1.") -> Step:
    """The time's leading term as the start tends to 0."""
    return RatioLimit(what, time_from(member), term.subs(epsilon, x**L), x, S.One)


def knows_rho(pair: tuple[Member, Member], term: Expr) -> Step:
    """The leading term of the difference that two values of rho make."""
    one, other = (time_from(member) for member in pair)
    shown = term.subs({epsilon: x**L, rho_A: star_A ** pair[0].b, rho_B: star_B ** pair[1].b})
    return RatioLimit("The difference of the times over the term tends to 1.", one - other, shown, x, S.One)


@statement(
    "dominant-term",
    claim="For a > 1 the critical time is {term} to leading order: it does not know rho.",
    hypotheses=(*BALANCED, *FAMILY, *SMALL_START),
    domain=FROM_ONE_LAYER,
)
def dominant_term_statement(term: Expr = dominant_term(MEMBER)) -> Proof:
    return (dominates(Member(lam, a, b, ustar**b), term), *blind(term))


dominant_term_statement.mutant("exponent a/L", term=epsilon ** (-a / L) / ((a - 1) * lam))
dominant_term_statement.mutant("coefficient 1/a", term=epsilon ** (-(a - 1) / L) / (a * lam))
dominant_term_statement.mutant("it knows rho in a smaller term", term=dominant_term(MEMBER) * (1 + rho * epsilon))
dominant_term_statement.mutant("it knows rho", term=epsilon ** (-(a - 1) / L) / ((a - 1) * lam * rho))


@statement(
    "jepa-dominant-term-is-blind-to-rho",
    claim="JEPA's critical time is {term} to leading order, whatever rho.",
    hypotheses=(*ONE_PREDICTOR_LAYER, *SMALL_START),
    domain={L: Integers(1, 4)},
)
def jepa_dominant_term(term: Expr = epsilon ** (-(2 * L - 1) / L) / ((2 * L - 1) * lam)) -> Proof:
    member = at("jepa", ustar)
    return (dominates(Member(lam, member.a.subs(M, 1), S.One, ustar), term), *blind(term))


jepa_dominant_term.mutant("exponent 2L-2", term=epsilon ** (-(2 * L - 2) / L) / ((2 * L - 1) * lam))
jepa_dominant_term.mutant("coefficient without 2L-1", term=epsilon ** (-(2 * L - 1) / L) / lam)
jepa_dominant_term.mutant("the n = 1 term leads", term=epsilon ** (-1 / L) / (lam * ustar ** (2 * L - 2)))


@statement(
    "mae-dominant-term-is-blind-to-rho",
    claim="MAE's critical time is {term} to leading order for L + M > 2, whatever rho; for L = M = 1 it is {logarithm}.",
    hypotheses=(*BALANCED, *SMALL_START),
    domain={L: Integers(2, 4), M: Integers(1, 3)},
)
def mae_dominant_term(
    term: Expr = epsilon ** (-(L + M - 2) / L) / ((L + M - 2) * lam), logarithm: Expr = -log(epsilon) / lam
) -> Proof:
    def with_one_encoder_layer(decoder_layers: Expr) -> Expr:
        exponent, saturation = (power.subs({L: 1, M: decoder_layers}) for power in (mode("mae").a, mode("mae").b))
        return time_from(Member(lam, exponent, saturation, ustar**saturation)).subs(L, 1)

    return (
        dominates(at("mae", ustar), term, "For L > 1 the time over the term tends to 1."),
        RatioLimit(
            "With one encoder layer and n + 1 decoder layers as well.",
            with_one_encoder_layer(n + 1),
            term.subs({L: 1, M: n + 1, epsilon: x}),
            x,
            S.One,
        ),
        RatioLimit(
            "With one layer each, the time over the logarithm tends to 1.",
            with_one_encoder_layer(S.One),
            logarithm.subs(epsilon, x),
            x,
            S.One,
        ),
        RatioLimit("For a = 1 and any b, T over -ln x0 tends to 1.", Duration(S.One, b, x, x1), -log(x), x, S.One),
        *blind(term),
        *blind(logarithm),
    )


mae_dominant_term.mutant("JEPA's exponent", term=epsilon ** (-(2 * L + M - 2) / L) / ((2 * L + M - 2) * lam))
mae_dominant_term.mutant("coefficient 1/(L+M-1)", term=epsilon ** (-(L + M - 2) / L) / ((L + M - 1) * lam))
mae_dominant_term.mutant("half the logarithm", logarithm=-log(epsilon) / (2 * lam))


@statement(
    "first-term-that-knows-rho",
    claim="For a - 1 > b the difference of the times of equal lambda is {term} to leading order: rho enters at the "
    "relative order epsilon^(b/L).",
    hypotheses=(*BALANCED, *FAMILY, "rho_A and rho_B differ", *SMALL_START),
    domain={**FROM_ONE_LAYER, **DISTINCT},
)
def first_term_that_knows_rho(
    term: Expr = epsilon ** (-(a - 1 - b) / L) / ((a - 1 - b) * lam) * (1 / rho_A - 1 / rho_B),
) -> Proof:
    above = b + 1 + d
    pair = Member(lam, above, b, star_A**b), Member(lam, above, b, star_B**b)
    relative = (a - 1) / (a - 1 - b) * (1 / rho_A - 1 / rho_B) * epsilon ** (b / L)
    return (
        knows_rho(pair, term.subs(a, above)),
        Identity(
            "It is of order epsilon^(b/L) beside the dominant term.",
            term.subs(a, above),
            (relative * dominant_term(MEMBER)).subs(a, above),
        ),
    )


first_term_that_knows_rho.mutant(
    "order of the dominant term", term=epsilon ** (-(a - 1) / L) / ((a - 1) * lam) * (1 / rho_A - 1 / rho_B)
)
first_term_that_knows_rho.mutant(
    "coefficient 1/(a-1)", term=epsilon ** (-(a - 1 - b) / L) / ((a - 1) * lam) * (1 / rho_A - 1 / rho_B)
)
first_term_that_knows_rho.mutant(
    "higher rho later", term=epsilon ** (-(a - 1 - b) / L) / ((a - 1 - b) * lam) * (1 / rho_B - 1 / rho_A)
)


@statement(
    "jepa-first-term-that-knows-rho",
    claim="For L > 1 JEPA's times of equal lambda differ by {term} to leading order: not the last term of the sum, the second.",
    hypotheses=(*BALANCED, "L > 1", "rho_A and rho_B differ", *SMALL_START),
    domain={**DEEP, **DISTINCT},
)
def jepa_first_term(
    term: Expr = epsilon ** (-(2 * L - 2) / L) / ((2 * L - 2) * lam) * (1 / rho_A - 1 / rho_B),
) -> Proof:
    return (knows_rho((at("jepa", star_A), at("jepa", star_B)), term),)


jepa_first_term.mutant("the n = 1 term", term=epsilon ** (-1 / L) / lam * (rho_A ** -(2 * L - 2) - rho_B ** -(2 * L - 2)))
jepa_first_term.mutant("the dominant term", term=epsilon ** (-(2 * L - 1) / L) / ((2 * L - 1) * lam) * (1 / rho_A - 1 / rho_B))
jepa_first_term.mutant("coefficient one", term=epsilon ** (-(2 * L - 2) / L) / lam * (1 / rho_A - 1 / rho_B))


def _power(k: Expr, at_layer: Expr) -> Expr:
    """u*^(1-a)/lambda times the k-th power of the head."""
    return ustar ** (1 - a) / lam * (at_layer / ustar) ** -(a - 1 - k * b) / (a - 1 - k * b)


def _assembled(exponent: int, saturation: int, claimed: Expr, scope: str, depth: Expr = L) -> Step:
    """The claim as a whole against the time written out, for one member of the family."""
    member = Member(lam, Integer(exponent), Integer(saturation), ustar**saturation)
    exact = Add(*written_out_time(member)).subs(L, depth)
    scaled = {epsilon: x**depth, p: x1**depth}
    return Limit(
        f"As a whole, for a = {exponent}, b = {saturation}.",
        (exact - claimed.subs(rho, ustar**saturation)).subs(scaled),
        x,
        S.Zero,
        scope=scope,
    )


def _summed(term: Expr, end: Expr, rest: Expr, members: tuple[tuple[int, int], ...]) -> Proof:
    """The sum of the claim's terms, less that of its ends, plus the rest, for these members."""
    scope = f"(a, b) = {', '.join(map(str, members))}"
    steps = []
    for exponent, saturation in members:
        count = -(-(exponent - 1) // saturation)
        bind = {a: exponent, b: saturation, c: count * saturation - exponent + 1}
        claimed = Add(*((term - end).subs(n, k) for k in range(1, count + 1)), rest).subs(bind)
        steps.append(_assembled(exponent, saturation, claimed, scope))
    return tuple(steps)


def _expansion(term: Expr, end: Expr, rest: Expr, tail: Expr, bind: dict[Symbol, Expr]) -> Proof:
    """Powers of the start, powers of the end, and what remains of the tail."""
    star = {rho: ustar**b, epsilon: x**L, p: x1**L}
    scale = ustar ** (1 - a) / lam
    remains = scale * (tail.subs(x, x1) - tail.subs(x, x / ustar)) - rest.subs(star)
    return (
        Identity("The head's power n at the start is the n-th term.", _power(n - 1, x), term.subs(star)),
        Identity("The head's power n at the end is the n-th part of the constant.", _power(n - 1, x1 * ustar), end.subs(star)),
        Limit("The tail less the rest of the claim tends to 0.", remains.subs(bind), x, S.Zero),
    )


_term, _end = singular_term(MEMBER, n), end_term(MEMBER, n)
_orders: Domain = {
    a: Integers(14, 20),
    b: Integers(1, 3),
    n: Integers(1, 4),
    c: Integers(1, 3),
    d: Integers(1, 3),
    K: Integers(1, 3),
    x: UNIT,
}


@statement(
    "expansion",
    claim="With K = ceil((a-1)/b), c = K b - (a-1) > 0, the critical time is the sum over n = 1..K of {term}, less that "
    "of {end}, plus {rest} and what vanishes with epsilon.",
    hypotheses=(*BALANCED, *FAMILY, "(a-1)/b is not a whole number", *SMALL_START),
    domain=_orders,
)
def expansion_statement(term: Expr = _term, end: Expr = _end, rest: Expr = constant_of_tail(MEMBER, c)) -> Proof:
    members = ((2, 2), (3, 4), (5, 3))
    return (*_expansion(term, end, rest, Tail(c, b, x), {b: c + d, a: K * (c + d) - c + 1}), *_summed(term, end, rest, members))


expansion_statement.mutant("powers of rho off by one", term=_term / rho)
expansion_statement.mutant("the constant does not know the end", rest=S.Zero)
expansion_statement.mutant("constant without rho", rest=Tail(c, b, p ** (1 / L)) / lam)
expansion_statement.mutant("ends of one power", end=_end * (a - 1 - (n - 1) * b))


@statement(
    "expansion-with-logarithm",
    claim="With a - 1 = K b the critical time is the sum over n = 1..K of {term}, less that of {end}, plus {rest} and "
    "what vanishes with epsilon.",
    hypotheses=(*BALANCED, *FAMILY, "(a-1)/b is a whole number K >= 1", *SMALL_START),
    domain=_orders,
)
def expansion_with_logarithm(
    term: Expr = _term,
    end: Expr = _end,
    rest: Expr = logarithm(MEMBER) + constant_beside_logarithm(MEMBER),
) -> Proof:
    members = ((2, 1), (4, 1), (5, 2))
    return (*_expansion(term, end, rest, logarithmic_tail(b, x), {a: K * b + 1}), *_summed(term, end, rest, members))


_log_rest = expansion_with_logarithm.formulas["rest"]
expansion_with_logarithm.mutant(
    "logarithm without 1/L", rest=_log_rest + (1 / L - 1) * log(epsilon) * rho ** (-(a - 1) / b) / lam
)
expansion_with_logarithm.mutant("no logarithm", rest=_log_rest + log(epsilon) * rho ** (-(a - 1) / b) / (lam * L))
expansion_with_logarithm.mutant("some other constant", rest=_log_rest - log(rho) * rho ** (-(a - 1) / b) / (lam * b))


@statement(
    "jepa-expansion",
    claim="JEPA's critical time is the sum over n = 1..2L-1 of {term}, less {logarithm}, plus the constant {constant} "
    "less the sum over n = 1..2L-1 of {end}, plus what vanishes with epsilon.",
    hypotheses=(*ONE_PREDICTOR_LAYER, *SMALL_START),
    domain={L: Integers(1, 4), n: Integers(1, 6), p: Reals(0, 1, (Rational(1, 10), Rational(9, 10)))},
)
def jepa_expansion(
    term: Expr = epsilon ** (-n / L) / (n * lam * rho ** (2 * L - 1 - n)),
    logarithm: Expr = log(epsilon) / (L * lam * rho ** (2 * L - 1)),
    constant: Expr = (log(rho) + log(p) / L - log(1 - p ** (1 / L))) / (lam * rho ** (2 * L - 1)),
    end: Expr = p ** (-n / L) / (n * lam * rho ** (2 * L - 1)),
) -> Proof:
    def power(layer: Expr) -> Expr:
        return layer**-n / (n * lam * rho ** (2 * L - 1 - n))

    def tail(layer: Expr) -> Expr:
        return (log(layer) - log(1 - layer / rho)) / (lam * rho ** (2 * L - 1))

    remains = tail(p ** (1 / L) * rho) - tail(x) - (constant - logarithm).subs(epsilon, x**L)
    return (
        Identity("The exact power n at the start is the n-th term.", power(epsilon ** (1 / L)), term),
        Identity("The exact power n at the end is the n-th part of the constant.", power(p ** (1 / L) * rho), end),
        Limit("What the exact time holds beyond the claim tends to 0.", remains, x, S.Zero),
        *(
            _assembled(
                2 * depth,
                1,
                Add(*((term - end).subs(n, k) for k in range(1, 2 * depth)), constant, -logarithm).subs(L, depth),
                "L = 1..3",
                Integer(depth),
            )
            for depth in (1, 2, 3)
        ),
    )


_log = jepa_expansion.formulas["logarithm"]
jepa_expansion.mutant("logarithm without 1/L", logarithm=L * _log)
jepa_expansion.mutant("logarithm dropped", logarithm=S.Zero)
jepa_expansion.mutant("powers of rho off by one", term=epsilon ** (-n / L) / (n * lam * rho ** (2 * L - n)))
jepa_expansion.mutant("constant without the end", constant=log(rho) / (lam * rho ** (2 * L - 1)))


def mae_constant(fraction: Expr) -> Expr:
    """K_L(p): what is left of MAE's time at rho = lambda = 1 once its singular term is gone."""
    layer = fraction ** (1 / L)
    return -(layer ** (1 - L)) / (L - 1) + Tail(Integer(2), L + 1, layer)


@statement(
    "mae-expansion",
    claim="For L > 1 MAE's critical time is {term} + rho^(-(L-1)/(L+1))/lambda K_L(p) and what vanishes with epsilon, "
    "K_L(p) = {constant}, where Phi_(c,b)(x) is the integral of y^(c-1)/(1-y^b) over 0..x.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "L > 1", *SMALL_START),
    domain={L: Integers(2, 6)},
)
def mae_expansion(term: Expr = epsilon ** (-(L - 1) / L) / ((L - 1) * lam), constant: Expr = mae_constant(p)) -> Proof:
    exponent, saturation = (power.subs(M, 1) for power in (mode("mae").a, mode("mae").b))
    scale = ustar ** (1 - exponent) / lam

    def primitive(layer: Expr) -> Expr:
        return -(layer ** (1 - L)) / (L - 1) + Tail(Integer(2), L + 1, layer)

    exact = scale * (primitive(x1) - primitive(x / ustar))
    claimed = term.subs(epsilon, x**L) + scale * constant.subs(p, x1**L)
    return (
        Identity("The closed form of the time at K = 1, c = 2.", primitive(x).diff(x), x**-exponent / (1 - x**saturation)),
        Limit("The exact time less the claim tends to 0.", exact - claimed, x, S.Zero),
    )


mae_expansion.mutant("constant without its power", constant=Tail(Integer(2), L + 1, p ** (1 / L)))
mae_expansion.mutant("coefficient one", term=epsilon ** (-(L - 1) / L) / lam)
mae_expansion.mutant("end p of one layer", constant=mae_constant(p**L))


@statement(
    "mae-one-layer-expansion",
    claim="With one encoder and one decoder layer MAE's critical time is {leading} + {constant} and what vanishes with "
    "epsilon.",
    hypotheses=(*BALANCED, *SMALL_START),
)
def mae_one_layer_expansion(
    leading: Expr = -log(epsilon) / lam, constant: Expr = (log(rho) + 2 * log(p) - log(1 - p**2)) / (2 * lam)
) -> Proof:
    exact = (2 * log(p) + log(rho) + log(1 - x**2 / rho) - 2 * log(x) - log(1 - p**2)) / (2 * lam)
    rate = mode("mae").rate.subs({L: 1, M: 1})
    return (
        Identity("The exact time loses what passes at the start.", exact.diff(x), -1 / rate.subs(u, x)),
        Identity("It is 0 on the threshold p rho^(1/2).", exact.subs(rho, ustar**2).subs(x, p * ustar), S.Zero),
        Limit("The exact time less the claim tends to 0.", exact - (leading + constant).subs(epsilon, x), x, S.Zero),
    )


mae_one_layer_expansion.mutant("half the logarithm", leading=-log(epsilon) / (2 * lam))
mae_one_layer_expansion.mutant("constant without rho", constant=(2 * log(p) - log(1 - p**2)) / (2 * lam))
mae_one_layer_expansion.mutant("constant of p for p^2", constant=(log(rho) + log(p) - log(1 - p)) / (2 * lam))


def _between(expression: Expr, shown: Expr, digits: int) -> Proof:
    """A number that rounds to what is shown."""
    half = Rational(1, 2 * 10**digits)
    return (
        CertifiedPositive(f"It is above {shown - half}.", expression - shown + half),
        CertifiedPositive(f"It is below {shown + half}.", shown + half - expression),
    )


@statement(
    "mae-order-at-equal-lambda-turns-once-with-p",
    claim="K_L rises with p, and is 0 at p = {two} (L = 2), {three} (3), {four} (4), {five} (5), {six} (6), {eight} (8), "
    "to three digits: below it MAE reaches low rho first at equal lambda, above it high rho.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "epsilon small"),
    domain={L: Integers(2, 6), x: UNIT},
)
def mae_order_turns_once(
    two: Expr = Rational(938, 1000),
    three: Expr = Rational(761, 1000),
    four: Expr = Rational(611, 1000),
    five: Expr = Rational(1, 2),
    six: Expr = Rational(419, 1000),
    eight: Expr = Rational(312, 1000),
) -> Proof:
    in_layer = mae_constant(x**L)
    slope = x**-L / (1 - x ** (L + 1))
    half = Rational(1, 2000)
    return (
        Identity("In the layer amplitude x of the threshold its slope is the integrand at x.", in_layer.diff(x), slope),
        Positive("The integrand is positive, z = x^(L+1) < 1.", slope.subs(x ** (L + 1), z)),
        Positive("What multiplies K_L in the time, u*^(1-L)/lambda, falls with rho.", -(ustar ** (1 - L)).diff(ustar)),
        *(
            Bracket(
                "It changes sign within half a digit.",
                mae_constant(p).subs(L, depth),
                p,
                crossing - half,
                crossing + half,
                scope="L = 2..6, 8",
            )
            for depth, crossing in ((2, two), (3, three), (4, four), (5, five), (6, six), (8, eight))
        ),
    )


mae_order_turns_once.mutant("p = 0.5 at every depth", two=Rational(1, 2), three=Rational(1, 2), four=Rational(1, 2))
mae_order_turns_once.mutant("p = 0.39 at L = 5", five=Rational(39, 100))
mae_order_turns_once.mutant("depths exchanged", two=Rational(761, 1000), three=Rational(938, 1000))


@statement(
    "dominant-term-alone-misleads",
    claim="At rho = 1, epsilon = 0.01, p = 1/2 JEPA's dominant term alone misses the critical time by the fraction {two} "
    "at L = 2, {three} at L = 3, {five} at L = 5, rounded to two digits.",
    hypotheses=ONE_PREDICTOR_LAYER,
)
def dominant_term_alone_misleads(
    two: Expr = Rational(15, 100), three: Expr = Rational(28, 100), five: Expr = Rational(45, 100)
) -> Proof:
    def missed(depth: int) -> Expr:
        start, end = (Rational(value) ** Rational(1, depth) for value in (Rational(1, 100), Rational(1, 2)))
        return 1 - start ** (1 - 2 * depth) / (2 * depth - 1) / Duration(Integer(2 * depth), S.One, start, end)

    return (*_between(missed(2), two, 2), *_between(missed(3), three, 2), *_between(missed(5), five, 2))


dominant_term_alone_misleads.mutant("one per cent", two=Rational(1, 100))
dominant_term_alone_misleads.mutant("the same at every depth", three=Rational(15, 100))
dominant_term_alone_misleads.mutant("exact at depth 5", five=S.Zero)
