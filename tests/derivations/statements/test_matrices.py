"""Gradients of matrices: real losses of real samples do as the statements say."""

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from derivations.matrices import Square, Written
from derivations.statement import STATEMENTS
from derivations.statements.matrices import A, B, Sxx, Syx, Syy, V, W, X

Matrices = list[np.ndarray]
DEPTHS = [(1, 1), (2, 1), (3, 2)]


class Samples:
    """Two correlated views of 20 samples, a network on them and its loss."""

    def __init__(self, objective: str, depth: int, predictor_depth: int, size: int = 3, seed: int = 0):
        random = np.random.default_rng(seed)
        self.objective, self.depth = objective, depth
        self.x, noise = random.normal(size=(2, size, 20))
        self.y = random.normal(size=(size, size)) @ self.x + 0.5 * noise
        self.layers: Matrices = list(random.normal(size=(depth + predictor_depth, size, size)))
        self.known = {Sxx: self.x @ self.x.T / 20, Syx: self.y @ self.x.T / 20, Syy: self.y @ self.y.T / 20}

    def encoder(self, layers: Matrices) -> np.ndarray:
        return reduce(lambda below, layer: layer @ below, layers[: self.depth])

    def loss(self, layers: Matrices, frozen: Matrices) -> float:
        """1/2 E|V W x - target|^2 over the samples; ``frozen`` are the layers that make JEPA's target."""
        student = reduce(lambda below, layer: layer @ below, layers) @ self.x
        target = self.encoder(frozen) @ self.y if self.objective == "jepa" else self.y
        return float(0.5 * np.mean(np.sum((student - target) ** 2, axis=0)))

    def slope(self, k: int, *, target_moves: bool = False) -> np.ndarray:
        """The derivative of the loss by every entry of layer k, by central differences."""
        gradient = np.empty_like(self.layers[k])
        for cell in np.ndindex(gradient.shape):
            ends = []
            for turn in (1e-4, -1e-4):
                moved = [layer.copy() for layer in self.layers]
                moved[k][cell] += turn
                ends.append(self.loss(moved, moved if target_moves else self.layers))
            gradient[cell] = (ends[0] - ends[1]) / 2e-4
        return gradient

    def value(self, formula: object, **matrices: np.ndarray) -> np.ndarray:
        """A formula of the theory at these samples."""
        names = {"A": A, "X": X, "B": B, "V": V, "W": W}
        known = {**self.known, **{names[name]: matrix for name, matrix in matrices.items()}}
        return Written(len(self.x), float, float, known).matrix(formula).astype(float)


