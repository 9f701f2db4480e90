"""The time of a mode equation by partial fractions of 1/f: found by polynomial arithmetic and proved by differentiation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul

from sympy import Add, Dummy, Expr, Lambda, Poly, Rational, RootSum, S, Symbol, expand, fraction, log

from derivations.notation import u
from derivations.rates import Rate
from derivations.reduction import normal

MOST_FACTORED = 40


@dataclass(frozen=True)
class LogSum:
    """The sum over the roots r of a polynomial of residue(r) * log(1 - u / r)."""

    polynomial: Poly
    residue: Lambda

    @property
    def expression(self) -> Expr:
        """A logarithm where the residue does not depend on the root, else a SymPy `RootSum`."""
        r = Symbol("r")
        if not self.residue.expr.has(*self.residue.variables):
            return self.residue.expr * log(expand(normal(self.polynomial.as_expr() / self.polynomial.eval(0))))
        return RootSum(self.polynomial.as_expr(r), Lambda(r, self.residue(r) * log(1 - u / r)), x=r, auto=False)


@dataclass(frozen=True)
class Antiderivative:
    """The integral of du / f(u), by partial fractions.

    It is real and smooth below the first positive zero of f, and beyond with log|X| for the log(X) of a real X.

    Attributes
    ----------
    rational
        A polynomial in u, poles at 0, and poles at repeated zeros.
    at_zero
        The coefficient of log(u).
    sums
        The logarithms of the other simple poles.
    is_repeated
        Whether f has repeated zeros besides 0.
    """

    rational: Expr
    at_zero: Expr
    sums: tuple[LogSum, ...]
    is_repeated: bool = False

    @property
    def expression(self) -> Expr:
        """The whole, as SymPy writes it."""
        return Add(self.rational, self.at_zero * log(u), *(part.expression for part in self.sums))


def antiderivative(rate: Rate) -> Antiderivative:
    """The integral of du / f(u), its coefficients rational numbers or symbols."""
    cofactor = rate.cofactor
    simple = _coprime(cofactor, cofactor.diff())
    whole, at_zero, numerator = _apart(cofactor, rate.lowest)
    repeated, numerator, denominator = (S.Zero, numerator, cofactor) if simple else _hermite(numerator, cofactor)
    slope = denominator.diff()
    if simple:  # 1/f'(r) instead of the reduced numerator, whose coefficients can be long
        power = Poly(u ** abs(rate.lowest), u, domain=cofactor.domain)
        numerator, slope = (power.one, slope * power) if rate.lowest > 0 else (power, slope)
    sums = tuple(LogSum(part, _residue(numerator, slope, part)) for part in _factors(denominator))
    return Antiderivative(whole + repeated, at_zero, sums, not simple)


def _apart(cofactor: Poly, lowest: int) -> tuple[Expr, Expr, Poly]:
    """(integrated polynomial part and poles at 0, residue at 0, rest over the cofactor) of 1 / (u**lowest cofactor)."""
    if lowest <= 0:
        quotient, rest = Poly(u**-lowest, u, domain=cofactor.domain).div(cofactor)
        return quotient.integrate().as_expr(), S.Zero, rest
    power = Poly(u**lowest, u, domain=cofactor.domain)
    series = cofactor.invert(power)
    rest = (power.one - series * cofactor).exquo(power)
    poles = Add(*(c * u ** (n - lowest + 1) / (n - lowest + 1) for (n,), c in series.terms() if n != lowest - 1))
    return poles, series.nth(lowest - 1), rest


def _hermite(numerator: Poly, denominator: Poly) -> tuple[Expr, Poly, Poly]:
    """(integrated part, what is left over a squarefree denominator) of a proper fraction, by Mack's linear reduction."""
    done, repeated = S.Zero, denominator.gcd(denominator.diff())
    squarefree = denominator.quo(repeated)
    while repeated.degree() > 0:
        deeper = repeated.gcd(repeated.diff())
        layer = repeated.quo(deeper)
        slope = -(squarefree * repeated.diff()).exquo(repeated)
        first = (numerator * slope.invert(layer)).rem(layer)
        second = (numerator - first * slope).exquo(layer)
        numerator = second - (first.diff() * squarefree).exquo(layer)
        done += first.as_expr() / repeated.as_expr()
        repeated = deeper
    return done, numerator, squarefree


