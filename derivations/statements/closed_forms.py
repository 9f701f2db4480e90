"""Time in closed form: antiderivatives proved by differentiation and one value, and looked at again by quadrature."""

from __future__ import annotations

from sympy import Expr, Integral, Rational, S, Sum, Symbol, atan, exp, hyper, log, sqrt, symbols

from derivations.closed_form import critical_time, head_term, logarithmic_tail
from derivations.gradient_flow import Member, mode
from derivations.integrals import Tail
from derivations.notation import (
    SMALL,
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
    t,
    u,
    u0,
    u1,
    ustar,
    x,
    x0,
    x1,
    z,
    z0,
    z1,
)
from derivations.proof import Identity, Proof, Sampled, Telescoping
from derivations.statement import JEPA_PAPER, SAXE_PAPER, statements_from
from derivations.statements.modes import BALANCED, FAMILY, MEMBER, ONE_PREDICTOR_LAYER

statement = statements_from(f"{JEPA_PAPER}, critical times; for any exponents derived here")

c, d = symbols("c d", integer=True, positive=True)
alpha = Symbol("alpha", positive=True)
start = Symbol("s_0", positive=True)
y = Symbol("y", positive=True)
FEW_LAYERS = {a: Integers(1, 8), b: Integers(1, 4), L: Integers(1, 3), M: Integers(1, 3)}


TAIL = "Phi_(c,b)(x) is the integral of y^(c-1)/(1-y^b) over 0..x"


@statement(
    "logistic-clock",
    claim="In its own clock, ds = {clock} dt, every feature is logistic in z = u^b/rho: dz/ds = {rate}.",
    hypotheses=FAMILY,
)
def logistic_clock(clock: Expr = lam * u ** (a - 1), rate: Expr = b * z * (1 - z)) -> Proof:
    coordinate = u**b / rho
    return (
        Identity(
            "By the chain rule dz/ds = (dz/du) (du/dt) / (ds/dt).",
            coordinate.diff(u) * MEMBER.rate / clock,
            rate.subs(z, coordinate),
        ),
    )


logistic_clock.mutant("without b", rate=z * (1 - z))
logistic_clock.mutant("saturation z^b", rate=b * z * (1 - z**b))
logistic_clock.mutant("clock lambda u^a", clock=lam * u**a)


@statement(
    "time-over-the-logistic-coordinate",
    claim="dt/dz = {slope} with alpha = {exponent}: one integral for every objective.",
    hypotheses=FAMILY,
)
def time_over_the_logistic_coordinate(
    slope: Expr = rho**-alpha * z ** (-alpha - 1) / (lam * b * (1 - z)), exponent: Expr = (a - 1) / b
) -> Proof:
    coordinate = u**b / rho
    at_layer = slope.subs(alpha, exponent).subs(z, coordinate)
    return (
        Identity(
            "dt/dz = 1 / ((dz/du) (du/dt)).",
            (1 / (coordinate.diff(u) * MEMBER.rate)).subs(rho, ustar**b),
            at_layer.subs(rho, ustar**b),
        ),
    )


time_over_the_logistic_coordinate.mutant("alpha = a/b", exponent=a / b)
time_over_the_logistic_coordinate.mutant("z^-alpha", slope=rho**-alpha * z**-alpha / (lam * b * (1 - z)))
time_over_the_logistic_coordinate.mutant("rho^alpha", slope=rho**alpha * z ** (-alpha - 1) / (lam * b * (1 - z)))


@statement(
    "clock-recurrence",
    claim="Q_alpha = z0^alpha times the integral of z^(-alpha-1)/(1-z) over z0..z1 obeys Q_alpha = {growth} + ({weight}) "
    "Q_(alpha-1).",
    hypotheses=("0 < z0, z1 < 1", "alpha > 0"),
    domain={alpha: Integers(1, 4)},
)
def clock_recurrence(growth: Expr = (1 - (z0 / z1) ** alpha) / alpha, weight: Expr = z0) -> Proof:
    def integrand(power: Expr) -> Expr:
        return z ** (-power - 1) / (1 - z)

    rest = weight / z0
    primitive = growth / z0**alpha
    return (
        Identity("The integrand splits.", integrand(alpha), z ** (-alpha - 1) + rest * integrand(alpha - 1)),
        Identity("The first part is the derivative of the growth.", primitive.diff(z1), z1 ** (-alpha - 1)),
        Identity("The growth is 0 over an empty stretch.", growth.subs(z1, z0), S.Zero),
        Sampled(
            "By quadrature.",
            z0**alpha * Integral(integrand(alpha).subs(z, y), (y, z0, z1)),
            growth + weight * z0 ** (alpha - 1) * Integral(integrand(alpha - 1).subs(z, y), (y, z0, z1)),
        ),
    )


