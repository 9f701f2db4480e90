"""Explicit symbolic matrices: formulas written out entry by entry, and gradients proved by differentiating every entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, matmul, mul
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx, fmpq_poly
from sympy import (
    Add,
    Basic,
    Derivative,
    Eq,
    Expr,
    Function,
    MatAdd,
    MatMul,
    MatPow,
    MatrixExpr,
    MatrixSymbol,
    Mul,
    Pow,
    Rational,
    S,
    Symbol,
    Trace,
    Transpose,
    Tuple,
    preorder_traversal,
    sympify,
)
from sympy import Identity as IdentityMatrix

from derivations.balls import Point
from derivations.notation import Domain
from derivations.proof import Identity, Step

d = Symbol("d", integer=True, positive=True)
SIZES = (2, 3)
DEPTHS = tuple((depth, predictor_depth) for depth in (1, 2, 3) for predictor_depth in (1, 2))
LARGEST = max(SIZES)
SIZED = "d = 2, 3"
LAYERED = "L = 1..3, M = 1, 2, d = 2, 3"


class Square(MatrixSymbol):
    """A matrix of independent entries."""

    def cell(self, i: int, j: int) -> Expr:
        """The entry as a symbol."""
        return Symbol(f"{self.name}_{i + 1}{j + 1}")

    def numbered(self, k: int) -> Square:
        """One of several such matrices."""
        made: Square = self.func(f"{self.name}_{k}", *self.shape)
        return made


class Symmetric(Square):
    """A symmetric matrix, its entries independent otherwise."""

    def cell(self, i: int, j: int) -> Expr:
        return super().cell(min(i, j), max(i, j))


class Diagonal(MatrixExpr):
    """A diagonal matrix: on the diagonal the same formula in the quantities of each feature."""

    def __new__(cls, entry: Expr, size: Expr = d) -> Diagonal:
        made: Diagonal = Basic.__new__(cls, sympify(entry), size)
        return made

    @property
    def shape(self) -> tuple[Expr, Expr]:
        return self.args[1], self.args[1]

    def cell(self, i: int, j: int) -> Expr:
        """The entry, with the symbols of feature i."""
        if i != j:
            return S.Zero
        entry = self.args[0]
        return entry.xreplace({symbol: Symbol(f"{symbol.name}_{i + 1}") for symbol in entry.free_symbols})

    def numbered(self, k: int) -> Diagonal:
        """One of several such matrices."""
        entry = self.args[0]
        return Diagonal(entry.xreplace({symbol: Symbol(f"{symbol.name}{k}") for symbol in entry.free_symbols}), self.args[1])

    def _sympystr(self, printer: Any) -> str:
        return f"diag({printer.doprint(self.args[0])})"

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{diag}}\left({printer.doprint(self.args[0])}\right)"


class DiagonalPart(MatrixExpr):
    """A matrix without what stands off its diagonal."""

    def __new__(cls, whole: MatrixExpr) -> DiagonalPart:
        made: DiagonalPart = Basic.__new__(cls, whole)
        return made

    @property
    def whole(self) -> MatrixExpr:
        """The matrix that it is a part of."""
        return self.args[0]

    @property
    def shape(self) -> tuple[Expr, Expr]:
        shape: tuple[Expr, Expr] = self.whole.shape
        return shape

    def _sympystr(self, printer: Any) -> str:
        return f"diag({printer.doprint(self.whole)})"

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{diag}}\left({printer.doprint(self.whole)}\right)"


@dataclass(frozen=True)
class Written:
    """Matrix expressions written out entry by entry, in whatever ring the entries live.

    ``known`` holds what some matrices are instead of their own symbols.
    """

    size: int
    number: Callable[[Rational], Any]
    symbol: Callable[[Symbol], Any]
    known: Mapping[MatrixExpr, Any] = field(default_factory=dict)

    def matrix(self, expression: MatrixExpr) -> Any:
        """An array of entries."""
        if expression in self.known:
            return self.known[expression]
        if isinstance(expression, (Square, Diagonal)):
            return self.filled(expression.cell)
        if isinstance(expression, IdentityMatrix):
            return self.filled(lambda i, j: S.One if i == j else S.Zero)
        if isinstance(expression, DiagonalPart):
            return self.matrix(expression.whole) * self.matrix(IdentityMatrix(d))
        if isinstance(expression, Transpose):
            return self.matrix(expression.arg).T
        if isinstance(expression, MatAdd):
            return reduce(add, map(self.matrix, expression.args))
        if isinstance(expression, MatPow):
            return reduce(matmul, [self.matrix(expression.base)] * int(expression.exp))
        assert isinstance(expression, MatMul), expression
        factor, matrices = expression.as_coeff_matrices()
        arrays = [self.matrix(part) for part in matrices]
        return reduce(matmul, arrays if factor == 1 else [self.filled(lambda i, j: factor if i == j else S.Zero), *arrays])

    def scalar(self, expression: Expr) -> Any:
        """A number of the ring."""
        if isinstance(expression, Trace):
            return reduce(add, self.matrix(expression.arg).diagonal())
        if isinstance(expression, Symbol):
            return self.symbol(expression)
        if isinstance(expression, Rational):
            return self.number(expression)
        if isinstance(expression, Pow):
            return self.scalar(expression.base) ** int(expression.exp)
        assert isinstance(expression, (Add, Mul)), expression
        return reduce(add if isinstance(expression, Add) else mul, map(self.scalar, expression.args))

    def placed(self, matrices: Mapping[MatrixExpr, MatrixExpr]) -> Written:
        """The same, with some matrices standing for what an expression gives them."""
        return replace(self, known={**self.known, **{name: self.matrix(held) for name, held in matrices.items()}})

    def filled(self, cell: Callable[[int, int], Expr]) -> Any:
        """An array of what each position holds."""
        entries = np.empty((self.size, self.size), object)
        for i, j in np.ndindex(self.size, self.size):
            entries[i, j] = self.scalar(cell(i, j))
        return entries


def rational(number: Rational) -> fmpq:
    """The number in python-flint."""
    return fmpq(int(number.p), int(number.q))


def valued(size: int, point: Point) -> Written:
    """Matrices of rational numbers at a point."""
    return Written(size, rational, lambda symbol: rational(point[symbol]))


def symbolic(size: int) -> Written:
    """Matrices of SymPy expressions."""
    return Written(size, lambda number: number, lambda symbol: symbol)


def in_one_mode(expression: MatrixExpr, eigenvalues: Mapping[MatrixExpr, Expr]) -> Expr:
    """A formula of matrices that share their eigenvectors, on one of these, from the eigenvalues that belong to it."""
    acting = replace(symbolic(1), known={matrix: np.array([[value]]) for matrix, value in eigenvalues.items()})
    found: Expr = acting.matrix(expression)[0, 0]
    return found


def entry_symbols(size: int, expressions: tuple[Basic, ...]) -> set[Symbol]:
    """The symbols in the entries of all matrices that occur, and those of the numbers beside them."""
    matrices = Tuple(*expressions).atoms(Square, Diagonal)
    entries = {name for matrix in matrices for i, j in np.ndindex(size, size) for name in matrix.cell(i, j).free_symbols}
    return entries | _factors(expressions)


def _factors(expressions: tuple[Basic, ...]) -> set[Symbol]:
    """The symbols that stand for numbers, neither inside a matrix nor for its size."""
    found, parts = set(), preorder_traversal(Tuple(*expressions))
    for part in parts:
        if isinstance(part, (Square, Diagonal, IdentityMatrix)):
            parts.skip()
        elif isinstance(part, Symbol):
            found.add(part)
    return found


def polynomials(size: int, names: set[Symbol]) -> Written:
    """Matrices of polynomials with rational coefficients in some symbols."""
    ordered = sorted(map(str, names))
    context = fmpq_mpoly_ctx.get(ordered, Ordering.lex)
    generators = dict(zip(ordered, context.gens(), strict=True))
    return Written(size, lambda number: context.constant(rational(number)), lambda symbol: generators[str(symbol)])


@dataclass(frozen=True)
class TraceIdentity(Identity):
    """left = right between traces of matrix products, as polynomials in the entries."""

    def reduce(self, domain: Domain) -> str:
        writings = (polynomials(size, self.symbols()) for size in SIZES)
        return "" if all(self._holds_in(written) for written in writings) else "The polynomials differ."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return all(self._holds_in(valued(size, point)) for size in SIZES)

    def _holds_in(self, written: Written) -> bool:
        return bool(written.scalar(self.left) == written.scalar(self.right))

    def symbols(self) -> set[Symbol]:
        return entry_symbols(LARGEST, (self.left, self.right))


@dataclass(frozen=True)
class Gradients(Step):
    """The gradients of a loss by some matrices, each differentiated by every entry, are the claimed matrices.

    ``frozen`` are the matrices under a stop-gradient, with what they hold; ``at`` are the matrices the gradients are evaluated
    at, where these are not general. The numerical half shifts a matrix along one direction: the linear coefficient in the shift
    is the slope.
    """

    loss: Expr
    claimed: Mapping[MatrixSymbol, MatrixExpr]
    frozen: Mapping[MatrixSymbol, MatrixExpr] = field(default_factory=dict, kw_only=True)
    at: Mapping[MatrixSymbol, MatrixExpr] = field(default_factory=dict, kw_only=True)
    off_diagonal: bool = field(default=False, kw_only=True)

    @property
    def formula(self) -> Expr:
        loss = Function("loss")
        return Tuple(*(Eq(Derivative(loss(layer), layer), claim, evaluate=False) for layer, claim in self.claimed.items()))

    def reduce(self, domain: Domain) -> str:
        for size in SIZES:
            for layer, claim in self.claimed.items():
                written = polynomials(size, self.symbols() | entry_symbols(size, (layer, *self._held)))
                if not self._agree(self._derivative(written, layer), written.placed(self.at).matrix(claim)):
                    return f"The polynomials differ in the gradient by {layer} for d = {size}."
        return ""

    def holds_at(self, point: Point, domain: Domain) -> bool:
        matrices = {name: name for name in Tuple(self.loss, *self.claimed.values()).atoms(Square, Diagonal) - {*self._held}}
        writings = [valued(size, point).placed({**matrices, **self.at}) for size in SIZES]
        return all(
            self._slope(written, layer) == (self._along(written) * written.matrix(claim)).sum()
            for written in writings
            for layer, claim in self.claimed.items()
        )

    @property
    def _held(self) -> Mapping[MatrixSymbol, MatrixExpr]:
        """What the frozen matrices of this loss hold."""
        return {name: held for name, held in self.frozen.items() if self.loss.has(name)}

    def symbols(self) -> set[Symbol]:
        released = (expression.xreplace(self.frozen).xreplace(self.at) for expression in (self.loss, *self.claimed.values()))
        return entry_symbols(LARGEST, tuple(released))

    def _agree(self, slope: Callable[[int, int], Any], claimed: Any) -> bool:
        cells = np.ndindex(claimed.shape)
        return all(slope(i, j) == claimed[i, j] for i, j in cells if i != j or not self.off_diagonal)

    def _derivative(self, written: Written, layer: Square) -> Callable[[int, int], Any]:
        """The derivative of the polynomial by each entry; only then the target is released and the layer put in its place."""
        loss = written.placed({name: held for name, held in self.at.items() if name != layer}).scalar(self.loss)
        final = written.placed(self.at)
        released = {name: final.matrix(held) for name, held in self._held.items()}
        released |= {layer: final.matrix(layer)} if layer in self.at else {}
        images = {str(name.cell(*cell)): held[cell] for name, held in released.items() for cell in np.ndindex(held.shape)}
        context = loss.context()
        values = [images.get(name, generator) for name, generator in zip(context.names(), context.gens(), strict=True)]
        unmoved = loss.subs(dict.fromkeys(images, 0))
        moved = loss - unmoved

        def slope(i: int, j: int) -> Any:
            entry = str(layer.cell(i, j))
            return unmoved.derivative(entry) + moved.derivative(entry).compose(*values, ctx=context)

        return slope

    def _along(self, written: Written) -> Any:
        """A direction in which no two entries weigh alike; entries that are not compared have none."""
        return written.filled(lambda i, j: S.Zero if i == j and self.off_diagonal else S(1 + i * LARGEST + j))

    def _slope(self, written: Written, layer: Square) -> Any:
        """The linear coefficient of the loss in a shift along the direction, the target kept."""
        shift = fmpq_poly([0, 1])
        shifted = np.vectorize(lambda entry, weight: entry + weight * shift, otypes=[object])
        moved = shifted(written.matrix(layer), self._along(written))
        kept = written.placed(self._held)
        return (replace(kept, known={**kept.known, layer: moved}).scalar(self.loss) + 0 * shift)[1]
