"""When is an expression zero, positive, or small: decisions by normal forms, never by luck.

Powers with symbolic exponents and logarithms are independent generators of a field of rational functions. An expression that is
zero there is zero; one that is not is reported as not reduced, whatever it may be.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import (
    Add,
    Expr,
    Mul,
    Poly,
    Pow,
    S,
    Symbol,
    cancel,
    expand,
    expand_log,
    expand_power_exp,
    fraction,
    log,
    reduced,
    together,
)

from derivations.notation import Domain, range_of


class Undecided(ArithmeticError):
    """A question that the normal forms do not answer."""


def normal(expression: Expr) -> Expr:
    """The expression as one reduced fraction in its generators."""
    return cancel(together(expand_power_exp(_simple_exponents(expand_log(expression)))))


def vanishes(expression: Expr) -> bool:
    """Whether the expression is zero as a rational function of its generators."""
    return bool(normal(expression) == 0)


def _simple_exponents(expression: Expr) -> Expr:
    return expression.replace(
        lambda part: isinstance(part, Pow) and bool(part.exp.free_symbols),
        lambda power: Pow(power.base, _whole_and_rest(power.exp)),
    )


def _whole_and_rest(exponent: Expr) -> Expr:
    """A rational exponent as a polynomial plus proper fractions, so that equal powers look alike."""
    reduced_exponent = cancel(exponent)
    numerator, denominator = fraction(reduced_exponent)
    if denominator.free_symbols:
        (whole,), rest = reduced(numerator, [denominator])
        if all(coefficient.is_Integer for coefficient in Poly(whole, *exponent.free_symbols).coeffs()):
            return expand(whole) + Add(*(term / denominator for term in Add.make_args(expand(rest))))
    return expand(reduced_exponent)


def is_positive(expression: Expr, domain: Domain) -> bool:
    """Whether every coefficient of numerator and denominator has one sign, once all symbols are written with positive ones."""
    numerator, denominator = fraction(normal(_positively(expression, domain)))
    sign = _sign_of_coefficients(numerator) * _sign_of_coefficients(denominator)
    return sign > 0


def sign(expression: Expr, domain: Domain) -> int:
    """-1, 0 or 1.

    Raises
    ------
    Undecided
        If the sign varies over the domain, or cannot be read off.
    """
    if vanishes(expression):
        return 0
    numerator, denominator = fraction(normal(_positively(expression, domain)))
    found = _sign_of_coefficients(numerator) * _sign_of_coefficients(denominator)
    if not found:
        raise Undecided(f"The sign of {expression} is not decided.")
    return found


def _positively(expression: Expr, domain: Domain) -> Expr:
    """The expression in symbols that range over all positive numbers (whole ones from zero)."""
    symbols = expression.free_symbols
    return expression.xreplace({symbol: range_of(symbol, domain).positively(symbol) for symbol in symbols})


def _sign_of_coefficients(expression: Expr) -> int:
    terms = Add.make_args(expand(expand_power_exp(expression)))
    for turn in (1, -1):
        signed = [turn * term for term in terms]
        if all(term.is_nonnegative for term in signed) and any(term.is_positive for term in signed):
            return turn
    return 0


@dataclass(frozen=True)
class Germ:
    """coefficient * x**exponent * (-ln x)**logs, times what tends to 1, as x tends to 0 from above."""

    coefficient: Expr
    exponent: Expr = S.Zero
    logs: Expr = S.Zero


def germ(expression: Expr, variable: Symbol, domain: Domain) -> Germ:
    """The leading term of an expression as the variable tends to 0 from above, exponents symbolic.

    Raises
    ------
    Undecided
        If leading terms cancel, their order is not decided, or a function is not known.
    """
    if not expression.has(variable):
        return Germ(expression)
    if expression == variable:
        return Germ(S.One, S.One)
    if isinstance(expression, Add):
        return _leading([germ(term, variable, domain) for term in expression.args], domain)
    if isinstance(expression, Mul):
        parts = [germ(factor, variable, domain) for factor in expression.args]
        coefficient = Mul(*(part.coefficient for part in parts))
        return Germ(coefficient, Add(*(part.exponent for part in parts)), Add(*(part.logs for part in parts)))
    if isinstance(expression, Pow) and not expression.exp.has(variable):
        base, power = germ(expression.base, variable, domain), expression.exp
        return Germ(base.coefficient**power, base.exponent * power, base.logs * power)
    if isinstance(expression, log):
        return _germ_of_log(expression.args[0], variable, domain)
    if hasattr(expression, "small"):
        return germ(expression.small(variable, domain), variable, domain)
    raise Undecided(f"Nothing is known of {expression} for small {variable}.")


def _leading(germs: list[Germ], domain: Domain) -> Germ:
    first, *others = (part for part in germs if part.coefficient != 0)
    for other in others:
        order = sign(first.exponent - other.exponent, domain) or -sign(first.logs - other.logs, domain)
        if order > 0:
            first = other
        elif order == 0:
            first = Germ(first.coefficient + other.coefficient, first.exponent, first.logs)
    if vanishes(first.coefficient):
        raise Undecided("The leading terms cancel.")
    return first


def _germ_of_log(argument: Expr, variable: Symbol, domain: Domain) -> Germ:
    inner = germ(argument, variable, domain)
    if not vanishes(inner.exponent):
        return Germ(-inner.exponent, S.Zero, S.One)
    if inner.logs != 0:
        raise Undecided(f"The logarithm of {argument} is not decided.")
    if vanishes(inner.coefficient - 1):
        return germ(normal(argument - 1), variable, domain)
    return Germ(log(inner.coefficient))


def limit_at_zero(expression: Expr, variable: Symbol, domain: Domain) -> Expr:
    """The limit as the variable tends to 0 from above.

    Raises
    ------
    Undecided
        If the expression is unbounded, or its leading term is not decided.
    """
    if vanishes(expression):
        return S.Zero
    lead = germ(normal(expression), variable, domain)
    order = sign(lead.exponent, domain) or -sign(lead.logs, domain)
    if order < 0:
        raise Undecided(f"{expression} is unbounded for small {variable}.")
    return S.Zero if order > 0 else lead.coefficient


def diverges_at_zero(expression: Expr, variable: Symbol, domain: Domain) -> bool:
    """Whether the modulus tends to infinity as the variable tends to 0 from above."""
    lead = germ(expression, variable, domain)
    return (sign(lead.exponent, domain) or -sign(lead.logs, domain)) < 0
