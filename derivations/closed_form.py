"""The time between two amplitudes of du/dt = lambda u^a (1 - u^b/rho), in x = u/u* with u*^b = rho.

    t = u*^(1-a) / lambda * T_{a,b}(x0, x1),    T_{a,b}(x0, x1) = integral of x^-a / (1 - x^b) from x0 to x1

T is a head of K = ceil((a-1)/b) powers and a tail: a logarithm where (a-1)/b is whole, a hypergeometric function elsewhere.
"""

from __future__ import annotations

from sympy import Add, Expr, Integer, S, Sum, Symbol, log

from derivations.expansion import end_term, singular_term
from derivations.gradient_flow import Member
from derivations.integrals import Duration, Tail, head_and_tail
from derivations.notation import K, L, epsilon, n, p, x, x0, x1
from derivations.reduction import normal


def head_term(a: Expr, b: Expr, x: Expr) -> Expr:
    """Antiderivative of the n-th most singular power of x**-a / (1 - x**b)."""
    power = a - 1 - (n - 1) * b
    return -(x**-power) / power


def head(a: Expr, b: Expr, count: Expr, x: Expr) -> Expr:
    """Antiderivative of the ``count`` most singular powers of x**-a / (1 - x**b)."""
    return Sum(head_term(a, b, x), (n, 1, count))


def logarithmic_tail(b: Expr, x: Expr) -> Expr:
    """Antiderivative of 1 / (x (1 - x**b))."""
    return log(x) - log(1 - x**b) / b


def antiderivative(a: Expr, b: Expr, x: Expr = x) -> Expr:
    """An antiderivative of x**-a / (1 - x**b) on (0, 1), written out for rational numbers a and b > 0."""
    count, c = head_and_tail(a, b)
    powers = [a - 1 - k * b for k in range(count)]
    return Add(*(-(x**-m) / m for m in powers), Tail(c, S(b), x) if c else logarithmic_tail(S(b), x))


def duration(a: Expr, b: Expr, x0: Expr = x0, x1: Expr = x1) -> Expr:
    """T_{a,b}(x0, x1), written out for rational numbers a and b."""
    return antiderivative(a, b, x1) - antiderivative(a, b, x0)


def layer_fixed_point(member: Member) -> Expr:
    """u*, the layer amplitude at which the mode stands still."""
    return member.capacity ** (1 / member.b)


def critical_time(member: Member) -> Expr:
    """Training time from the product amplitude epsilon to the fraction p of the product's own asymptote, by way of T."""
    star = layer_fixed_point(member)
    return star ** (1 - member.a) / member.growth * Duration(member.a, member.b, epsilon ** (1 / L) / star, p ** (1 / L))


def general_antiderivative(a: Expr, b: Expr, x: Expr = x) -> list[tuple[str, Expr]]:
    """(condition, antiderivative of x**-a / (1 - x**b)) case by case, the head as a sum; no condition is an empty string."""
    if a.is_Rational and b.is_Rational:
        count, c = head_and_tail(a, b)
        return [("", head(a, b, Integer(count), x) + (Tail(c, b, x) if c else logarithmic_tail(b, x)))]
    whole = normal((a - 1) / b)
    if whole.is_integer and whole.is_nonnegative:
        return [("", head(a, b, whole, x) + logarithmic_tail(b, x))]
    if (b - a + 1).expand().is_positive:
        powers = -(x ** (1 - a)) / (a - 1)
        return [("a other than 1", powers + Tail((b - a + 1).expand(), b, x)), ("a = 1", logarithmic_tail(b, x))]
    sum_of_powers = head(a, b, K, x)
    return [
        ("c = K b - (a-1) > 0, K = ceil((a-1)/b)", sum_of_powers + Tail(Symbol("c", integer=True, positive=True), b, x)),
        ("c = 0", sum_of_powers + logarithmic_tail(b, x)),
    ]


def written_out_time(member: Member) -> tuple[Expr, ...]:
    """The terms of the critical time for rational a and b: powers of epsilon, powers of p, and the tail at both ends."""
    count, c = head_and_tail(member.a, member.b)
    unit = member.capacity ** (-(member.a - 1) / member.b) / member.growth
    start, end = epsilon ** (1 / L) / layer_fixed_point(member), p ** (1 / L)

    def tail(x: Expr) -> Expr:
        return Tail(c, member.b, x) if c else log(x) - log(1 - x**member.b) / member.b

    return (
        *(singular_term(member, Integer(n)) for n in range(1, count + 1)),
        *(-end_term(member, Integer(n)) for n in range(1, count + 1)),
        unit * (tail(end) - tail(start)),
    )


def written_out(expression: Expr) -> Expr:
    """The expression with every T_{a,b} of rational numbers replaced by its closed form."""
    return expression.replace(
        lambda part: isinstance(part, Duration) and part.args[0].is_Rational and part.args[1].is_Rational,
        lambda found: duration(*found.args),
    )
