"""When is an expression zero, positive, or small: decisions by normal forms, never by luck.

Powers with symbolic exponents and logarithms are independent generators of a field of rational functions. An expression that is
zero there is zero; one that is not is reported as not reduced, whatever it may be.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import (
    Add,
    Dummy,
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
    factor_list,
    fraction,
    log,
    reduced,
    together,
)

from derivations.notation import Domain, Integers, NonZero, Reals, range_of


class UndecidedError(ArithmeticError):
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
    """Whether every coefficient of numerator and denominator has one sign, once all symbols are written with positive ones.

    No divisor may vanish on the domain, not even one that cancels.
    """
    written = _positively(expression, domain)
    numerator, denominator = fraction(normal(written))
    found = _sign_of_coefficients(numerator) * _sign_of_coefficients(denominator)
    return found > 0 and _sign_of_coefficients(fraction(together(written))[1]) != 0


def sign(expression: Expr, domain: Domain) -> int:
    """-1, 0 or 1.

    Raises
    ------
    UndecidedError
        If the sign varies over the domain, or cannot be read off.
    """
    if vanishes(expression):
        return 0
    numerator, denominator = fraction(normal(_positively(expression, domain)))
    found = _sign_of_coefficients(numerator) * _sign_of_coefficients(denominator)
    if not found:
        raise UndecidedError(f"The sign of {expression} is not decided.")
    return found


def _positively(expression: Expr, domain: Domain) -> Expr:
    """The expression in symbols that range over all positive numbers (whole ones from zero)."""
    symbols = expression.free_symbols
    unknown = [each for each in symbols if not isinstance(domain.get(each), Reals | Integers) and not each.is_positive]
    if unknown:
        raise UndecidedError(f"The range of {unknown[0]} is not known.")
    return expression.xreplace({symbol: range_of(symbol, domain).positively(symbol) for symbol in symbols})


def _sign_of_coefficients(expression: Expr) -> int:
    terms = Add.make_args(expand(expand_power_exp(expression)))
    for turn in (1, -1):
        signed = [turn * term for term in terms]
        if all(term.is_nonnegative for term in signed) and any(term.is_positive for term in signed):
            return turn
    return 0


def is_nonzero(expression: Expr, domain: Domain) -> bool:
    """Whether no point of the domain makes the expression 0: each factor has one sign, or the domain says it is not 0."""
    factors = _factors(fraction(normal(expression))[0])
    promised = [given for given, kind in domain.items() if isinstance(kind, NonZero)]
    return all(_has_sign(factor, domain) or _is_among(factor, promised) for factor in factors) and not vanishes(expression)


def _factors(expression: Expr) -> list[Expr]:
    """The factors that depend on a symbol; powers with symbolic exponents count as symbols of their own."""
    powers = {power: Dummy() for power in expression.atoms(Pow) if power.exp.free_symbols}
    written = {generator: power for power, generator in powers.items()}
    return [factor.xreplace(written) for factor, _ in factor_list(expression.xreplace(powers))[1]]


def _has_sign(expression: Expr, domain: Domain) -> bool:
    try:
        return sign(expression, domain) != 0
    except UndecidedError:
        return False


def _is_among(expression: Expr, promised: list[Expr]) -> bool:
    """Whether it is one of these, up to a number."""
    return any(normal(expression / given).is_number for given in promised)


@dataclass(frozen=True)
class Germ:
    """(coefficient + what tends to 0) * x**exponent * (-ln x)**logs, as x tends to 0 from above.

    The coefficient may be 0 for some parameters. So no germ is divided by, and none is put into a logarithm, unless its
    coefficient is nowhere 0.
    """

    coefficient: Expr
    exponent: Expr = S.Zero
    logs: Expr = S.Zero


def germ(expression: Expr, variable: Symbol, domain: Domain) -> Germ:
    """The leading term of an expression as the variable tends to 0 from above, exponents symbolic.

    Raises
    ------
    UndecidedError
        If leading terms cancel, their order is not decided, a divisor may vanish, or a function is not known.
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
        return _germ_of_power(expression, variable, domain)
    if isinstance(expression, log):
        return _germ_of_log(expression.args[0], variable, domain)
    if hasattr(expression, "small"):
        return germ(expression.small(variable, domain), variable, domain)
    raise UndecidedError(f"Nothing is known of {expression} for small {variable}.")


def _leading(germs: list[Germ], domain: Domain) -> Germ:
    first, *others = (part for part in germs if part.coefficient != 0)
    for other in others:
        order = sign(first.exponent - other.exponent, domain) or -sign(first.logs - other.logs, domain)
        if order > 0:
            first = other
        elif order == 0:
            first = Germ(first.coefficient + other.coefficient, first.exponent, first.logs)
    if vanishes(first.coefficient):
        raise UndecidedError("The leading terms cancel.")
    return first


def _germ_of_power(power: Expr, variable: Symbol, domain: Domain) -> Germ:
    base, exponent = germ(power.base, variable, domain), power.exp
    if not is_positive(exponent, domain) and not is_nonzero(base.coefficient, domain):
        raise UndecidedError(f"{power.base} may vanish faster for some parameters.")
    return Germ(base.coefficient**exponent, base.exponent * exponent, base.logs * exponent)


def _germ_of_log(argument: Expr, variable: Symbol, domain: Domain) -> Germ:
    inner = germ(argument, variable, domain)
    if not is_positive(inner.coefficient, domain):
        raise UndecidedError(f"The logarithm of {argument} is not decided.")
    if not vanishes(inner.exponent):
        if not is_nonzero(inner.exponent, domain):
            raise UndecidedError(f"The logarithm of {argument} is not decided.")
        return Germ(-inner.exponent, S.Zero, S.One)
    if inner.logs != 0:
        raise UndecidedError(f"The logarithm of {argument} is not decided.")
    if vanishes(inner.coefficient - 1):
        return germ(normal(argument - 1), variable, domain)
    return Germ(log(inner.coefficient))


def limit_at_zero(expression: Expr, variable: Symbol, domain: Domain) -> Expr:
    """The limit as the variable tends to 0 from above.

    Raises
    ------
    UndecidedError
        If the expression is unbounded, or its leading term is not decided.
    """
    if vanishes(expression):
        return S.Zero
    lead = germ(normal(expression), variable, domain)
    order = sign(lead.exponent, domain) or -sign(lead.logs, domain)
    if order < 0:
        raise UndecidedError(f"{expression} is unbounded for small {variable}.")
    return S.Zero if order > 0 else lead.coefficient


def vanishes_at_zero(expression: Expr, variable: Symbol, domain: Domain) -> bool:
    """Whether the expression tends to 0 as the variable does."""
    return vanishes(limit_at_zero(expression, variable, domain))


def has_no_hidden_zero(expression: Expr, variable: Symbol, domain: Domain) -> bool:
    """Whether the expression may be divided by for every small value of the variable, whatever the parameters."""
    return is_nonzero(germ(expression, variable, domain).coefficient, domain)


def diverges_at_zero(expression: Expr, variable: Symbol, domain: Domain) -> bool:
    """Whether the modulus tends to infinity as the variable tends to 0 from above, for all parameters."""
    lead = germ(expression, variable, domain)
    order = sign(lead.exponent, domain) or -sign(lead.logs, domain)
    return order < 0 and is_nonzero(lead.coefficient, domain)
