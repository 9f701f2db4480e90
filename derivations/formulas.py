"""Formulas as people read them: one line of Unicode, a drawing of several, or LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sympy import Add, Derivative, Eq, Expr, Function, Integral, Limit, Rational, RootSum, Sum, Symbol
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.pretty_symbology import pretty_symbol, pretty_use_unicode
from sympy.printing.pretty.stringpict import prettyForm
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

STAR = "∗"
"""Stands for an asterisk that is no product, until all products are written."""

SHOWN = {"u_*": f"u{STAR}", "w_*": f"w{STAR}", "ell": "ℓ", "E_epsilon": "E_ε"}
WORDS = ("t_dominant", "t_log", "E_growth", "E_capacity")
"""Symbols whose index is a word, which LaTeX sets upright."""


class Series(Expr):
    """A sum whose terms are shown in the order given; it is for reading only."""

    is_commutative = True


def terms_of(expression: Expr) -> tuple[Expr, ...]:
    """The terms of a sum as they are shown."""
    return tuple(expression.args) if isinstance(expression, Series) else tuple(_Inline()._as_ordered_terms(expression))


def _symbol(symbol: Symbol) -> str:
    name = str(symbol.name)
    return SHOWN.get(name, str(pretty_symbol(name)).replace("_*", STAR))


class _PositiveFirst(Printer):
    """A sum begins with a term without a minus sign, if there is one."""

    def _as_ordered_terms(self, expr: Expr, order: str | None = None) -> list[Expr]:
        if isinstance(expr, Series):
            return list(expr.args)
        terms = list(super()._as_ordered_terms(expr, order))
        first = next((place for place, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        return [terms.pop(first), *terms]


class _Inline(_PositiveFirst, StrPrinter):
    """Greek letters, ^ for powers, a space for products."""

    def _print_Symbol(self, expr: Symbol) -> str:
        return _symbol(expr)

    def _print_Rational(self, expr: Rational) -> str:
        exact = expr * 10 ** len(str(expr.q))
        return f"{float(expr):.15g}" if expr.q >= 20 and exact.is_Integer else super()._print_Rational(expr)

    def _print_log(self, expr: Function) -> str:
        return f"ln({self._print(expr.args[0])})"

    def _print_Tail(self, expr: Function) -> str:
        c, b, x = map(self._print, expr.args)
        return f"Φ[{c}, {b}]({x})"

    def _print_Duration(self, expr: Function) -> str:
        a, b, x0, x1 = map(self._print, expr.args)
        return f"T[{a}, {b}]({x0}, {x1})"

    def _print_Derivative(self, expr: Derivative) -> str:
        inner = self._print(expr.expr)
        return f"d{inner if isinstance(expr.expr, Symbol) else f'({inner})'}/d{self._print(expr.variables[0])}"

    def _print_Relational(self, expr: Expr) -> str:
        sign = {"==": "=", ">=": "≥", "<=": "≤", "!=": "≠"}.get(expr.rel_op, expr.rel_op)
        return f"{self._print(expr.lhs)} {sign} {self._print(expr.rhs)}"

    def _print_Integral(self, expr: Integral) -> str:
        variable, low, high = expr.limits[0]
        return f"∫[{self._print(low)}..{self._print(high)}] {self._print(expr.function)} d{self._print(variable)}"

    def _print_Sum(self, expr: Sum) -> str:
        index, first, last = expr.limits[0]
        return f"Σ[{self._print(index)} = {self._print(first)}..{self._print(last)}] ({self._print(expr.function)})"

    def _print_Limit(self, expr: Limit) -> str:
        inner, variable, point, _ = expr.args
        return f"lim[{self._print(variable)} → {self._print(point)}] ({self._print(inner)})"

    def _print_RootSum(self, expr: RootSum) -> str:
        root, summand = _roots(expr)
        return f"Σ[{self._print(root)}] ({self._print(summand)})"

    def _print_Series(self, expr: Series) -> str:
        return signed([self._print(term) for term in expr.args])


class _Drawn(_PositiveFirst, PrettyPrinter):
    """SymPy's drawing with the names of the field."""

    def _print_Symbol(self, e: Symbol, bold_name: bool = False) -> prettyForm:
        return prettyForm(_symbol(e).replace(STAR, "*"))

    def _print_log(self, e: Function) -> prettyForm:
        return self._helper_print_function(e.func, e.args, func_name="ln")

    def _print_Derivative(self, deriv: Derivative) -> prettyForm:
        time = prettyForm(f"d{_symbol(deriv.variables[0])}")
        if isinstance(deriv.expr, Symbol):
            return prettyForm(f"d{_symbol(deriv.expr)}") / time
        inner = prettyForm(*self._print(deriv.expr).parens())
        return prettyForm(*(prettyForm("d") / time).right(" ", inner))

    def _print_Tail(self, e: Function) -> prettyForm:
        return self._indexed("Φ", e.args[:2], e.args[2:])

    def _print_Duration(self, e: Function) -> prettyForm:
        return self._indexed("T", e.args[:2], e.args[2:])

    def _indexed(self, name: str, indices: tuple[Expr, ...], arguments: tuple[Expr, ...]) -> prettyForm:
        """A function with its indices in brackets, as terminals can show it."""
        inside = self._print_seq(arguments, "(", ")", delimiter=", ")
        shown = prettyForm(*inside.left(f"{name}[{', '.join(map(inline, indices))}]"))
        shown.binding = prettyForm.FUNC
        return shown

    def _print_RootSum(self, expr: RootSum) -> prettyForm:
        root, summand = _roots(expr)
        inner = prettyForm(*self._print(summand).parens())
        return prettyForm(*inner.left(f"Σ[{inline(root)}] "))

    def _print_Series(self, expr: Series) -> prettyForm:
        return self._print_Add(expr)


