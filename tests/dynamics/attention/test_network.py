"""The network's gradients, against a dense network of its own, differentiated by complex steps, and the paper's formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.attention import Areas, Batch, ImageModel, PositionFlow, Sampler, uniform
from dynamics.attention.network import clean_attention, contrast, reconstruction, size_of

MODEL = ImageModel(Areas(12, 6, 3), masked=0.5, clusters=2, latent=uniform(0.5, 1.5))
STEP = 1e-30


def sampler(seed: int = 3, model: ImageModel = MODEL, **how: bool) -> Sampler:
    return Sampler(model, seed=seed, **how)


def weights(source: Sampler, seed: int = 0) -> np.ndarray:
    return 0.4 * np.random.default_rng(seed).standard_normal((size_of(source),) * 2)


# --- a dense network --------------------------------------------------------------------------------------------------------


def tokens(source: Sampler, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patches, patches under the mask, and tokens with positions; coordinates are positions and then features."""
    images, patches = batch.area.shape
    size = patches + source.model.clusters * (1 + int(source.model.areas.local_areas))
    clean = np.zeros((images, patches, size))
    for i in range(images):
        for p in range(patches):
            clean[i, p, patches + batch.cluster[i] * source.areas + batch.area[i, p]] = batch.strength[i, p]
    seen = clean * batch.shown[:, :, None]
    return clean, seen, seen + np.eye(patches, size)


def attend(queries: np.ndarray, Q: np.ndarray, keys: np.ndarray) -> np.ndarray:
    weight = np.exp(queries @ Q @ np.swapaxes(keys, -1, -2))
    return weight / weight.sum(axis=-1, keepdims=True)


def dense_mae(Q: np.ndarray, source: Sampler, batch: Batch) -> complex:
    clean, seen, token = tokens(source, batch)
    off = (attend(token, Q, token) @ seen - clean) * ~batch.shown[:, :, None]
    return 0.5 * (off**2).sum() / len(clean)


def dense_views(Q: np.ndarray, source: Sampler, batch: Batch, query: str) -> np.ndarray:
    _, seen, token = tokens(source, batch)
    patches = batch.area.shape[1]
    queries = token if query == "full" else np.broadcast_to(np.eye(patches, token.shape[-1]), token.shape)
    return (attend(queries, Q, token) @ seen).mean(axis=1)


def dense_cl(Q: np.ndarray, still: np.ndarray, source: Sampler, pair: tuple[Batch, Batch], tau: float, query: str) -> complex:
    alike = np.exp(dense_views(Q, source, pair[0], query) @ dense_views(still, source, pair[1], query).T / tau)
    return -tau * np.log(np.diagonal(alike) / alike.sum(axis=1)).mean()


def derivative(loss, Q: np.ndarray) -> np.ndarray:
    """Exact to rounding: the imaginary part of the loss at an imaginary step, entry by entry."""
    slope = np.zeros_like(Q)
    for place in np.ndindex(*Q.shape):
        moved = Q.astype(complex)
        moved[place] += 1j * STEP
        slope[place] = loss(moved).imag / STEP
    return slope


def pair_of(source: Sampler, images: int) -> tuple[Batch, Batch]:
    batch = source.draw(images)
    return batch, source.masked_again(batch)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_of_reconstruction_is_that_of_the_dense_network(seed: int) -> None:
    source = sampler(seed)
    Q, batch = weights(source), source.draw(4)
    found = reconstruction(Q, source, batch, np.float64)
    assert found.loss == pytest.approx(dense_mae(Q, source, batch), rel=1e-12)
    assert_allclose(found.gradient, derivative(lambda at: dense_mae(at, source, batch), Q), atol=1e-13)


@pytest.mark.parametrize("query", ["position", "full"])
@pytest.mark.parametrize("tau", [0.5, 0.07])
def test_the_gradient_of_contrast_is_that_of_the_dense_network(query: str, tau: float) -> None:
    source = sampler(5)
    Q, pair = weights(source), pair_of(source, 5)
    found = contrast(Q, source, *pair, temperature=tau, query=query, dtype=np.float64)
    assert found.loss == pytest.approx(dense_cl(Q, Q, source, pair, tau, query), rel=1e-12)
    exact = derivative(lambda at: dense_cl(at, Q, source, pair, tau, query), Q)
    assert np.abs(exact).max() > 1e-4
    assert_allclose(found.gradient, exact, atol=1e-13)


