import csv
import itertools
from decimal import Context, Decimal

import pytest
from numpy.testing import assert_allclose

from tests.cli.running import COLUMNS, answered, decimal, exact_time, jepa_time, mae_time, process, refused, rows

ONE = ("critical-time", "--lambda", "1", "--rho", "0.5")


def rounded(number: str | Decimal) -> Decimal:
    """To the thirty digits of which the written-out truth is sure."""
    return Context(prec=30).create_decimal(number)


def shared_digits(lower: str, upper: str) -> int:
    """How many significant digits two decimal strings have in common from the front."""
    one, two = Decimal(lower), Decimal(upper)
    assert one.adjusted() == two.adjusted()
    digits = ["".join(map(str, number.as_tuple().digits)) for number in (one, two)]
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*digits, strict=False)))


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("lam", "rho"), [("1.0", "0.5"), ("0.3", "1.7")])
def test_jepa_takes_the_time_the_theory_writes_out(depth: int, lam: str, rho: str) -> None:
    (row,) = rows("critical-time", "--lambda", lam, "--rho", rho, "--objective", "jepa", "--depth", depth, "--epsilon", "1e-4")
    expected = jepa_time(depth, float(lam), float(rho), 1e-4, 0.5)
    assert_allclose(float(row["critical_time"]), float(expected), rtol=1e-13)


@pytest.mark.parametrize(("lam", "rho", "epsilon", "fraction"), [("1", "0.5", "1e-3", "0.5"), ("2.5", "1.25", "1e-8", "0.99")])
def test_shallow_mae_takes_the_logarithm_the_theory_writes_out(lam: str, rho: str, epsilon: str, fraction: str) -> None:
    setting = ("--epsilon", epsilon, "--fraction", fraction, "--depth", "1", "--objective", "mae")
    (row,) = rows("critical-time", "--lambda", lam, "--rho", rho, *setting)
    expected = mae_time(float(lam), float(rho), float(epsilon), float(fraction))
    assert_allclose(float(row["critical_time"]), float(expected), rtol=1e-13)


@pytest.mark.parametrize("fraction", ["1e-6", "0.5", "0.99", "0.999999999"])
def test_mae_of_every_depth_takes_the_hypergeometric_time(fraction: str) -> None:
    depths = ",".join(map(str, range(1, 21)))
    found = rows(*ONE, "--objective", "mae", "--epsilon", "1e-9", "--fraction", fraction, "--depth", depths)
    expected = [float(exact_time("mae", depth, 1, 1.0, 0.5, 1e-9, float(fraction))) for depth in range(1, 21)]
    assert_allclose([float(row["critical_time"]) for row in found], expected, rtol=1e-12)


@pytest.mark.parametrize("objective", ["jepa", "mae"])
@pytest.mark.parametrize("predictor_depth", [1, 2, 3, 5])
def test_deeper_predictors_follow_the_same_formula(objective: str, predictor_depth: int) -> None:
    setting = ("--objective", objective, "--predictor-depth", predictor_depth, "--depth", "1,2,4")
    found = rows("critical-time", "--lambda", "0.7", "--rho", "0.9", *setting)
    expected = [float(exact_time(objective, depth, predictor_depth, 0.7, 0.9, 0.01, 0.5)) for depth in (1, 2, 4)]
    assert_allclose([float(row["critical_time"]) for row in found], expected, rtol=1e-12)


@pytest.mark.parametrize(("objective", "power"), [("jepa", 2.0), ("mae", 2.0 / 3.0)])
def test_the_asymptote_is_a_power_of_rho(objective: str, power: float) -> None:
    (row,) = rows(*ONE, "--objective", objective)
    assert_allclose(float(row["asymptote"]), 0.5**power, rtol=1e-15)


def test_columns_come_in_the_promised_order() -> None:
    assert list(rows(*ONE)[0]) == COLUMNS


def test_steps_are_time_over_the_learning_rate() -> None:
    for row in rows(*ONE, "--learning-rate", "0.1"):
        assert list(row) == [*COLUMNS, "steps"]
        assert_allclose(float(row["steps"]), float(row["critical_time"]) / 0.1, rtol=1e-15)


def test_steps_do_not_depend_on_the_unit_of_time() -> None:
    training, paper = (rows(*ONE, "--learning-rate", "0.1", "--depth", "3", "--time", unit) for unit in ("training", "paper"))
    assert [row["steps"] for row in training] == [row["steps"] for row in paper]


