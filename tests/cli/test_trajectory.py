import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.cli.running import COLUMNS, Row, answered, exact_time, jepa_time, refused, rows

ONE = ("trajectory", "--lambda", "1", "--rho", "0.5")
CURVE = [*COLUMNS, "time", "time_from_critical", "amplitude"]


def values(found: list[Row], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in found])


def test_shallow_mae_is_a_logistic_curve_in_the_squared_amplitude() -> None:
    found = rows(*ONE, "--objective", "mae", "--depth", "1", "--times", "0,1,2,4,8,16")
    time = values(found, "time")
    assert_allclose(time, [0, 1, 2, 4, 8, 16])
    expected = np.sqrt(0.5 / (1 + (0.5 / 1e-4 - 1) * np.exp(-2 * time)))
    assert_allclose(values(found, "amplitude"), expected, rtol=1e-13)


def test_without_covariance_jepa_decays_as_the_theory_writes_out() -> None:
    found = rows("trajectory", "--lambda", "0", "--sigma", "1.5", "--objective", "jepa", "--depth", "3", "--times", "0,10,1e6")
    expected = (1e4 + 2 * 3 * 1.5**2 * values(found, "time")) ** -0.5
    assert_allclose(values(found, "amplitude"), expected, rtol=1e-13)


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_the_curve_is_where_the_time_formula_says(objective: str) -> None:
    for row in rows(*ONE, "--objective", objective, "--depth", "1,2,3", "--points", "9"):
        share = float(row["amplitude"]) / float(row["asymptote"])
        if 0.05 < share < 0.99:
            expected = exact_time(objective, int(row["depth"]), 1, 1.0, 0.5, 0.01, share)
            assert_allclose(float(row["time"]), float(expected), rtol=1e-11, atol=1e-11)


def test_times_from_critical_resolve_what_time_cannot() -> None:
    found = rows(*ONE, "--objective", "jepa", "--epsilon", "1e-12", "--times=-1,0,1", "--from-critical")
    assert_allclose(values(found, "time_from_critical"), [-1, 0, 1])
    with mpmath.workdps(40):
        half = jepa_time(2, 1.0, 0.5, 1e-12, 0.5)
        since = [float(jepa_time(2, 1.0, 0.5, 1e-12, float(row["amplitude"]) / 0.25) - half) for row in found]
    assert_allclose(since, [-1, 0, 1], atol=1e-11)


def test_columns_are_those_of_the_critical_time_and_then_the_curve() -> None:
    assert list(rows(*ONE, "--points", "2")[0]) == CURVE


def test_points_are_points_a_curve_that_starts_at_the_start_and_rises() -> None:
    found = rows("trajectory", "--lambda", "1,0.5", "--rho", "0.5", "--points", "7", "--depth", "1,2")
    assert len(found) == 7 * 2 * 2 * 2
    for start in range(0, len(found), 7):
        curve = found[start : start + 7]
        assert float(curve[0]["time"]) == 0.0
        assert_allclose(float(curve[0]["amplitude"]), 0.01, rtol=1e-12)
        assert (np.diff(values(curve, "amplitude")) > 0).all()
        assert float(curve[-1]["amplitude"]) > 0.99 * float(curve[-1]["asymptote"])


def test_paper_time_multiplies_every_time_by_the_depth() -> None:
    for training, paper in zip(rows(*ONE, "--depth", "1,3"), rows(*ONE, "--depth", "1,3", "--time", "paper"), strict=True):
        assert training["amplitude"] == paper["amplitude"]
        for name in ("time", "time_from_critical", "critical_time"):
            assert_allclose(float(paper[name]), int(paper["depth"]) * float(training[name]), rtol=1e-15)


def test_given_times_are_in_the_unit_asked_for() -> None:
    (training,) = rows(*ONE, "--objective", "jepa", "--depth", "3", "--times", "100")
    (paper,) = rows(*ONE, "--objective", "jepa", "--depth", "3", "--times", "300", "--time", "paper")
    assert_allclose(float(paper["amplitude"]), float(training["amplitude"]), rtol=1e-14)


def test_repeated_times_are_joined() -> None:
    assert rows(*ONE, "--times", "0,5") == rows(*ONE, "--times", "0", "--times", "5")


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-100", "1e-300"])
def test_tiny_starts_raise_no_warning_and_no_negative_amplitude(epsilon: str) -> None:
    found = rows(*ONE, "--epsilon", epsilon, "--depth", "1,2,5", "--points", "5")
    assert (values(found, "amplitude") > 0).all()
    assert not np.isnan(values(found, "time_from_critical")).any()


def test_huge_times_end_at_the_asymptote() -> None:
    found = rows(*ONE, "--times", "1e300")
    assert_allclose(values(found, "amplitude"), values(found, "asymptote"), rtol=1e-15)


def test_a_start_above_the_asymptote_comes_down_to_it() -> None:
    found = rows("trajectory", "--lambda", "1", "--rho", "0.1", "--epsilon", "0.5", "--objective", "jepa", "--points", "5")
    assert {row["status"] for row in found} == {"already-reached"}
    assert (np.diff(values(found, "amplitude")) < 0).all()
    assert (values(found, "amplitude") >= values(found, "asymptote")).all()


def test_a_first_time_is_never_written_as_minus_zero() -> None:
    found = answered("trajectory", "--lambda", "1", "--rho", "0.1", "--epsilon", "0.5", "--points", "3", "--format", "csv")
    assert ",-0.0," not in found.stdout


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--times=-1"], "--times"),
        (["--times", "nan"], "--times"),
        (["--times", "inf"], "--times"),
        (["--times", "soon"], "--times"),
        (["--times=nan", "--from-critical"], "--times"),
        (["--points", "1"], "--points"),
        (["--points", "-4"], "--points"),
        (["--points", "2.5"], "--points"),
        (["--from-critical"], "--times"),
        (["--times", "1", "--points", "4"], "--points"),
        (["--epsilon", "0"], "--epsilon"),
    ],
)
def test_a_wrong_question_is_refused_by_the_name_of_its_option(given: list[str], named: str) -> None:
    assert named in refused(*ONE, *given)


def test_times_before_the_start_are_not_answered_as_if_they_existed() -> None:
    sentence = refused(*ONE, "--times=-1e6", "--from-critical")
    assert "--times" in sentence


def test_counting_from_a_critical_time_that_does_not_exist_is_refused() -> None:
    sentence = refused("trajectory", "--lambda=-1", "--sigma", "1", "--times", "0", "--from-critical")
    assert "never" in sentence