clock_recurrence.mutant("growth without 1/alpha", growth=1 - (z0 / z1) ** alpha)
clock_recurrence.mutant("weight z1", weight=z1)
clock_recurrence.mutant("growth of z1/z0", growth=(1 - (z1 / z0) ** alpha) / alpha)


def _family(term: Expr, tail: Expr, exponent: Expr, count: Expr, saturation: Expr) -> Proof:
    """Head of ``count`` terms plus tail is an antiderivative of x^-exponent / (1 - x^saturation)."""
    bind = {a: exponent, b: saturation}
    slope = term.diff(x).subs(bind)
    partial = x**-exponent * (1 - x ** (n * saturation)) / (1 - x**saturation)
    whole = x**-exponent / (1 - x**saturation)
    closed = (Sum(term, (n, 1, count)) + tail).subs(bind)
    return (
        Telescoping("The derivatives of the first n terms of the head add up.", slope, partial, n),
        Identity(
            "With the derivative of the tail they make the integrand.", partial.subs(n, count) + tail.subs(bind).diff(x), whole
        ),
        Sampled("By quadrature.", Integral(whole.subs(x, y), (y, x0, x1)), closed.subs(x, x1) - closed.subs(x, x0)),
    )


_term = head_term(a, b, x)
_few = {n: Integers(1, 3), K: Integers(3, 5), c: Integers(1, 3), d: Integers(1, 3), b: Integers(1, 4)}


@statement(
    "closed-form",
    claim="With K = ceil((a-1)/b) and c = K b - (a-1) > 0, x^-a/(1-x^b) has on (0, 1) the antiderivative sum over n = "
    "1..K of {term}, plus {tail}.",
    hypotheses=("(a-1)/b is not a whole number", TAIL),
    domain=_few,
)
def closed_form(term: Expr = _term, tail: Expr = Tail(c, b, x)) -> Proof:
    saturation = c + d
    return _family(term, tail, K * saturation - c + 1, K, saturation)


closed_form.mutant("head without its denominators", term=-(x ** -(a - 1 - (n - 1) * b)))
closed_form.mutant("head starts one power lower", term=-(x ** -(a - 1 - n * b)) / (a - 1 - n * b))
closed_form.mutant("tail one power higher", tail=Tail(c + b, b, x))
closed_form.mutant("tail subtracted", tail=-Tail(c, b, x))


@statement(
    "closed-form-with-logarithm",
    claim="With a - 1 = K b, x^-a/(1-x^b) has on (0, 1) the antiderivative sum over n = 1..K of {term}, plus {tail}.",
    hypotheses=("(a-1)/b is a whole number K >= 1",),
    domain=_few,
)
def closed_form_with_logarithm(term: Expr = _term, tail: Expr = logarithmic_tail(b, x)) -> Proof:
    return _family(term, tail, K * b + 1, K, b)


closed_form_with_logarithm.mutant("logarithm without 1/b", tail=log(x) - log(1 - x**b))
closed_form_with_logarithm.mutant("no saturation", tail=log(x))
closed_form_with_logarithm.mutant("sign of the saturation", tail=log(x) + log(1 - x**b) / b)
closed_form_with_logarithm.mutant("head without its denominators", term=-(x ** -(a - 1 - (n - 1) * b)))