def test_paper_time_is_the_depth_times_training_time() -> None:
    grid = ("--depth", "1,2,3,7", "--predictor-depth", "1,2")
    for training, paper in zip(rows(*ONE, *grid), rows(*ONE, *grid, "--time", "paper"), strict=True):
        assert_allclose(float(paper["critical_time"]), int(paper["depth"]) * float(training["critical_time"]), rtol=1e-15)
        assert_allclose(10 ** float(paper["log10_critical_time"]), float(paper["critical_time"]), rtol=1e-13)


@pytest.mark.parametrize("digits", [1, 5, 17, 50, 200])
def test_certified_bounds_enclose_the_truth_and_share_the_digits_asked_for(digits: int) -> None:
    for row in rows("critical-time", "--lambda", "1,0.3", "--rho", "0.5", "--depth", "1,2", "--digits", digits):
        assert list(row) == [*COLUMNS, "critical_time_lower", "critical_time_upper"]
        lower, upper = row["critical_time_lower"], row["critical_time_upper"]
        assert shared_digits(lower, upper) >= digits
        truth = decimal(exact_time(row["objective"], int(row["depth"]), 1, float(row["lambda"]), 0.5, 0.01, 0.5))
        assert rounded(lower) <= rounded(truth) <= rounded(upper)


def test_certified_bounds_hold_where_a_double_overflows() -> None:
    (row,) = rows(*ONE, "--objective", "jepa", "--epsilon", "1e-300", "--digits", "20")
    assert row["critical_time"] == "inf"
    assert row["status"] == "reached"
    truth = decimal(jepa_time(2, 1.0, 0.5, 1e-300, 0.5))
    assert Decimal(row["critical_time_lower"]) <= truth <= Decimal(row["critical_time_upper"])
    assert_allclose(float(row["log10_critical_time"]), float(truth.log10()), rtol=1e-15)


def test_certified_bounds_are_in_the_unit_of_time_asked_for() -> None:
    (row,) = rows(*ONE, "--objective", "mae", "--depth", "3", "--time", "paper", "--digits", "25")
    truth = decimal(exact_time("mae", 3, 1, 1.0, 0.5, 0.01, 0.5, scale=3))
    assert rounded(row["critical_time_lower"]) <= rounded(truth) <= rounded(row["critical_time_upper"])


def test_bounds_of_features_without_a_finite_time_are_that_time() -> None:
    never, already = rows("critical-time", "--lambda=-1,1", "--sigma", "1,10", "--objective", "jepa", "--digits", "5")
    assert (never["status"], never["critical_time_lower"], never["critical_time_upper"]) == ("never", "inf", "inf")
    assert already["status"] == "already-reached"
    assert Decimal(already["critical_time_lower"]) == Decimal(already["critical_time_upper"]) == 0


def test_every_combination_of_the_repeatable_options_is_computed_once() -> None:
    grid = {
        "objective": ["jepa", "mae"],
        "depth": ["1", "2", "3"],
        "predictor_depth": ["1", "2"],
        "epsilon": ["0.01", "0.001"],
        "fraction": ["0.1", "0.5", "0.9"],
        "lambda": ["1.0", "0.5"],
    }
    options = [(f"--{name.replace('_', '-')}", values) for name, values in grid.items() if name != "lambda"]
    repeated = [part for option, values in options for value in values for part in (option, value)]
    found = rows("critical-time", "--lambda", "1,0.5", "--rho", "0.8", *repeated)
    seen = [tuple(row[name] for name in grid) for row in found]
    assert len(seen) == len(set(seen))
    assert set(seen) == set(itertools.product(*grid.values()))


def test_commas_and_repetition_mean_the_same() -> None:
    joined = answered("critical-time", "--lambda", "1,0.5", "--rho", "0.8,0.9", "--depth", "1,2", "--format", "csv")
    apart = ("--lambda", "1", "--lambda", "0.5", "--rho", "0.8", "--rho", "0.9", "--depth", "1", "--depth", "2")
    assert joined.stdout == answered("critical-time", *apart, "--format", "csv").stdout


def test_repeated_values_pair_up_in_order_and_a_single_one_serves_all() -> None:
    paired = rows("critical-time", "--lambda", "1,2,3", "--rho", "0.5,0.6,0.7", "--objective", "jepa")
    assert [(row["lambda"], row["rho"]) for row in paired] == [("1.0", "0.5"), ("2.0", "0.6"), ("3.0", "0.7")]
    served = rows("critical-time", "--lambda", "1,2,3", "--rho", "0.5", "--objective", "jepa")
    assert [(row["lambda"], row["rho"]) for row in served] == [("1.0", "0.5"), ("2.0", "0.5"), ("3.0", "0.5")]


