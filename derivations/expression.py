"""A user's own loss, read from text into symbols; nothing in it is ever run.

A scan finds slips and their columns, Python's parser builds the tree, and a reader of the few kinds of node that a loss needs
turns it into SymPy. Every bound is checked before the work it guards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import comb
from operator import add, mul, truediv
from operator import sub as subtract
from typing import Any, Literal, TypeGuard

from flint import arb, fmpq
from sympy import Add, Expr, I, Mul, Poly, Pow, Rational, nan, zoo

from derivations.balls import NotANumberError, evaluate, precision
from derivations.notation import L, M, lam, released, rho, sg, sigma, u, v
from dynamics.errors import LindynError

NAMES: Mapping[str, Expr] = {"u": u, "v": v, "L": L, "M": M, "lam": lam, "sigma": sigma, "rho": rho}
"""What a loss may name, besides the call sg(...)."""

MOST_CHARACTERS = 2_000
MOST_TOKENS = 400
MOST_NESTING = 50
MOST_DIGITS = 50
MOST_DECADES = 400
MOST_EXPONENT = 1_000
MOST_BITS = 4_096
MOST_TERMS = 250
SHOWN = 40

_ALLOWED = "it may use u, v, L, M, lam, sigma, rho and sg(...)"
_NUMBER = r"(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>\*\*|//|[-+*/()])")
_ADVICE = {
    "^": "write ** for a power",
    "//": "write / for a quotient",
    ",": "sg takes one argument",
    ".": "a point stands in a number only",
    "\N{GREEK SMALL LETTER LAMDA}": "write lam",
    "\N{GREEK SMALL LETTER SIGMA}": "write sigma",
    "\N{GREEK SMALL LETTER RHO}": "write rho",
    "lambda": "write lam",
    "sg": "write sg(...) around what is frozen",
}
_PROBES = (
    {u: (6, 7), v: (5, 11), lam: (8, 13), rho: (9, 17), sigma: (10, 19), L: (5, 1), M: (3, 1)},
    {u: (9, 7), v: (12, 11), lam: (7, 13), rho: (20, 17), sigma: (16, 19), L: (8, 1), M: (7, 1)},
)


_OPERATORS: Mapping[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: add,
    ast.Sub: subtract,
    ast.Mult: mul,
    ast.Div: truediv,
}


class LossError(LindynError):
    """A loss that cannot be read or trained on: one sentence that quotes the place."""


def parse_loss(text: str) -> Expr:
    """The loss of one feature, written in Python's arithmetic with the names u, v, L, M, lam, sigma, rho and the call sg(...).

    Decimals are read as the exact fractions they are written as. A stop-gradient inside another changes nothing and is dropped,
    as is one around what does not depend on u or v. A loss without v is that of an encoder alone: du/dt is closed in u already.

    Raises
    ------
    LossError
        With the offending piece and its column, counted from 1.
    """
    if len(text) > MOST_CHARACTERS:
        raise LossError(f"The loss has {len(text)} characters; it may have up to {MOST_CHARACTERS}.")
    line = re.sub(r"[\t\n\r\f\v]", " ", text)
    _scan(line)
    loss = _Reader(line).loss()
    _check_trains(loss, line)
    return loss


def decimal(text: str) -> Rational:
    """The exact fraction that a decimal number is written as.

    Raises
    ------
    ValueError
        If the text is no decimal number, or has too many digits or decades.
    """
    matched = re.fullmatch(_NUMBER, text.removeprefix("-"))
    if matched is None:
        raise ValueError("It is no decimal number.")
    mantissa, _, exponent = text.lower().partition("e")
    if sum(character.isdigit() for character in mantissa) > MOST_DIGITS:
        raise ValueError(f"It has more than {MOST_DIGITS} digits.")
    if len(exponent.lstrip("+-0")) > len(str(MOST_DECADES)) or abs(int(exponent or "0")) > MOST_DECADES:
        raise ValueError(f"It has a power of ten beyond {MOST_DECADES}.")
    exact = Fraction(text.replace("_", ""))
    return Rational(exact.numerator, exact.denominator)


@dataclass(frozen=True)
class _Token:
    kind: Literal["number", "name", "sign"]
    text: str
    column: int


def _refusal(piece: str, column: int, advice: str, verb: str = "has") -> LossError:
    return LossError(f"The loss {verb} {_quoted(piece)} at column {column}; {advice}.")


def _quoted(piece: str) -> str:
    return ascii(piece if len(piece) <= SHOWN else piece[: SHOWN - 3] + "...") if piece not in _ADVICE else f"'{piece}'"


def _tokens(line: str) -> Iterator[_Token]:
    position = 0
    while position < len(line):
        if line[position] == " ":
            position += 1
            continue
        matched = _TOKEN.match(line, position)
        if matched is None:
            allowed = f"{_ALLOWED}, numbers, + - * / ** and parentheses"
            raise _refusal(line[position], position + 1, _ADVICE.get(line[position], allowed))
        kind: Any = matched.lastgroup
        yield _Token(kind, matched.group(), position + 1)
        position = matched.end()


def _scan(line: str) -> None:
    """Refuse what is no arithmetic of the allowed names, at the first place where it is none."""
    grammar = _Grammar()
    for count, token in enumerate(_tokens(line), start=1):
        if count > MOST_TOKENS:
            advice = f"a loss may have up to {MOST_TOKENS} numbers, names and signs"
            raise _refusal(token.text, token.column, advice, "goes on with")
        _check_token(token, line)
        grammar.take(token)
    grammar.finish(len(line.rstrip()))


class _Grammar:
    """From left to right: either an operand is due, or an operator."""

    def __init__(self) -> None:
        self.operand_due = True
        self.opened: list[int] = []
        self.signs = 0
        self.before = ""

    def take(self, token: _Token) -> None:
        """One more token."""
        if token.text == "(" and (self.operand_due or self.before == "sg"):
            self.opened.append(token.column)
            self.operand_due = True
        elif self.operand_due:
            self.operand(token)
        else:
            self.operator(token)
        if len(self.opened) + self.signs > MOST_NESTING:
            advice = f"parentheses and signs may stand up to {MOST_NESTING} deep"
            raise _refusal(token.text, token.column, advice, "is too deep at")
        self.before = token.text

    def operand(self, token: _Token) -> None:
        """A number or a name, or a sign before it."""
        if token.kind == "sign" and token.text not in "+-":
            raise _refusal(token.text, token.column, "a number, a name or a parenthesis is missing before it")
        self.operand_due = token.kind == "sign"
        self.signs += self.operand_due

    def operator(self, token: _Token) -> None:
        """One of + - * / **, or the end of a parenthesis."""
        if token.kind != "sign" or token.text == "(":
            raise _refusal(token.text, token.column, "an operator is missing before it, such as * for a product")
        if token.text == ")" and not self.opened:
            raise _refusal(token.text, token.column, "no parenthesis is open there")
        if token.text == ")":
            self.opened.pop()
        else:
            self.signs, self.operand_due = 0, True

    def finish(self, length: int) -> None:
        """The end of the line."""
        if not self.before:
            raise LossError(f"The loss is empty at column 1; {_ALLOWED}.")
        if self.operand_due:
            place = f"{_quoted(self.before)} at column {length - len(self.before) + 1}"
            raise LossError(f"The loss ends after {place}; a number, a name or a parenthesis is missing.")
        if self.opened:
            raise _refusal("(", self.opened[-1], "that parenthesis is never closed")


def _check_token(token: _Token, line: str) -> None:
    if token.kind == "number":
        try:
            decimal(token.text)
        except ValueError:
            limits = f"a number may have up to {MOST_DIGITS} digits and powers of ten up to {MOST_DECADES}"
            raise _refusal(token.text, token.column, limits, "has the number") from None
    if token.text == "//":
        raise _refusal(token.text, token.column, _ADVICE["//"])
    if token.kind != "name":
        return
    called = line[token.column - 1 + len(token.text) :].lstrip(" ").startswith("(")
    if token.text == "lambda" or (token.text == "sg" and not called):
        raise _refusal(token.text, token.column, _ADVICE[token.text])
    if called and token.text != "sg":
        product = ", and a product needs *" if token.text in NAMES else ""
        raise _refusal(token.text, token.column, f"it may call nothing but sg(...){product}", "calls")
    if token.text not in NAMES and token.text != "sg":
        raise _refusal(token.text, token.column, _ALLOWED, "has the name")


class _Reader:
    """Expressions from the tree of one line; columns count from 1 because the line is parsed inside parentheses."""

    def __init__(self, line: str) -> None:
        self.text = f"({line})"

    def loss(self) -> Expr:
        """The whole line."""
        try:
            return self.read(ast.parse(self.text, mode="eval").body)
        except SyntaxError as error:
            column = min(max((error.offset or 2) - 1, 1), len(self.text) - 2)
            raise _refusal(self.text[column:-1], column, "Python's arithmetic does not allow it") from None
        except (RecursionError, MemoryError, ValueError) as error:
            if isinstance(error, LossError):
                raise
            raise LossError("The loss is too deeply nested from column 1 on.") from None

    def refusal(self, node: ast.expr, advice: str, verb: str = "has") -> LossError:
        """The refusal of the piece that a node stands for."""
        return _refusal(self.piece(node), node.col_offset, advice, verb)

    def piece(self, node: ast.expr) -> str:
        """The source of a node."""
        return self.text[node.col_offset : node.end_col_offset]

    def read(self, node: ast.expr) -> Expr:
        """The expression of a node, each kind by its own reader."""
        if isinstance(node, ast.BinOp):
            return self.operation(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            return self.read(node.operand) if isinstance(node.op, ast.UAdd) else -self.read(node.operand)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return decimal(self.piece(node))
        if isinstance(node, ast.Name) and node.id in NAMES:
            return NAMES[node.id]
        if _is_stop_gradient(node):
            return self.frozen(node.args[0])
        raise self.refusal(node, _ALLOWED)

    def frozen(self, node: ast.expr) -> Expr:
        """A stop-gradient, unless nothing in it could move."""
        held = released(self.read(node))
        return sg(held) if held.has(u, v) else held

    def operation(self, node: ast.BinOp) -> Expr:
        """Two operands and one of + - * / **."""
        left = self.read(node.left)
        if isinstance(node.op, ast.Pow):
            result = self.power(node, left)
        else:
            right = self.read(node.right)
            if isinstance(node.op, ast.Div) and _is_zero(right):
                raise self.refusal(node.right, "that is zero", "divides by")
            result = self.combined(node, left, right)
        if _terms(result) > MOST_TERMS:
            raise self.refusal(node, f"it has more than {MOST_TERMS} terms when multiplied out")
        return result

    def combined(self, node: ast.BinOp, left: Expr, right: Expr) -> Expr:
        """A sum, difference, product or quotient."""
        combine = _OPERATORS.get(type(node.op))
        if combine is None:
            raise self.refusal(node, "the operators are + - * / and **")
        return combine(left, right)

    def power(self, node: ast.BinOp, base: Expr) -> Expr:
        """A power, refused before it is computed where it would be large, undefined or no real number."""
        exponent = self.exponent(node.right)
        if _is_zero(base) and not exponent.is_nonnegative:
            raise self.refusal(node, "it divides by zero")
        factor, _ = base.as_coeff_Mul()
        if factor.is_Rational and exponent.is_Rational:
            bits = max(int(factor.p).bit_length(), int(factor.q).bit_length())
            if bits * abs(exponent) > MOST_BITS and abs(factor) != 1:
                raise self.refusal(node, "its numbers would be too large")
        result = Pow(base, exponent)
        if result.has(I) or any(part.base.is_number and not part.exp.is_integer for part in result.atoms(Pow)):
            raise self.refusal(node, "a number may be raised to whole powers only")
        if not all(_is_small(part.exp) for part in result.atoms(Pow)):
            raise self.refusal(node, f"exponents are linear in L and M with numbers up to {MOST_EXPONENT}")
        return result

    def exponent(self, node: ast.expr) -> Expr:
        """An exponent: linear in L and M, with small rational numbers."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Call)) and not (isinstance(part, ast.Name) and part.id in ("L", "M")):
                raise self.refusal(part, "an exponent is made of numbers, L and M")
        exponent = self.read(node)
        if not _is_small(exponent):
            advice = f"exponents are linear in L and M with numbers up to {MOST_EXPONENT}"
            raise self.refusal(node, advice, "has the exponent")
        return exponent