def _factors(denominator: Poly) -> list[Poly]:
    """The irreducible factors of a squarefree polynomial; those of high degree are left whole, which is as true and faster."""
    if denominator.degree() > MOST_FACTORED:
        return [denominator]
    return [factor for factor, _ in denominator.factor_list()[1] if factor.degree() > 0]


def _coprime(one: Poly, other: Poly) -> bool:
    """Whether two polynomials have no common root; where they have none at sample values of the symbols, they have none."""
    sample = {symbol: Rational(101 + k, 97) for k, symbol in enumerate(sorted(one.free_symbols_in_domain, key=str))}
    if sample and one.LC().subs(sample).is_nonzero:
        tried = [Poly(part.as_expr().subs(sample), part.gen, field=True) for part in (one, other)]
        if tried[0].gcd(tried[1]).degree() == 0:
            return True
    return bool(one.gcd(other).degree() == 0)


def _residue(numerator: Poly, slope: Poly, factor: Poly) -> Lambda:
    """The quotient at a root of the factor; a constant where both sides reduce to one, as they may for two terms."""
    variable, parts = Dummy("r"), [numerator, slope]
    if len(factor.terms()) <= 2:
        reduced = [part.rem(factor) for part in parts]
        parts = reduced if all(part.degree() <= 0 for part in reduced) else parts
    top, bottom = (part.as_expr(variable) for part in parts)
    return Lambda(variable, normal(top / bottom))


def is_antiderivative(candidate: Antiderivative | Expr, integrand: Expr, variable: Symbol = u) -> bool:
    """Whether the derivative of the candidate is the integrand, by polynomial arithmetic alone.

    Sums over roots are checked by the partial fractions theorem: for a squarefree Q and a numerator A of lower degree,
    A / Q is the sum over the roots r of Q of A(r) / Q'(r) / (u - r).
    """
    expression = candidate.expression if isinstance(candidate, Antiderivative) else candidate
    sums = [term for term in Add.make_args(expression) if term.has(RootSum)]
    left = normal(integrand - Add(expression, *(-term for term in sums)).diff(variable))
    if not sums:
        return bool(left == 0)
    poles = [found for term in sums if (found := _poles(term, variable)) is not None]
    return len(poles) == len(sums) and _is_sum_of_poles(left, poles, variable)


def _poles(term: Expr, variable: Symbol) -> tuple[Expr, Lambda] | None:
    """(polynomial whose roots are the poles, residue) of a sum of logarithms over roots; None if it is no such sum.

    SymPy may rescale the roots, so that a pole is a multiple of the root it is written with.
    """
    factor, logarithms = term.as_independent(RootSum, as_Add=False)
    if not isinstance(logarithms, RootSum) or factor.has(variable):
        return None
    r = logarithms.fun.variables[0]
    slope = normal(factor * logarithms.fun.expr.diff(variable))
    line = Poly(fraction(slope)[1], variable)
    if line.degree() != 1:
        return None
    pole = -line.nth(0) / line.nth(1)
    scale, residue = normal(pole / r), normal(slope * (variable - pole))
    if scale.has(r) or residue.has(variable):
        return None
    return logarithms.poly.as_expr(r / scale), Lambda(r, residue.subs(r, r / scale))


def _is_sum_of_poles(total: Expr, poles: list[tuple[Expr, Lambda]], variable: Symbol) -> bool:
    top, bottom = (Poly(part, variable, field=True) for part in fraction(total))
    factors = [Poly(polynomial.subs(residue.variables[0], variable), variable, field=True) for polynomial, residue in poles]
    slope = bottom.diff()
    if top.degree() >= bottom.degree() or not _coprime(bottom, slope):
        return False
    if not (bottom.monic() - reduce(mul, factors).monic()).is_zero:
        return False
    return all(_agrees(residue, top, slope, factor) for (_, residue), factor in zip(poles, factors, strict=True))


def _agrees(residue: Lambda, top: Poly, slope: Poly, factor: Poly) -> bool:
    """Whether the residue is top / slope at every root of the factor."""
    numerator, denominator = (Poly(part, factor.gen, field=True) for part in fraction(residue(factor.gen)))
    return _coprime(factor, denominator) and bool((numerator * slope - top * denominator).rem(factor).is_zero)