@statement(
    "tail-is-hypergeometric",
    claim="The integral of y^(c-1)/(1-y^b) over 0..x is x^c/c 2F1(1, {second}; {third}; x^b).",
    hypotheses=("0 < x < 1",),
    domain=_few,
)
def tail_is_hypergeometric(second: Expr = c / b, third: Expr = 1 + c / b) -> Proof:
    coefficient = (c / b) / (c / b + n)
    return (
        Identity(
            "The coefficients of 2F1 grow by (1+n)(second+n)/((third+n)(1+n)); so do (c/b)/(c/b+n).",
            coefficient.subs(n, n + 1) / coefficient,
            (1 + n) * (second + n) / ((third + n) * (1 + n)),
        ),
        Identity("They start at 1.", coefficient.subs(n, 0), S.One),
        Identity(
            "Inside the unit disc the series is differentiated term by term, into the geometric series of the integrand.",
            (x**c / c * coefficient * x ** (n * b)).diff(x),
            x ** (c - 1) * x ** (n * b),
        ),
        Sampled(
            "By quadrature.",
            Integral(y ** (c - 1) / (1 - y**b), (y, 0, x1)),
            x1**c / c * hyper((1, second), (third,), x1**b),
        ),
    )


tail_is_hypergeometric.mutant("third parameter 2 + c/b", third=2 + c / b)
tail_is_hypergeometric.mutant("second parameter c", second=c)
tail_is_hypergeometric.mutant("parameters exchanged", second=1 + c / b, third=c / b)


@statement(
    "critical-time",
    claim="The product grows from epsilon to the fraction p of its asymptote in t = {time}, u*^b = rho, where "
    "T_(a,b)(x0, x1) is the integral of x^-a/(1-x^b) from x0 to x1.",
    hypotheses=(*BALANCED, *FAMILY, "w = u^L", "epsilon < p w*"),
    domain=FEW_LAYERS,
)
def critical_time_statement(time: Expr = critical_time(Member(lam, a, b, ustar**b))) -> Proof:
    rate = MEMBER.rate.subs(rho, ustar**b)
    at_layers = time.subs({epsilon: u0**L, p: x1**L})
    return (
        Identity("A later start saves the time that passes at the start.", at_layers.diff(u0), -1 / rate.subs(u, u0)),
        Identity("A start on the threshold takes no time.", at_layers.subs(u0, x1 * ustar), S.Zero),
        Sampled("By quadrature.", Integral(1 / rate, (u, u0, x1 * ustar)), at_layers),
    )


_time = critical_time(Member(lam, a, b, ustar**b))
critical_time_statement.mutant("an L in the equation and in its time", time=L * _time)
critical_time_statement.mutant("unit u*^-a", time=_time / ustar)
critical_time_statement.mutant("layers start at epsilon", time=_time.subs(epsilon, epsilon**L))
critical_time_statement.mutant("threshold p of one layer", time=_time.subs(p, p**L))


def _geometric(size: Expr) -> Expr:
    """The sum over n = 1..size of rho^(n+1-2L) u^(-n-1)."""
    q = rho / u
    return rho ** (1 - 2 * L) / u * q * (q**size - 1) / (q - 1)


@statement(
    "jepa-critical-time",
    claim="From layer amplitude u0 to u1 < rho JEPA takes t = F(u1) - F(u0), F(u) = {scale} (sum over n = 1..2L-1 of "
    "{term}, plus {tail}); u0 = epsilon^(1/L) and u1 = p^(1/L) rho give the critical time.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "u0 < u1"),
    domain={L: Integers(1, 5)},
)
def jepa_critical_time(
    term: Expr = -(u**-n) / (n * rho ** (2 * L - 1 - n)),
    tail: Expr = rho ** -(2 * L - 1) * (log(u) - log(1 - u / rho)),
    scale: Expr = 1 / lam,
) -> Proof:
    pace = 1 / mode("jepa").rate.subs(M, 1)
    closed = scale * (Sum(term, (n, 1, 2 * L - 1)) + tail)
    return (
        Telescoping("The derivatives of the first n terms add up.", term.diff(u), _geometric(n), n),
        Identity("With the derivative of the tail they make dt/du.", scale * (_geometric(2 * L - 1) + tail.diff(u)), pace),
        Sampled("By quadrature.", Integral(pace, (u, u0, u1)), closed.subs(u, u1) - closed.subs(u, u0)),
    )


