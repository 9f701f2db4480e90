import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, ParameterError, critical_times, jepa
from dynamics.feature_basis import diagonalise
from dynamics.grid import Grid
from dynamics.reports.critical_time import critical_time_table
from dynamics.reports.features import features_table_with_errors
from dynamics.reports.order import OrderReport, crossing_table
from dynamics.reports.trajectory import trajectory_table
from dynamics.views import masked, second_moments

STANDARD = [
    "feature",
    "objective",
    "depth",
    "predictor_depth",
    "epsilon",
    "fraction",
    "lambda",
    "rho",
    "sigma",
    "asymptote",
    "critical_time",
    "log10_critical_time",
    "status",
]
PAIR = Features(lam=[0.8, 1.0], rho=[1.2, 0.6], names=["texture", "edge"])


def test_the_columns_are_the_standard_ones_in_order() -> None:
    assert list(critical_time_table(PAIR, Grid()).columns) == STANDARD
    everything = critical_time_table(PAIR, Grid(), learning_rate=0.1, digits=20, time="paper")
    assert list(everything.columns) == [*STANDARD, "steps", "critical_time_lower", "critical_time_upper", "time_convention"]


def test_the_grid_is_every_combination_once() -> None:
    grid = Grid(("jepa", "mae"), (1, 2, 3), (1, 2), (1e-2, 1e-3), (0.1, 0.5, 0.9))
    table = critical_time_table(PAIR, grid).to_dataframe()
    keys = ["feature", "objective", "depth", "predictor_depth", "epsilon", "fraction"]
    assert len(table) == 2 * 2 * 3 * 2 * 2 * 3
    assert not table.duplicated(keys).any()


def test_paper_time_is_the_depth_times_training_time_and_steps_do_not_change() -> None:
    grid = Grid(("jepa",), (3,))
    training, paper = (critical_time_table(PAIR, grid, time=time, learning_rate=0.01).columns for time in ("training", "paper"))
    assert_allclose(paper["critical_time"], 3 * training["critical_time"], rtol=1e-15)
    assert_allclose(10 ** paper["log10_critical_time"], paper["critical_time"], rtol=1e-13)
    assert_array_equal(paper["steps"], training["steps"])
    assert_allclose(training["steps"], training["critical_time"] / 0.01, rtol=1e-15)


def test_certified_bounds_follow_the_time_convention() -> None:
    table = critical_time_table(PAIR, Grid(("mae",), (4,)), time="paper", digits=30).columns
    for time, lower, upper in zip(
        table["critical_time"], table["critical_time_lower"], table["critical_time_upper"], strict=True
    ):
        assert float(lower) * (1 - 1e-13) <= time <= float(upper) * (1 + 1e-13)
        assert lower[:30] == upper[:30]


def test_curves_in_paper_time_are_the_same_curves() -> None:
    grid = Grid(("jepa",), (3,))
    training = trajectory_table(PAIR, grid, times=[0.0, 10.0, 700.0]).columns
    paper = trajectory_table(PAIR, grid, times=[0.0, 30.0, 2100.0], time="paper").columns
    assert_allclose(paper["amplitude"], training["amplitude"], rtol=1e-12)
    assert_allclose(paper["time_from_critical"], 3 * training["time_from_critical"], rtol=1e-12)


def test_the_first_learned_comes_first_under_each_objective() -> None:
    table = OrderReport(PAIR, Grid(depths=(3,))).ranks().columns
    assert table["feature"].tolist() == ["texture", "edge", "edge", "texture"]
    assert table["rank"].tolist() == [1, 2, 1, 2]
    assert table["next"].tolist() == ["certified", "last", "certified", "last"]
    assert OrderReport(PAIR, Grid(depths=(3,))).ranks(first=1).columns["feature"].tolist() == ["texture", "edge"]


def test_agreement_is_minus_one_where_jepa_and_mae_disagree_about_the_only_pair() -> None:
    table = OrderReport(PAIR, Grid(depths=(1, 3))).agreement().columns
    assert table["kendall_tau"] == pytest.approx([1.0, -1.0])
    with pytest.raises(ParameterError, match="two different ones"):
        OrderReport(PAIR, Grid(("jepa",))).agreement()


def test_a_crossing_says_who_is_first_below_it() -> None:
    table = crossing_table(PAIR, Grid(("jepa", "mae"), (1, 3)), "texture", "edge").columns
    assert table["depth"] == [3, 3]
    assert table["first_below"] == ["edge", "texture"]
    for epsilon in table["crossing_epsilon"]:
        times = critical_times(jepa(3), PAIR, epsilon=epsilon).time
        assert times[0] == pytest.approx(times[1], rel=1e-12)


def test_who_is_first_below_a_crossing_is_certified_where_doubles_cannot_tell() -> None:
    """JEPA, L = 1: as epsilon tends to 0 the larger lambda is first, if only by one ulp; near its threshold the smaller w*."""
    near = Features(lam=[np.nextafter(1.0, 2.0), 1.0], rho=[0.5, 1.0], names=["covarying", "clean"])
    table = crossing_table(near, Grid(("jepa",), (1,)), "covarying", "clean").columns
    assert table["first_below"] == ["covarying", "clean"]
    assert 1e-19 < table["crossing_epsilon"][0] < 1e-16


def test_an_unknown_feature_of_a_pair_is_named() -> None:
    with pytest.raises(ParameterError, match="pair is wing; it must be the name of a feature: texture, edge"):
        crossing_table(PAIR, Grid(), "texture", "wing")


def test_bootstrap_ranks_need_a_single_setting() -> None:
    views = masked(np.random.default_rng(0).normal(size=(30, 3)), keep=0.5)
    basis = diagonalise(second_moments(views))
    table = features_table_with_errors(views, basis, Grid(epsilons=(1e-6,)), replicates=20, seed=1)
    assert list(table.columns)[5:] == ["lambda_se", "rho_se", "rank_jepa", "rank_jepa_se", "rank_mae", "rank_mae_se"]
    with pytest.raises(ParameterError, match="given once"):
        features_table_with_errors(views, basis, Grid(depths=(1, 2)), replicates=20, seed=1)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.inf, np.nan])
def test_a_learning_rate_that_makes_no_steps_is_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="a positive finite number"):
        critical_time_table(PAIR, Grid(), learning_rate=rate)