def test_any_two_of_lambda_rho_and_sigma_give_the_third() -> None:
    for given in (
        ("--lambda", "0.5", "--rho", "0.125"),
        ("--lambda", "0.5", "--sigma", "2"),
        ("--rho", "0.125", "--sigma", "2"),
    ):
        for row in rows("critical-time", *given):
            assert_allclose([float(row[name]) for name in ("lambda", "rho", "sigma")], [0.5, 0.125, 2.0], rtol=1e-15)


def test_three_thresholds_in_one_run_are_found_in_increasing_order() -> None:
    for objective in ("jepa", "mae"):
        found = rows(*ONE, "--objective", objective, "--fraction", "0.1,0.5,0.9")
        times = [float(row["critical_time"]) for row in found]
        assert times == sorted(times)
        assert_allclose(times, [float(exact_time(objective, 2, 1, 1.0, 0.5, 0.01, p)) for p in (0.1, 0.5, 0.9)], rtol=1e-12)


def test_features_without_positive_covariance_are_never_learned() -> None:
    result = answered("critical-time", "--lambda=-1,0", "--sigma", "1")
    assert result.stdout.count("never") == 4
    assert "lambda <= 0" in result.stderr
    for row in rows("critical-time", "--lambda=-1,0", "--sigma", "1"):
        assert (row["critical_time"], row["log10_critical_time"], row["status"]) == ("inf", "inf", "never")


def test_a_start_beyond_the_threshold_is_learned_at_time_zero() -> None:
    result = answered(
        "critical-time", "--lambda", "1", "--rho", "0.1", "--depth", "4", "--objective", "jepa", "--format", "csv"
    )
    assert ",0.0,-inf,already-reached" in result.stdout
    assert "epsilon" in result.stderr


def test_elasticities_follow_the_bracket_of_the_theory() -> None:
    (row,) = rows(*ONE, "--objective", "jepa", "--depth", "1", "--elasticities")
    x0, fixed = 0.01 / 0.5, 0.5
    integral = float(row["critical_time"]) * fixed  # I = t lambda u*^(a-1), a = 2
    bracket = 1.0 - 2.0 + (1.0 / x0) / ((1.0 - x0) * integral)
    assert_allclose(float(row["elasticity_lambda"]), -1.0, rtol=1e-15)
    assert_allclose(float(row["elasticity_rho"]), bracket, rtol=1e-10)


def test_the_dominant_term_is_blind_to_rho_and_the_expansion_close() -> None:
    found = rows(
        "critical-time", "--lambda", "2", "--rho", "0.5,0.9", "--objective", "jepa", "--epsilon", "1e-8", "--expansion"
    )
    dominant = 1.0 / (3.0 * 2.0 * 1e-8 ** (3.0 / 2.0))
    for row in found:
        assert_allclose(float(row["dominant_time"]), dominant, rtol=1e-13)
        assert_allclose(float(row["expansion_time"]), float(row["critical_time"]), rtol=1e-9)


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_integrating_the_mode_equation_gives_the_closed_form(objective: str) -> None:
    setting = ("--objective", objective, "--depth", "1,2,3", "--epsilon", "1e-2,1e-12")
    for exact, scipy in zip(rows(*ONE, *setting), rows(*ONE, *setting, "--method", "scipy"), strict=True):
        assert_allclose(float(scipy["critical_time"]), float(exact["critical_time"]), rtol=1e-8)


def test_absurd_parameters_end_with_a_value_or_a_status() -> None:
    extremes = ("--rho", "1e-6,10", "--depth", "64", "--epsilon", "1e-300", "--predictor-depth", "1,8")
    for row in rows("critical-time", "--lambda", "1", *extremes):
        assert row["status"] in {"reached", "already-reached"}
        assert row["log10_critical_time"] not in {"nan", ""}


@pytest.mark.parametrize("rho", ["0.5", "1.5"])
def test_a_network_of_a_hundred_thousand_layers_raises_no_warning(rho: str) -> None:
    for row in rows("critical-time", "--lambda", "1", "--rho", rho, "--depth", "100000"):
        assert row["status"] in {"reached", "already-reached"}


def test_an_impossible_depth_ends_at_once() -> None:
    done = process("critical-time", "--lambda", "1", "--rho", "1.5", "--depth", 10**12, timeout=5.0)
    assert done.returncode in {0, 2}
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("rho", ["1e308", "1e-308"])
def test_extreme_features_raise_no_warning(rho: str) -> None:
    assert len(rows("critical-time", "--lambda", "1e-3", "--rho", rho)) == 2