class _Latex(_PositiveFirst, LatexPrinter):
    """SymPy's LaTeX with the names of the field."""

    def _print_Symbol(self, expr: Symbol, style: str = "plain") -> str:
        if expr.name in WORDS:
            letter, word = expr.name.split("_")
            return rf"{letter}_{{\mathrm{{{word}}}}}"
        return str(super()._print_Symbol(expr, style))

    def _print_Derivative(self, expr: Derivative) -> str:
        inner, time = self._print(expr.expr), self._print(expr.variables[0])
        if isinstance(expr.expr, Symbol):
            return rf"\frac{{d {inner}}}{{d {time}}}"
        return rf"\frac{{d}}{{d {time}}} \left({inner}\right)"

    def _print_RootSum(self, expr: RootSum) -> str:
        root, summand = _roots(expr)
        return rf"\sum_{{r:\, {self._print(root)}}} {self.parenthesize(summand, 0)}"

    def _print_Series(self, expr: Series) -> str:
        return signed([self._print(term) for term in expr.args])


def _roots(expression: RootSum) -> tuple[Expr, Expr]:
    """The equation of the roots r, and what is summed over them."""
    r = Symbol("r")
    return Eq(expression.poly.as_expr(r), 0, evaluate=False), expression.fun(r)


def signed(terms: list[str]) -> str:
    """The terms as one sum, each with its sign."""
    return " ".join([terms[0], *(f"- {term[1:].lstrip()}" if term.startswith("-") else f"+ {term}" for term in terms[1:])])


@contextmanager
def _in_unicode() -> Iterator[None]:
    """Draw in Unicode whatever SymPy makes of the encoding of this process."""
    before = pretty_use_unicode(True)
    try:
        yield
    finally:
        pretty_use_unicode(before)


def inline(expression: object) -> str:
    """The formula in one line of Unicode."""
    with _in_unicode():
        text = str(_Inline().doprint(expression))
    return text.replace("**", "^").replace("*", " ").replace(" / ", "/").replace(STAR, "*")


def drawn(expression: Expr, width: int) -> str:
    """The formula drawn in Unicode over as many lines as it takes; a long sum goes on below its first terms."""
    with _in_unicode():
        return _drawn(expression, width)


def _drawn(expression: Expr, width: int) -> str:
    printer = _Drawn({"use_unicode": True, "wrap_line": False, "root_notation": False})
    whole = printer._print(expression)
    if whole.width() <= width or not (isinstance(expression, Eq) and isinstance(expression.rhs, (Add, Series))):
        return str(whole)
    left = prettyForm(*printer._print(expression.lhs).right(" = "))
    first, *others = _pieces(printer, terms_of(expression.rhs), width - left.width())
    return "\n\n".join(
        [str(prettyForm(*first.left(left))), *(str(prettyForm(*part.left(" " * left.width()))) for part in others)]
    )


def _pieces(printer: _Drawn, terms: tuple[Expr, ...], width: int) -> Iterator[prettyForm]:
    """The sum in pieces that fit; all but the first begin with their sign."""
    held: list[Expr] = []
    begun = False
    for term in terms:
        if held and _piece(printer, [*held, term], begun).width() > width:
            yield _piece(printer, held, begun)
            held, begun = [], True
        held.append(term)
    yield _piece(printer, held, begun)


def _piece(printer: _Drawn, terms: list[Expr], begun: bool) -> prettyForm:
    if not begun:
        return printer._print(Series(*terms))
    sign, first = ("- ", -terms[0]) if terms[0].could_extract_minus_sign() else ("+ ", terms[0])
    return prettyForm(*printer._print(Series(first, *terms[1:])).left(sign))


def tex(expression: object) -> str:
    """The formula in LaTeX, without delimiters."""
    return str(_Latex({"ln_notation": True, "root_notation": False, "fold_frac_powers": True}).doprint(expression))