def _is_stop_gradient(node: ast.expr) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    return isinstance(node.func, ast.Name) and node.func.id == "sg"


def _is_small(exponent: Expr) -> bool:
    """Whether an exponent is linear in L and M, and its numbers are within bounds."""
    if not exponent.is_polynomial(L, M):
        return False
    polynomial = Poly(exponent, L, M)
    return polynomial.total_degree() <= 1 and all(
        number.is_Rational and abs(number.p) <= MOST_EXPONENT and number.q <= MOST_EXPONENT for number in polynomial.coeffs()
    )


def _is_zero(expression: Expr) -> bool:
    """Whether the value during training is zero wherever it is tried: exactly, or to the last bit of a ball."""
    if expression == 0:
        return True
    if expression.is_number:
        return False
    try:
        with precision(MOST_BITS):
            return all(_contains_zero(released(expression), probe) for probe in _PROBES)
    except NotANumberError:
        return False


def _contains_zero(expression: Expr, probe: Mapping[Expr, tuple[int, int]]) -> bool:
    """Whether the value contains zero at this probe; amplitudes are balls, as exact fractions would grow without bound."""
    point = {symbol: Rational(*value) if symbol in (L, M) else arb(fmpq(*value)) for symbol, value in probe.items()}
    value = evaluate(expression, point)
    return bool(value == 0 if isinstance(value, fmpq) else value.contains(0))


def _terms(expression: Expr) -> int:
    """How many terms the expression has at most when multiplied out."""
    if isinstance(expression, Add):
        return sum(map(_terms, expression.args))
    if isinstance(expression, Mul):
        return reduce(mul, map(_terms, expression.args))
    if isinstance(expression, Pow):
        terms = _terms(expression.base)
        return comb(terms + int(abs(expression.exp)) - 1, terms - 1) if expression.exp.is_Integer else terms
    return _terms(expression.args[0]) if isinstance(expression, sg) else 1


def _check_trains(loss: Expr, line: str) -> None:
    """Refuse a loss whose derivative by u vanishes during training."""
    if loss.has(zoo, nan):
        raise LossError("The loss divides by zero.")
    if not _is_zero(loss.diff(u)):
        return
    named = re.search(r"\bu\b", line)
    if named is None:
        raise LossError("The loss has no u; without it there is no encoder to train.")
    raise _refusal("u", named.start() + 1, "no u outside sg(...) is left, so there is no encoder to train", "does not move")