def test_gradients_agree_with_differences_too() -> None:
    source = sampler(6)
    Q, pair = weights(source), pair_of(source, 4)
    slope = reconstruction(Q, source, pair[0], np.float64).gradient
    for place in np.random.default_rng(1).integers(source.patches, size=(6, 2)):
        move = np.zeros_like(Q)
        move[tuple(place)] = 1e-5
        ends = [reconstruction(Q + sign * move, source, pair[0], np.float64).loss for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope[tuple(place)], abs=1e-9)


def test_single_precision_loses_nothing_that_matters() -> None:
    source = sampler(7)
    Q, pair = weights(source), pair_of(source, 6)
    for one, other in (
        (reconstruction(Q, source, pair[0]), reconstruction(Q, source, pair[0], np.float64)),
        *(
            [contrast(Q, source, *pair, temperature=0.5, query=query, **how) for how in ({}, {"dtype": np.float64})]
            for query in ("position", "full")
        ),
    ):
        assert_allclose(one.gradient, other.gradient, atol=1e-6)
        assert one.loss == pytest.approx(other.loss, rel=1e-5)


def test_rows_of_features_never_move_under_reconstruction() -> None:
    source = sampler(8)
    slope = reconstruction(weights(source), source, source.draw(16)).gradient
    assert (slope[source.patches :] == 0.0).all()


def test_rows_of_different_patches_never_interact_under_reconstruction() -> None:
    source = sampler(9)
    Q, batch = weights(source), source.draw(8)
    other = Q.copy()
    other[3] += 1.0
    one, two = (reconstruction(at, source, batch, np.float64).gradient for at in (Q, other))
    assert_array_equal(np.flatnonzero((one != two).any(axis=1)), [3])


def test_queries_that_see_their_position_only_have_one_and_the_same_row_for_all_time() -> None:
    source = sampler(10)
    Q = np.zeros((size_of(source),) * 2)
    for _ in range(5):
        slope = contrast(Q, source, *pair_of(source, 6), temperature=0.5, query="position", dtype=np.float64).gradient
        Q -= 50.0 * slope
    assert np.abs(Q).max() > 0.1
    assert_array_equal(Q[: source.patches], np.broadcast_to(Q[0], (source.patches, len(Q))))
    assert (Q[source.patches :] == 0.0).all()


def test_feature_rows_do_move_when_queries_see_their_patch() -> None:
    source = sampler(11)
    slope = contrast(weights(source), source, *pair_of(source, 6), temperature=0.5, query="full").gradient
    assert np.abs(slope[source.patches :]).max() > 1e-4


# --- the formulas for the two correlations ----------------------------------------------------------------------------------


def rates(Q: np.ndarray, source: Sampler, batch: Batch) -> np.ndarray:
    """alpha and beta of one image, patch by patch, bracket by bracket."""
    patches, areas = source.patches, source.areas
    area, shown, first = batch.area[0], batch.shown[0], patches + batch.cluster[0] * areas
    z = np.array([batch.strength[0][area == n][0] for n in range(areas)])
    moved = np.zeros_like(Q)
    for p in np.flatnonzero(~shown):
        logit = [Q[p, q] + (z[area[q]] * Q[p, first + area[q]] if shown[q] else 0.0) for q in range(patches)]
        s = np.exp(logit) / np.exp(logit).sum()
        a = np.array([s[(area == n) & shown].sum() for n in range(areas)])
        j = area[p]
        square = z**2 * a**2
        own = z[j] ** 2 * (1 - a[j]) ** 2 + square.sum() - square[j]
        bracket = [
            own
            if m == j
            else -(z[j] ** 2) * a[j] * (1 - a[j]) - z[m] ** 2 * a[m] * (1 - a[m]) + square.sum() - square[j] - square[m]
            for m in range(areas)
        ]
        hidden = -(z[j] ** 2) * a[j] * (1 - a[j]) + square.sum() - square[j]
        moved[p, first : first + areas] = z * a * bracket
        moved[p, :patches] = [s[q] * (bracket[area[q]] if shown[q] else hidden) for q in range(patches)]
    return moved