WRONG = [
    ("--epsilon", "0"), ("--epsilon", "-1"), ("--epsilon", "nan"), ("--epsilon", "inf"), ("--epsilon", "small"),
    ("--epsilon", ""), ("--epsilon", "0.1,,0.2"), ("--epsilon", "0.1,0"), ("--fraction", "0"), ("--fraction", "1"),
    ("--fraction", "1.5"), ("--fraction", "-0.5"), ("--fraction", "nan"), ("--fraction", "0.5,1"), ("--depth", "0"),
    ("--depth", "-1"), ("--depth", "1.5"), ("--depth", "nan"), ("--depth", "two"), ("--predictor-depth", "0"),
    ("--predictor-depth", "-3"), ("--predictor-depth", "0.5"), ("--learning-rate", "0"), ("--learning-rate", "-1"),
    ("--learning-rate", "nan"), ("--learning-rate", "inf"), ("--learning-rate", "fast"), ("--digits", "0"), ("--digits", "-5"),
    ("--digits", "1.5"), ("--digits", "99999999"), ("--objective", "supervised"), ("--time", "wall"), ("--format", "xml"),
    ("--method", "guess"), ("--unknown", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(option: str, value: str) -> None:
    assert option in refused(*ONE, f"{option}={value}")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--lambda", "nan", "--rho", "1"], "--lambda"),
        (["--lambda", "1", "--rho", "inf"], "--rho"),
        (["--lambda", "1", "--sigma", "0"], "--sigma"),
        (["--lambda", "1", "--sigma=-1"], "--sigma"),
        (["--lambda", "1", "--rho=-1"], "--rho"),
        (["--lambda", "one", "--rho", "1"], "--lambda"),
        (["--lambda", "1,2,3", "--rho", "1,2"], "--rho"),
        (["--lambda", "1"], "--rho"),
        (["--sigma", "1"], "--lambda"),
        ([], "--lambda"),
    ],
)
def test_a_wrong_feature_is_refused_by_the_name_of_its_option(given: list[str], named: str) -> None:
    assert named in refused("critical-time", *given)


def test_three_that_disagree_are_refused_with_the_distance() -> None:
    sentence = refused("critical-time", "--lambda", "1", "--rho", "0.5", "--sigma", "1")
    assert "lambda = rho sigma^2" in sentence
    assert "0.5" in sentence


def test_which_of_many_values_is_wrong_is_said() -> None:
    assert "row 3" in refused("critical-time", "--lambda", "1,2,nan", "--rho", "1")


def test_a_teacher_that_follows_at_once_changes_nothing_and_a_slow_one_delays() -> None:
    question = ("critical-time", "--lambda", "1,0.8", "--rho", "0.5,1.2", "--objective", "jepa", "--depth", "1,2")
    plain, fast, slow = (rows(*question, *how) for how in ((), ("--teacher-rate", "1e9"), ("--teacher-rate", "0.01")))
    for without, quick, late in zip(plain, fast, slow, strict=True):
        assert_allclose(float(quick["critical_time"]), float(without["critical_time"]), rtol=1e-7)
        assert float(late["critical_time"]) > 1.2 * float(without["critical_time"])
        assert (late["teacher_rate"], late["status"]) == ("0.01", "reached")


def test_a_balanced_start_given_as_such_is_the_plain_one() -> None:
    row, plain = (rows(*ONE, "--objective", "jepa", *how)[0] for how in (("--predictor-start", "0.1"), ()))
    assert row.pop("predictor_start") == "0.1"
    assert_allclose([float(row["critical_time"]), float(row["asymptote"])], [float(plain["critical_time"]), 0.25], rtol=1e-12)


def test_what_collapses_is_told_with_the_remedy() -> None:
    result = answered("critical-time", "--lambda", "1", "--rho", "0.5,1.2", "--objective", "jepa", "--predictor-start", "0.9")
    assert "collapses: The feature is lost" in result.stderr
    assert "predictor_start 0.9" in result.stdout


def test_what_is_not_predicted_has_an_empty_cell_and_a_way_out() -> None:
    question = ("critical-time", "--lambda", "0.34", "--rho", "0.3", "--objective", "mae", "--depth", "1", "--epsilon", "0.008")
    result = answered(
        *question, "--predictor-start=-0.09", "--weight-decay", "1e-4", "--learning-rate", "0.1", "--format", "csv"
    )
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert (row["critical_time"], row["log10_critical_time"], row["steps"], row["status"]) == ("", "", "", "not-predicted")
    assert "lindyn simulate" in result.stderr


@pytest.mark.parametrize("unused", ["--digits=30", "--elasticities", "--expansion", "--method=exact"])
def test_what_needs_the_closed_form_is_refused_without_it(unused: str) -> None:
    assert unused.partition("=")[0] in refused(*ONE, "--teacher-rate", "1", unused)
