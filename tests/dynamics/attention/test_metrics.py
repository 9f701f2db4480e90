"""Metrics of textbook maps, by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.attention import attention_metrics
from dynamics.attention.metrics import areas_of
from dynamics.errors import LindynError, ParameterError

FOUR = np.array([0, 0, 1, 1])


def blocks(area: np.ndarray) -> np.ndarray:
    """Every patch on its own area, evenly."""
    alike = (area[:, None] == area[None, :]).astype(float)
    return alike / alike.sum(axis=1, keepdims=True)


def test_an_even_map() -> None:
    """Two by two patches: 1 to each neighbour, root 2 across."""
    found = attention_metrics(np.full((4, 4), 0.25), FOUR)
    assert_allclose([found.local_to_own, found.local_to_global, found.global_to_global], 0.5)
    assert_allclose([found.diversity, found.information], 0.0, atol=1e-15)
    assert_allclose([found.distance, found.local_distance], (2.0 + math.sqrt(2.0)) / 4.0, rtol=1e-14)


def test_a_map_of_every_patch_on_itself() -> None:
    found = attention_metrics(np.eye(4), FOUR)
    assert (found.local_to_own, found.local_to_global, found.global_to_global) == (1.0, 0.0, 1.0)
    assert found.diversity == pytest.approx(1.0 - 0.5)
    assert found.information == pytest.approx(1.0)
    assert (found.distance, found.local_distance) == (0.0, 0.0)


def test_a_map_of_two_blocks() -> None:
    """Cosine of a row with the mean row 1/root 2, half of the information; distances half of one."""
    found = attention_metrics(blocks(FOUR), FOUR)
    assert (found.local_to_own, found.local_to_global) == (1.0, 0.0)
    assert found.diversity == pytest.approx(1.0 - math.sqrt(0.5))
    assert found.information == pytest.approx(0.5)
    assert_allclose([found.distance, found.local_distance], 0.5)


def test_a_map_of_all_patches_on_one() -> None:
    """All look at the first patch: from 0, 1, 1 and root 2."""
    rows = np.zeros((4, 4))
    rows[:, 0] = 1.0
    found = attention_metrics(rows, FOUR)
    assert (found.local_to_own, found.local_to_global, found.global_to_global) == (0.0, 1.0, 1.0)
    assert (found.diversity, found.information) == (0.0, 0.0)
    assert found.distance == pytest.approx((2.0 + math.sqrt(2.0)) / 4.0)
    assert found.local_distance == pytest.approx((1.0 + math.sqrt(2.0)) / 2.0)


def test_a_map_with_rows_that_differ() -> None:
    """Three queries, two of which agree, in fractions: (1/2, 1/2, 0) twice and (0, 0, 1)."""
    found = attention_metrics([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [0, 1, 2])
    assert found.local_to_own == pytest.approx((0.5 + 1.0) / 2.0)
    assert found.local_to_global == pytest.approx((0.5 + 0.0) / 2.0)
    assert found.global_to_global == pytest.approx(0.5)
    cosines = [(1 / 3) * math.sqrt(2) / math.sqrt(1 / 3), (1 / 3) / math.sqrt(1 / 3)]
    assert found.diversity == pytest.approx(
        1.0 - (2 * math.sqrt(1 / 3) * math.sqrt(0.5) * 1.0 * 1.0 + cosines[1]) / 3 + 0.0, abs=0.3
    )
    mean = np.array([1, 1, 1]) / 3
    exact = 1 - np.mean([0.5 * (mean[0] + mean[1]) / math.sqrt(0.5) / math.sqrt(1 / 3)] * 2 + [(1 / 3) / math.sqrt(1 / 3)])
    assert found.diversity == pytest.approx(exact, rel=1e-12)
    assert found.information == pytest.approx((math.log(3) - 2 / 3 * math.log(2)) / math.log(3))
    assert math.isnan(found.distance)


def test_information_is_over_the_root_of_both_entropies() -> None:
    """Keys not evenly looked at: rows (1, 0, 0, 0) thrice and (0, 1, 0, 0)."""
    rows = np.eye(4)[[0, 0, 0, 1]]
    keys = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert attention_metrics(rows).information == pytest.approx(keys / math.sqrt(keys * math.log(4)))


@pytest.mark.parametrize(("sizes", "diversity", "information"), [((100, 52, 6), 0.507, 0.367), ((100, 16, 6), 0.730, 0.577)])
def test_the_ideal_masked_autoencoder(sizes: tuple[int, int, int], diversity: float, information: float) -> None:
    """Each patch on its own area: 1 - sum (C/P)^(3/2), and 1 - sum (C/P) log C / log P."""
    area = areas_of(*sizes)
    share = np.bincount(area) / sizes[0]
    found = attention_metrics(blocks(area), area)
    assert found.diversity == pytest.approx(1.0 - (share**1.5).sum(), rel=1e-12)
    assert found.information == pytest.approx(1.0 - (share * np.log(share * sizes[0])).sum() / math.log(sizes[0]), rel=1e-12)
    assert found.diversity == pytest.approx(diversity, abs=6e-4)
    assert found.information == pytest.approx(information, abs=6e-4)
    assert (found.local_to_own, found.local_to_global) == (pytest.approx(1.0), 0.0)


@pytest.mark.parametrize(("sizes", "to_global", "distance"), [((100, 52, 6), 0.520, 5.19), ((100, 16, 6), 0.160, 5.06)])
def test_an_untrained_network(sizes: tuple[int, int, int], to_global: float, distance: float) -> None:
    found = attention_metrics(np.full((100, 100), 0.01), areas_of(*sizes))
    assert (found.local_to_own, found.local_to_global) == (pytest.approx(0.06), pytest.approx(to_global))
    assert found.local_distance == pytest.approx(distance, abs=6e-3)
    assert found.distance == pytest.approx(
        np.mean([math.dist(divmod(i, 10), divmod(j, 10)) for i in range(100) for j in range(100)])
    )


def test_what_needs_areas_is_nan_without_them() -> None:
    found = attention_metrics(np.eye(9))
    assert all(
        math.isnan(getattr(found, name)) for name in ("local_to_own", "local_to_global", "global_to_global", "local_distance")
    )
    assert found.distance == 0.0


def test_labels_of_areas_do_not_matter_but_for_the_global_one() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(9), size=9)
    area = np.array([0, 3, 3, 0, 1, 1, 2, 2, 0])
    assert attention_metrics(rows, area) == attention_metrics(rows, np.array([0, 1, 1, 0, 7, 7, 5, 5, 0]))


@pytest.mark.parametrize(
    ("rows", "area"),
    [
        (np.full((3, 2), 0.5), None),
        (np.full((3, 3), 0.3), None),
        (np.full(3, 1 / 3), None),
        ([[2.0, -1.0], [0.5, 0.5]], None),
        ([[math.nan, 1.0], [0.5, 0.5]], None),
        ([[math.inf, 1.0], [0.5, 0.5]], None),
        (np.eye(3), [0, 1]),
        (np.eye(3), [[0, 1, 1]]),
    ],
)
def test_what_is_no_map_is_refused(rows: object, area: object) -> None:
    with pytest.raises(ParameterError):
        attention_metrics(rows, area)  # type: ignore[arg-type]


@pytest.mark.parametrize("area", [[0.5, 0.5, 1.0], [0, -1, -1], [0, 1, math.nan]])
def test_what_is_no_area_is_refused(area: list[float]) -> None:
    with pytest.raises(ParameterError):
        attention_metrics(np.eye(3), area)


def test_equal_rows_have_no_less_than_nothing_in_common() -> None:
    for size in range(2, 60):
        found = attention_metrics(np.full((size, size), 1.0 / size))
        assert min(found.diversity, found.information) >= 0.0


def test_areas_as_runs_need_to_fill_the_patches() -> None:
    with pytest.raises(LindynError, match="whole areas"):
        areas_of(9, 4, 3)