@pytest.mark.parametrize("seed", range(4))
def test_both_correlations_move_by_the_formulas_image_by_image(seed: int) -> None:
    source = sampler(seed)
    Q, batch = weights(source, seed), source.draw(1)
    moved = rates(Q, source, batch)
    assert_allclose(-reconstruction(Q, source, batch, np.float64).gradient, moved, atol=1e-14)
    assert_allclose(moved[:, : source.patches].sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.parametrize(("sizes", "leads"), [((196, 106, 9), True), ((196, 26, 10), False)])
def test_the_gap_is_which_of_two_areas_moves_first(sizes: tuple[int, int, int], leads: bool) -> None:
    """|alpha_G| over alpha_T at the start, averaged over masks: (1 - gamma) P^Delta, a third off at this size."""
    areas = Areas(*sizes)
    source = sampler(0, ImageModel(areas))
    slope = -reconstruction(np.zeros((size_of(source),) * 2), source, source.draw(400)).gradient
    local = np.flatnonzero(source.partition[0] > 0)
    features = slope[local, source.patches :]
    ratio = -features[:, 0].mean() / features[np.arange(len(local)), source.partition[0][local]].mean()
    assert ratio == pytest.approx(0.5 * sizes[0] ** areas.gap, rel=0.33)
    assert (ratio > 1.0) == leads


# --- attention --------------------------------------------------------------------------------------------------------------


def own_and_global(seen: np.ndarray, batch: Batch, queries: np.ndarray) -> tuple[float, float]:
    own, everywhere = [], []
    for i, area in enumerate(batch.area):
        for p in np.flatnonzero(queries[i] & (area > 0)):
            own.append(seen[i, p, (area == area[p]) & batch.shown[i]].sum())
            everywhere.append(seen[i, p, (area == 0) & batch.shown[i]].sum())
    return float(np.mean(own)), float(np.mean(everywhere))


def test_attention_beside_the_gradient_is_that_of_the_dense_network() -> None:
    source = sampler(12)
    Q, pair = weights(source), pair_of(source, 5)
    _, _, token = tokens(source, pair[0])
    found = reconstruction(Q, source, pair[0], np.float64)
    assert_allclose((found.own, found.glob), own_and_global(attend(token, Q, token), pair[0], ~pair[0].shown), rtol=1e-12)
    found = contrast(Q, source, *pair, temperature=0.5, query="full", dtype=np.float64)
    assert_allclose((found.own, found.glob), own_and_global(attend(token, Q, token), pair[0], pair[0].shown), rtol=1e-12)


@pytest.mark.parametrize("query", ["position", "full"])
@pytest.mark.parametrize("cluster", [0, 1])
def test_the_map_of_an_image_that_nothing_hides(query: str, cluster: int) -> None:
    """Every area of its mean strength."""
    source = sampler(13, ImageModel(Areas(12, 6, 3), clusters=2, latent=uniform(0.5, 2.1)))
    Q, area = weights(source), source.partition[[cluster]]
    batch = Batch(np.array([cluster]), area, np.full(area.shape, 1.3), np.ones(area.shape, dtype=bool))
    _, _, token = tokens(source, batch)
    queries = token if query == "full" else np.eye(source.patches, token.shape[-1])[None]
    seen = clean_attention(Q, source, cluster=cluster, query=query)
    assert_allclose(seen, attend(queries, Q, token)[0], atol=1e-14)
    assert_allclose(seen.sum(axis=1), 1.0, rtol=1e-12)


def test_scores_that_would_overflow_do_not() -> None:
    source = sampler(14)
    Q, pair = 5e3 * weights(source), pair_of(source, 4)
    found = [
        reconstruction(Q, source, pair[0]),
        *(contrast(Q, source, *pair, temperature=0.01, query=q) for q in ("full", "position")),
    ]
    assert all(np.isfinite(one.loss) and np.isfinite(one.gradient).all() for one in found)


def test_at_the_start_contrast_moves_as_the_reduced_flow_does() -> None:
    """Averaged over many batches; negatives as many as the other images, in mean counts, within what masks leave."""
    from dynamics.attention import Contrast

    model = ImageModel(Areas(60, 30, 6), clusters=4)
    source = sampler(15, model, shared_partition=True)
    Q = np.zeros((size_of(source),) * 2)
    slope = np.mean(
        [-contrast(Q, source, *pair_of(source, 32), temperature=0.5, query="position").gradient for _ in range(40)], axis=0
    )
    features = slope[0, source.patches :].reshape(model.clusters, source.areas).mean(axis=0)
    told = PositionFlow(model, Contrast(negatives=31))(0.0, np.zeros(4))
    assert features[0] == pytest.approx(told[0], rel=0.05)
    assert features[1:].mean() == pytest.approx(told[1], rel=0.25)