jepa_critical_time.mutant("an L in the equation and in its time", scale=L / lam)
jepa_critical_time.mutant("powers of rho off by one", term=-(u**-n) / (n * rho ** (2 * L - n)))
jepa_critical_time.mutant("terms without 1/n", term=-(u**-n) / rho ** (2 * L - 1 - n))
jepa_critical_time.mutant("no saturation", tail=rho ** -(2 * L - 1) * log(u))
jepa_critical_time.mutant("saturation added", tail=rho ** -(2 * L - 1) * (log(u) + log(1 - u / rho)))


@statement(
    "mae-critical-time-one-layer",
    claim="With one encoder and one decoder layer MAE takes t = {time}.",
    hypotheses=(*BALANCED, "epsilon < p w*"),
)
def mae_critical_time_one_layer(
    time: Expr = log(p**2 * (rho - epsilon**2) / (epsilon**2 * (1 - p**2))) / (2 * lam),
) -> Proof:
    rate = mode("mae").rate.subs({L: 1, M: 1})
    return (
        Identity("A later start saves the time that passes at the start.", time.diff(epsilon), -1 / rate.subs(u, epsilon)),
        Identity(
            "A start on the threshold p rho^(1/2) takes no time.",
            time.subs(rho, ustar**2).subs(epsilon, p * ustar),
            S.Zero,
        ),
    )


mae_critical_time_one_layer.mutant("no factor 2", time=log(p**2 * (rho - epsilon**2) / (epsilon**2 * (1 - p**2))) / lam)
mae_critical_time_one_layer.mutant("p for p^2", time=log(p * (rho - epsilon**2) / (epsilon**2 * (1 - p))) / (2 * lam))
mae_critical_time_one_layer.mutant(
    "epsilon for epsilon^2", time=log(p**2 * (rho - epsilon) / (epsilon * (1 - p**2))) / (2 * lam)
)


@statement(
    "two-layer-sigmoid",
    claim="The product s = u v of a two-layer network, MAE with L = M = 1, follows s(t) = {curve} from s(0) = s_0.",
    source=SAXE_PAPER,
    hypotheses=BALANCED,
    domain={start: SMALL, t: Reals(sampled=(Rational(1, 10), Rational(3)))},
)
def two_layer_sigmoid(curve: Expr = rho * exp(2 * lam * t) / (exp(2 * lam * t) - 1 + rho / start)) -> Proof:
    layer = Symbol("u", positive=True)
    rate = 2 * layer * mode("mae").rate.subs({L: 1, M: 1, u: layer})
    return (
        Identity("It obeys ds/dt = 2 u du/dt at s = u^2.", curve.diff(t), rate.subs(layer, sqrt(curve))),
        Identity("It starts at s_0.", curve.subs(t, 0), start),
    )


two_layer_sigmoid.mutant("rate lambda", curve=rho * exp(lam * t) / (exp(lam * t) - 1 + rho / start))
two_layer_sigmoid.mutant("asymptote 1", curve=exp(2 * lam * t) / (exp(2 * lam * t) - 1 + 1 / start))
two_layer_sigmoid.mutant("start rho s_0", curve=rho * exp(2 * lam * t) / (exp(2 * lam * t) - 1 + 1 / start))


@statement(
    "mae-two-layers",
    claim="At L = 2 MAE's dt/du has the antiderivative {time}, u*^3 = rho, u < u*.",
    hypotheses=ONE_PREDICTOR_LAYER,
)
def mae_two_layers(
    time: Expr = (
        -ustar / u
        - log(1 - u / ustar) / 3
        + log(1 + u / ustar + u**2 / ustar**2) / 6
        - atan((2 * u / ustar + 1) / sqrt(3)) / sqrt(3)
    )
    / (lam * ustar),
) -> Proof:
    pace = 1 / mode("mae").rate.subs({L: 2, M: 1, rho: ustar**3})
    return (Identity("By differentiation.", time.diff(u), pace),)


mae_two_layers.mutant(
    "the logarithms of the complex roots dropped",
    time=-(ustar**3) * (1 / (lam * ustar**3 * u) + log(u - ustar) / (3 * lam * ustar**4)),
)
mae_two_layers.mutant(
    "no arc tangent", time=(-ustar / u - log(1 - u / ustar) / 3 + log(1 + u / ustar + u**2 / ustar**2) / 6) / (lam * ustar)
)
mae_two_layers.mutant("head alone", time=-1 / (lam * u))
