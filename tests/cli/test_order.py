import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.cli.running import COLUMNS, answered, exact_time, refused, rows, strict

THREE = ("order", "--lambda", "1,0.8,0.9", "--rho", "0.5,1.2,0.9")
PAIR = ("order", "--lambda", "0.8,1", "--rho", "1.2,0.6")


def test_ranks_follow_the_exact_times_under_each_objective() -> None:
    found = rows(*THREE)
    for objective in ("jepa", "mae"):
        mine = [row for row in found if row["objective"] == objective]
        times = {
            str(i): exact_time(objective, 2, 1, lam, rho, 0.01, 0.5)
            for i, (lam, rho) in enumerate([(1.0, 0.5), (0.8, 1.2), (0.9, 0.9)], start=1)
        }
        assert [row["feature"] for row in mine] == sorted(times, key=times.__getitem__)
        assert [row["rank"] for row in mine] == ["1", "2", "3"]
        assert [row["next"] for row in mine] == ["certified", "certified", "last"]


def test_columns_begin_with_those_of_the_critical_time() -> None:
    assert list(rows(*THREE)[0])[: len(COLUMNS)] == COLUMNS


def test_equal_features_tie_and_share_a_rank() -> None:
    found = rows("order", "--lambda", "1", "--rho", "0.5,0.5,0.5", "--objective", "jepa")
    assert [(row["rank"], row["next"]) for row in found] == [("1", "tie"), ("1", "tie"), ("1", "last")]


def test_neighbouring_doubles_are_told_apart() -> None:
    found = rows("order", "--lambda", "1,1.0000000000000002", "--rho", "0.5", "--objective", "jepa")
    assert [(row["feature"], row["rank"], row["next"]) for row in found] == [("2", "1", "certified"), ("1", "2", "last")]


def test_features_never_learned_come_last_and_tie() -> None:
    found = rows("order", "--lambda", "0,1,-1", "--sigma", "1", "--objective", "mae")
    assert [(row["feature"], row["rank"]) for row in found] == [("2", "1"), ("1", "2"), ("3", "2")]
    assert [row["next"] for row in found] == ["certified", "tie", "last"]


def test_the_elasticity_to_rho_is_the_slope_of_the_exact_time() -> None:
    for row in rows(*THREE, "--depth", "1,3"):
        question = (row["objective"], int(row["depth"]), 1)
        rho, lam = float(row["rho"]), float(row["lambda"])
        low, high = (float(exact_time(*question, lam, rho * factor, 0.01, 0.5)) for factor in (1 - 1e-5, 1 + 1e-5))
        slope = (np.log(high) - np.log(low)) / (np.log1p(1e-5) - np.log1p(-1e-5))
        assert_allclose(float(row["elasticity_rho"]), slope, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("depth", "low", "high"), [(3, -2.41, -1.23), (4, -3.07, -1.36), (8, -5.82, -2.16)])
def test_the_window_in_which_rho_wins_is_near_the_one_of_the_theory(depth: int, low: float, high: float) -> None:
    # The page's ends are within 0.04 of the crossings; that these are exact is the next test.
    found = rows(*PAIR, "--depth", depth, "--pair", "1", "2", "--objective", "jepa")
    assert_allclose(np.log10([float(row["crossing_epsilon"]) for row in found]), [low, high], atol=0.04)
    assert [row["first_below"] for row in found] == ["2", "1"]


@pytest.mark.parametrize("depth", [3, 5])
def test_at_a_crossing_both_features_take_the_same_time(depth: int) -> None:
    for row in rows(*PAIR, "--depth", depth, "--pair", "1", "2", "--objective", "jepa"):
        epsilon = float(row["crossing_epsilon"])
        first, second = (exact_time("jepa", depth, 1, lam, rho, epsilon, 0.5) for lam, rho in ((0.8, 1.2), (1.0, 0.6)))
        assert_allclose(float(first / second), 1.0, rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 2])
def test_where_nothing_crosses_the_table_is_empty_and_valid(depth: int) -> None:
    assert rows(*PAIR, "--depth", depth, "--pair", "1", "2") == []
    assert strict(answered(*PAIR, "--depth", depth, "--pair", "1", "2", "--format", "json").stdout) == []


def test_pairs_are_asked_for_by_name() -> None:
    table = "name,lambda,rho\nedge,0.8,1.2\ntexture,1,0.6\n"
    found = rows("order", "-", "--pair", "edge", "texture", "--depth", "3", "--objective", "jepa", stdin=table)
    assert [row["first_below"] for row in found] == ["texture", "edge"]


def test_agreement_is_one_where_the_orders_are_equal_and_minus_one_where_they_are_reversed() -> None:
    assert [float(row["kendall_tau"]) for row in rows("order", "--lambda", "1,2,3", "--rho", "0.5", "--agreement")] == [1.0]
    assert [float(row["kendall_tau"]) for row in rows(*PAIR, "--depth", "3", "--agreement")] == [-1.0]


def test_first_keeps_the_first_learned_under_each_objective() -> None:
    everything = rows(*THREE)
    kept = rows(*THREE, "--first", "2")
    assert kept == [row for row in everything if int(row["rank"]) <= 2]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--pair", "1", "9"], "--pair"),
        (["--pair", "1", "1"], "--pair"),
        (["--pair", "1"], "--pair"),
        (["--pair", "1", "2", "--agreement"], "--agreement"),
        (["--agreement", "--objective", "jepa"], "--objective"),
        (["--first", "0"], "--first"),
        (["--depth", "0"], "--depth"),
    ],
)
def test_a_wrong_question_is_refused_by_the_name_of_its_option(given: list[str], named: str) -> None:
    assert named in refused(*THREE, *given)
