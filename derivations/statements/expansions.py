"""Critical times for a small start, up to what vanishes with it."""

from __future__ import annotations

from sympy import Add, Expr, Integer, Rational, S, Symbol, log

from derivations.closed_form import logarithmic_tail, written_out_time
from derivations.expansion import (
    constant_beside_logarithm,
    constant_of_tail,
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
    Reals,
    a,
    b,
    epsilon,
    lam,
    n,
    p,
    rho,
    u,
    ustar,
    x,
    x1,
    z,
)
from derivations.proof import Bracket, CertifiedPositive, Identity, Limit, Positive, Proof, Step
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.closed_forms import TAIL, c, d
from derivations.statements.dominant_terms import SMALL_START
from derivations.statements.modes import BALANCED, FAMILY, MEMBER, ONE_PREDICTOR_LAYER

statement = statements_from(f"{JEPA_PAPER}, critical times for a small start; with their constants derived here")


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
    hypotheses=(*BALANCED, *FAMILY, "(a-1)/b is not a whole number", TAIL, *SMALL_START),
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
    hypotheses=(*ONE_PREDICTOR_LAYER, "K_L(p) as in mae-expansion", "epsilon small"),
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