@pytest.mark.parametrize("depths", DEPTHS)
@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_claimed_gradient_of_every_layer_is_the_slope_of_the_loss_of_samples(objective, depths):
    net = Samples(objective, *depths)
    claimed = STATEMENTS[f"{objective}-matrix-gradients"].formulas["by_layer"]
    eye = np.eye(3)
    for k in range(sum(depths)):
        right = reduce(lambda below, layer: layer @ below, net.layers[:k], eye)
        left = reduce(lambda below, layer: layer @ below, net.layers[k + 1 :], eye)
        gradient = net.value(claimed, A=left, X=net.layers[k], B=right, W=net.encoder(net.layers))
        assert_allclose(gradient, net.slope(k), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_gradients_of_the_theory_page(objective):
    net = Samples(objective, 1, 1)
    encoder, predictor = net.layers
    second, cross = net.known[Sxx], net.known[Syx]
    error = predictor @ encoder @ second - (encoder @ cross if objective == "jepa" else cross)
    assert_allclose(predictor.T @ error, net.slope(0), rtol=1e-6, atol=1e-6)
    assert_allclose(error @ encoder.T, net.slope(1), rtol=1e-6, atol=1e-6)
    claimed = STATEMENTS[f"{objective}-matrix-gradients"].formulas
    assert_allclose(net.value(claimed["encoder"], V=predictor, W=encoder), predictor.T @ error)
    assert_allclose(net.value(claimed["predictor"], V=predictor, W=encoder), error @ encoder.T)


def test_the_mutant_without_stop_gradient_is_the_gradient_of_the_loss_without_one():
    net = Samples("jepa", 1, 1)
    mutant = next(m for m in STATEMENTS["jepa-matrix-gradients"].mutants if m.name == "the target is differentiated too")
    value = net.value(mutant.altered["encoder"], V=net.layers[1], W=net.layers[0])
    assert_allclose(value, net.slope(0, target_moves=True), rtol=1e-6, atol=1e-6)
    assert np.abs(value - net.slope(0)).max() > 0.1


LAM, SIGMA = np.array([0.8, 0.3]), np.array([1.0, 0.7])


def error(objective: str, predictor: np.ndarray, encoder: np.ndarray) -> np.ndarray:
    """V W S_xx - W S_yx of JEPA, V W S_xx - S_yx of MAE."""
    target = encoder if objective == "jepa" else np.eye(2)
    return predictor @ encoder @ np.diag(SIGMA**2) - target @ np.diag(LAM)


def trained(objective: str, predictor: np.ndarray, encoder: np.ndarray, steps: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """One layer of each kind after gradient descent."""
    for _ in range(steps):
        residual = error(objective, predictor, encoder)
        predictor, encoder = predictor - 0.02 * residual @ encoder.T, encoder - 0.02 * predictor.T @ residual
    return predictor, encoder


def turn(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_trained_from_diagonal_the_layers_are_diagonal_and_follow_the_scalar_descent(objective):
    start = np.array([0.3, 0.4])
    predictor, encoder = trained(objective, np.diag(start), np.diag(start))
    u, v = start.copy(), start.copy()
    for _ in range(400):
        seen = u if objective == "jepa" else 1
        slope = SIGMA**2 * v * u - LAM * seen
        u, v = u - 0.02 * v * slope, v - 0.02 * u * slope
    assert_allclose(encoder, np.diag(u), rtol=1e-12, atol=1e-14)
    assert_allclose(predictor, np.diag(v), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_coupling_is_the_sine_of_the_angle_that_must_vanish(objective):
    q, r, w, v = 0.7, 0.4, np.array([0.5, 0.9]), np.array([0.6, 1.1])
    frame = turn(r)
    encoder, predictor = frame @ np.diag(w), turn(q) @ frame @ np.diag(v) @ frame.T
    found = (turn(q) @ frame).T @ error(objective, predictor, encoder)
    coupling = np.sin(q) * w if objective == "jepa" else np.sin(q + r) * np.ones(2)
    assert_allclose([found[0, 1], found[1, 0]], [-coupling[1] * LAM[1], coupling[0] * LAM[0]], rtol=1e-12)
    claimed = STATEMENTS["alignment-decides-decoupling"].formulas[objective]
    values = {"q": np.tan(q / 2), "r": np.tan(r / 2), "w_2": w[1], "lambda_2": LAM[1]}
    assert_allclose(float(claimed.subs({name: values[name.name] for name in claimed.free_symbols})), found[0, 1], rtol=1e-12)


def left_over(matrix: np.ndarray) -> float:
    """The largest entry off the diagonal."""
    return float(np.abs(matrix - np.diag(np.diag(matrix))).max())


@pytest.mark.parametrize(
    ("objective", "q", "r", "decouples"),
    [
        ("jepa", 0.0, 0.6, True),
        ("jepa", -0.6, 0.6, False),
        ("mae", 0.0, 0.6, False),
        ("mae", -0.6, 0.6, True),
    ],
)
def test_jepa_stays_decoupled_without_predictor_turn_and_mae_with_one_that_undoes_the_encoder(objective, q, r, decouples):
    frame, start = turn(r), np.diag([0.3, 0.4])
    predictor, encoder = trained(objective, turn(q) @ frame @ start @ frame.T, frame @ start)
    coupling = max(left_over(frame.T @ encoder), left_over((turn(q) @ frame).T @ predictor @ frame))
    assert (coupling < 1e-12) == decouples
    assert decouples or coupling > 1e-2


@pytest.mark.parametrize("slope", [lambda product: product - 0.7, lambda product: np.sin(product) - 0.3 * product**2])
def test_unequal_layers_keep_the_differences_of_their_squares(slope: Callable[[float], float]):
    def rates(_: float, layers: np.ndarray) -> np.ndarray:
        product = layers.prod()
        return -slope(product) * product / layers

    start = np.array([0.5, 0.8, 0.6, 1.1])
    end = solve_ivp(rates, (0, 5), start, rtol=1e-11, atol=1e-12).y[:, -1]
    assert np.abs(end - start).max() > 0.01
    assert_allclose(end**2 - end[0] ** 2, start**2 - start[0] ** 2, atol=1e-9)


def test_entries_of_matrices_are_independent_symbols():
    cells = {Square("W", 3, 3).cell(i, j) for i in range(3) for j in range(3)}
    assert len(cells) == 9
    assert Sxx.cell(0, 2) == Sxx.cell(2, 0)
