"""Explicit matrices: quartic losses, numbers beside matrices, diagonals and common eigenvectors."""

from random import Random

import numpy as np
from numpy.testing import assert_allclose
from sympy import Trace

from derivations.formulas import inline
from derivations.matrices import Diagonal, DiagonalPart, Gradients, Square, Symmetric, TraceIdentity, Written, d, in_one_mode
from derivations.notation import beta, gamma, s
from derivations.proof import Finding

W, F, K = Square("W", d, d), Square("F", d, d), Symmetric("K", d, d)


def check(step: Gradients | TraceIdentity) -> Finding:
    return step.check({}, Random(0))


def test_gradient_of_a_fourth_power_is_right_in_both_halves():
    quartic = Trace(W * W.T * W * W.T)
    found = check(Gradients("", quartic, {W: 4 * W * W.T * W}))
    assert found.holds
    assert found.points == 12
    wrong = check(Gradients("", quartic, {W: 3 * W * W.T * W}))
    assert not wrong.reduced
    assert wrong.refuted


def test_numbers_beside_matrices_are_symbols_of_their_own():
    step = TraceIdentity("", beta * Trace(W), Trace(beta * W))
    assert beta in step.symbols()
    assert d not in step.symbols()
    assert check(step).holds
    assert check(TraceIdentity("", beta * Trace(W), Trace(W))).refuted


def test_the_diagonal_part_is_the_diagonal_alone():
    known = Written(2, float, float, {W: np.array([[1.0, 2.0], [3.0, 4.0]])})
    assert_allclose(known.matrix(DiagonalPart(W)).astype(float), [[1, 0], [0, 4]])
    assert check(TraceIdentity("", Trace(DiagonalPart(W)), Trace(W))).holds
    assert inline(DiagonalPart(W)) == "diag(W)"
    assert inline(Diagonal(s)) == "diag(s)"


def test_a_matrix_formula_on_a_common_eigenvector():
    assert in_one_mode(K * F - F * F.T * F, {K: gamma, F: s}) == gamma * s - s**3
