"""The commands of the second system, as they are run."""

import csv
import io
import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cli.multiview import LOSSES as NAMES
from dynamics.multiview import LOSSES
from tests.cli.running import LINDYN, Row, answered, process, refused, rows, run, strict

THREE = ("--lambda", "1,0.8,0.5", "--rho", "0.9,0.8,0.5")
TIMES, ALIKE, VIEWS, TRAIN = (("multiview", name) for name in ("critical-time", "redundancy", "views", "simulate"))
GRAPH = "0.5,0.5,0,0\n0.3,0.3,0.4,0\n0,0,0.4,0.6\n"
VALUES = ["lambda", "rho", "sigma"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    np.save("x.npy", generator.normal(size=(400, 3)) * [3.0, 2.0, 1.0])
    np.save("y.npy", np.load("x.npy") + 0.5 * generator.normal(size=(400, 3)))
    np.save("graph.npy", [[0.5, 0.5, 0.0], [0.1, 0.4, 0.5]])
    Path("graph.csv").write_text(GRAPH)
    Path("features.csv").write_text("name,lambda,rho\nedge,1.0,0.5\ntexture,0.8,0.9\n")
    return tmp_path


def numbers(found: list[Row], column: str) -> list[float]:
    return [float(row[column]) for row in found]


def test_the_command_line_knows_every_loss_of_the_library_in_its_order() -> None:
    assert tuple(LOSSES) == NAMES


# --- critical times ---------------------------------------------------------------------------------------------------------


def test_half_times_of_barlow_twins() -> None:
    found = rows(*TIMES, *THREE, "--epsilon", "1e-6")
    gamma = np.array([1.0, 0.8, 0.5])
    assert_allclose(numbers(found, "critical_time"), np.log(1.0 / (gamma * 1e-12) - 1.0) / (8.0 * gamma), rtol=1e-12)


def test_the_staircase_of_two_weights() -> None:
    found = rows(*TIMES, *THREE, "--epsilon", "1e-12", "--beta", "0.1,1", "--width", "8")
    weak, strong = ([float(row["critical_time"]) for row in found if row["beta"] == beta] for beta in ("0.1", "1.0"))
    first, second, third = strong
    factor = 0.9 / (0.1 * 8)
    expected = [first, second + factor * (second - first), third + factor * (2 * third - first - second)]
    assert_allclose(weak, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "settings", "eigenvalue"),
    [
        ("barlow-twins", ["beta", "kernel"], "strength"),
        ("penalised", ["beta", "invariance"], "kappa"),
        ("spectral-contrastive", [], "strength"),
        ("byol", ["weight_decay"], "strength"),
        ("direct-copy", ["weight_decay"], "strength"),
        ("iso-loss", [], "strength"),
        ("two-layers", [], "strength"),
    ],
)
def test_columns_of_every_loss_are_in_the_order_of_the_other_commands(loss: str, settings: list[str], eigenvalue: str) -> None:
    found = rows(*TIMES, *THREE, "--loss", loss, "--epsilon", "0.3")
    assert list(found[0]) == [
        *("feature", "loss", "width", *settings, "epsilon", "fraction", *VALUES),
        *(eigenvalue, "asymptote", "threshold", "critical_time", "log10_critical_time", "accuracy", "status"),
    ]
    assert {row["loss"] for row in found} == {loss}
    assert len(found) == 3


def test_every_combination_of_settings_is_computed_once() -> None:
    axes = ("--width", "4,8,4", "--beta", "0.1,0.1,1", "--kernel", "view-mean", "--views", "2,3")
    found = rows(*TIMES, *THREE, *axes, "--epsilon", "1e-6,1e-3", "--fraction", "0.5,0.9")
    keys = [tuple(row[name] for name in ("feature", "width", "beta", "views", "epsilon", "fraction")) for row in found]
    assert len(keys) == len(set(keys)) == 3 * 2**5


@pytest.mark.parametrize("option", ["--epsilon", "--fraction"])
def test_repeated_values_count_once(option: str) -> None:
    assert len(rows(*TIMES, *THREE, option, "0.01,0.01")) == 3


def test_infinities_are_strings_in_strict_json() -> None:
    found = strict(answered(*TIMES, "--lambda=1,-0.5,0", "--sigma", "1", "--format", "json").stdout)
    assert [row["status"] for row in found] == ["reached", "never", "never"]
    assert [row["critical_time"] for row in found[1:]] == ["inf", "inf"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_tables_are_features_again(ending: str, here: Path) -> None:
    answered(*TIMES, *THREE, "--output", f"table.{ending}")
    assert_allclose(numbers(rows(*TIMES, f"table.{ending}"), "lambda"), [1.0, 0.8, 0.5])
    assert_allclose(numbers(rows("critical-time", f"table.{ending}", "--objective", "mae"), "rho"), [0.9, 0.8, 0.5])


@pytest.mark.parametrize(
    "command",
    [(*ALIKE, "--width", "8", "--beta", "0.1"), (*ALIKE, "--loss", "normalised"), (*ALIKE, "--loss", "penalised"), TRAIN],
    ids=" ".join,
)
def test_tables_of_the_other_commands_are_features_again(command: tuple[str, ...], here: Path) -> None:
    Path("table.csv").write_text(answered(*command, *THREE, "--format", "csv").stdout)
    assert_allclose(numbers(rows(*TIMES, "table.csv"), "lambda"), [1.0, 0.8, 0.5])


def test_names_of_features_stand_in_the_table(here: Path) -> None:
    assert [row["feature"] for row in rows(*TIMES, "features.csv")] == ["edge", "texture"]


def test_what_the_statuses_mean_is_told() -> None:
    told = answered(*TIMES, "--lambda", "1,0.8", "--rho", "0.5", "--loss", "byol", "--weight-decay", "0.5", "--epsilon", "0.1")
    assert "collapses: " in told.stderr
    assert "beyond-width: " in answered(*TIMES, *THREE, "--width", "2").stderr
    assert "already-reached: " in answered(*TIMES, *THREE, "--epsilon", "3").stderr


def test_ties_room_and_leading_logarithms_are_told_on_standard_error() -> None:
    told = answered(*TIMES, "--lambda", "1,0.5,0.5", "--rho", "0.5", "--beta", "0.1", "--width", "8").stderr
    assert "Tied in strength: 2, 3." in told
    assert "Width 8 exceeds the 3 modes" in told
    assert "leading logarithms" in told
    quiet = answered(*TIMES, *THREE, "--width", "3").stderr
    assert not any(word in quiet for word in ("Tied", "exceeds", "leading logarithms"))


def test_few_views_that_reverse_the_order_are_told() -> None:
    noisy = ("--lambda", "1,0.3", "--sigma", f"{math.sqrt(1.2)},{math.sqrt(4.3)}", "--kernel", "view-mean")
    assert "2 before 1 below m = 5.43" in answered(*TIMES, *noisy, "--views", "4,8").stderr
    found = rows(*TIMES, *noisy, "--views", "4,8")
    times = {(row["views"], row["feature"]): float(row["critical_time"]) for row in found}
    assert times["4", "2"] < times["4", "1"]
    assert times["8", "2"] > times["8", "1"]


def test_a_teacher_stands_in_the_table_and_delays() -> None:
    plain, taught = (
        rows(*TIMES, *THREE, "--loss", "byol", "--epsilon", "0.1", *how) for how in ((), ("--teacher-rate", "0.1"))
    )
    assert taught[0]["teacher_rate"] == "0.1"
    assert all(float(late["critical_time"]) > float(early["critical_time"]) for early, late in zip(plain, taught, strict=True))


# --- graphs and data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["barlow-twins", "spectral-contrastive", "penalised"])
def test_a_graph_is_read_as_a_table_and_as_an_array(loss: str, here: Path) -> None:
    for name in ("graph.csv", "graph.npy"):
        table = np.load(name) if name.endswith("npy") else np.loadtxt(name, delimiter=",")
        joint = table.T @ table / len(table)
        occurs = table.mean(axis=0)
        rho = np.sort(np.linalg.eigvalsh(joint / np.sqrt(np.outer(occurs, occurs))))[::-1]
        assert_allclose(numbers(rows(*TIMES, name, "--graph", "--loss", loss), "rho"), rho, atol=1e-12)


def test_a_graph_comes_from_standard_input(here: Path) -> None:
    assert rows(*TIMES, "--graph", "-", stdin=GRAPH) == rows(*TIMES, "--graph", "graph.csv")


@pytest.mark.parametrize("command", [TIMES, (*ALIKE, "--beta", "0.1"), (*TRAIN, "--until", "5")], ids=" ".join)
def test_a_graph_serves_every_command_that_learns(command: tuple[str, ...], here: Path) -> None:
    assert len(rows(*command, "--graph", "graph.csv")) == 4


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("graph.csv", "--lambda", "1"), "--lambda"),
        (("graph.csv", "--rho", "1"), "--rho"),
        (("graph.csv", "--sigma", "1"), "--sigma"),
        (("graph.npy", "--mask", "0.5"), "--mask"),
        (("graph.npy", "--lag", "1"), "--lag"),
        (("graph.npy", "--standardise"), "--standardise"),
        (("graph.npy", "--target", "independent"), "--target"),
        (("graph.csv", "y.npy"), "y"),
        ((), "SOURCE"),
        (("none.csv",), "none.csv"),
    ],
    ids=" ".join,
)
def test_a_graph_goes_with_nothing_else(given: tuple[str, ...], named: str, here: Path) -> None:
    assert named in refused(*TIMES, "--graph", *given)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("0.5,0.4\n0.5,0.5\n", "sums to 0.9 in row 1"),
        ("0.5,0.5\n1.5,-0.5\n", "-0.5 in row 2, column 2"),
        ("0.5,nan\n0.5,0.5\n", "nan"),
        ("0.5,0.5,0\n1,0,0\n", "column 3"),
        ("0.5,0.5\n0.5\n", "row 2"),
        ("", "graph"),
    ],
    ids=["sum", "negative", "nan", "unseen", "ragged", "empty"],
)
def test_a_table_that_is_no_graph_is_one_sentence(table: str, said: str, here: Path) -> None:
    Path("graph.csv").write_text(table)
    assert said in refused(*TIMES, "--graph", "graph.csv")


def test_a_column_of_words_in_a_graph_can_be_left_out(here: Path) -> None:
    Path("named.csv").write_text("image,a,b\ncat,0.7,0.3\ndog,0.2,0.8\n")
    assert "--columns" in refused(*TIMES, "--graph", "named.csv")
    assert len(rows(*TIMES, "--graph", "named.csv", "--columns", "a,b")) == 2


@pytest.mark.parametrize("command", [TIMES, (*TRAIN, "--until", "1")], ids=" ".join)
def test_the_table_of_a_graph_does_not_replace_it(command: tuple[str, ...], here: Path) -> None:
    result = run(*command, "--graph", "graph.csv", "--output", "./graph.csv")
    assert Path("graph.csv").read_text() == GRAPH
    assert result.exit_code == 2


def test_masked_data_are_features_of_two_masks(here: Path) -> None:
    """Half of the entries of each view: the covariance of two is a quarter of the variance, that of one a half."""
    found = rows(*TIMES, "x.npy", "--mask", "0.5", "--target", "independent")
    variance = (np.load("x.npy") ** 2).mean(axis=0)
    assert_allclose(numbers(found, "lambda"), variance / 4.0, rtol=0.15)
    assert_allclose(numbers(found, "rho"), 0.5, rtol=0.05)


@pytest.mark.parametrize("source", [("x.npy", "y.npy"), ("x.npy", "--mask", "0.5", "--target", "independent")], ids=" ".join)
@pytest.mark.parametrize("command", [(*ALIKE, "--beta", "0.1"), TRAIN], ids=" ".join)
def test_data_serve_every_command(command: tuple[str, ...], source: tuple[str, ...], here: Path) -> None:
    assert len(rows(*command, *source)) == 3


# --- redundancy -------------------------------------------------------------------------------------------------------------


def test_plateaus_are_tight_frames_one_after_the_other() -> None:
    found = rows(*ALIKE, *THREE, "--width", "8", "--beta", "0.05")
    assert list(found[0]) == [
        *("feature", "loss", "width", "beta", "kernel", "epsilon", *VALUES, "strength", "critical_time", "next_time"),
        *("effective_rank", "redundancy", "feature_variance", "mode_energy", "growth", "plateau_loss", "status"),
    ]
    for r, row in enumerate(found, start=1):
        scale = 0.05 * 8 + 0.95 * r
        expected = [r, (8 - r) / (r * 7), r / scale, 8 / scale, 0.4 / scale, 0.4 * (8 - r) / scale]
        columns = ("effective_rank", "redundancy", "feature_variance", "mode_energy", "growth", "plateau_loss")
        assert_allclose([float(row[name]) for name in columns], expected, rtol=1e-12)
    assert numbers(found, "next_time") == [*numbers(found, "critical_time")[1:], math.inf]
    assert_allclose(
        numbers(found, "critical_time"), numbers(rows(*TIMES, *THREE, "--width", "8", "--beta", "0.05"), "critical_time")
    )


def test_at_full_orthogonality_how_alike_outputs_are_is_up_to_the_start() -> None:
    found = rows(*ALIKE, *THREE, "--width", "3", "--beta", "1")
    assert [row["redundancy"] for row in found] == ["", "", "0.0"]
    assert [row["growth"] for row in found] == ["1.0"] * 3


def test_normalised_outputs_stand_at_the_water_level() -> None:
    """Kappa .1, .2, .5 and beta d = .1: two modes, S = (level - kappa) / (2 beta), level (.2 + .3) / 2."""
    found = rows(*ALIKE, *THREE, "--loss", "normalised", "--width", "4", "--beta", "0.025")
    assert_allclose(numbers(found, "kappa"), [0.1, 0.2, 0.5], rtol=1e-12)
    assert_allclose(numbers(found, "mode_energy"), [3.0, 1.0, 0.0], atol=1e-9)
    assert_allclose(numbers(found, "activation_beta"), [0.0, 0.05 / 4, 0.35 / 4], atol=1e-12)
    assert_allclose(numbers(found, "effective_rank"), 16.0 / 10.0, rtol=1e-9)
    assert_allclose(numbers(found, "redundancy"), (10.0 - 4.0) / 12.0, rtol=1e-9)
    assert [row["status"] for row in found] == ["reached", "reached", "never"]


def test_a_small_projector_at_a_larger_beta_loses_nothing_and_is_told_so() -> None:
    told = answered(*ALIKE, *THREE, "--loss", "normalised", "--width", "64", "--beta", "0.01").stderr
    assert "beta d is 0.64, which fills 3 of 3 modes" in told
    assert "a width of 3 would lose nothing at beta 0.213" in told
    assert "stable for beta below 0.000781" in told


def test_penalised_modes_live_from_half_of_kappa_on() -> None:
    found = rows(*ALIKE, *THREE, "--loss", "penalised", "--beta", "0.12")
    assert_allclose(numbers(found, "mode_energy"), [1 - 0.1 / 0.24, 1 - 0.2 / 0.24, 0.0], rtol=1e-9)
    assert_allclose(numbers(found, "activation_beta"), [0.05, 0.1, 0.25], rtol=1e-12)
    assert [row["status"] for row in found] == ["reached", "reached", "never"]


def test_features_of_which_none_is_learned_have_no_plateau() -> None:
    found = rows(*ALIKE, "--lambda=-1,-0.5", "--sigma", "1", "--beta", "0.1")
    assert [row["status"] for row in found] == ["never", "never"]


def test_the_constant_of_a_graph_is_left_out_of_the_threshold_whatever_its_rounding(here: Path) -> None:
    for seed in range(6):
        table = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), size=4)
        np.save("graph.npy", table)
        rho = sorted(numbers(rows(*TIMES, "--graph", "graph.npy"), "rho"))[::-1]
        first, second = rho[1:3]
        threshold = (1 - first) * (first - second) / (first * (3 * first + second))
        told = answered(*ALIKE, "--graph", "graph.npy", "--loss", "normalised", "--width", "4", "--beta", "0.1").stderr
        assert f"alike for beta below {threshold:.3g}" in told


# --- views ------------------------------------------------------------------------------------------------------------------

RHO = ("--lambda", "0.9,0.8,0.7,0.55,0.4,0.3,0.2,0.1", "--sigma", "1", "--width", "3")


def test_the_best_number_of_views_of_a_budget_is_least_in_the_table_and_told() -> None:
    result = answered(*VIEWS, *RHO, "--budget", "8000", "--views", "2,3,4,5,8,16,32", "--format", "csv")
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["images"] for row in found] == ["4000", "2666", "2000", "1600", "1000", "500", "250"]
    errors = dict(zip([int(row["views"]) for row in found], numbers(found, "error"), strict=True))
    assert min(errors, key=errors.__getitem__) == 4
    assert errors[32] / errors[4] == pytest.approx(3.35, abs=0.01)
    assert "3.506" in result.stderr
    parts = [sum(float(row[f"{name}_part"]) for name in ("images", "views", "pairs")) for row in found]
    assert_allclose(parts, numbers(found, "error"), rtol=1e-12)


def test_columns_of_views_come_in_order_and_samples_beside_them() -> None:
    plain = ["width", "images", "views", "samples", "images_part", "views_part", "pairs_part", "error"]
    assert list(rows(*VIEWS, *RHO, "--images", "1000")[0]) == plain
    drawn = rows(*VIEWS, *RHO, "--images", "2000", "--views", "4", "--replicates", "100")
    assert list(drawn[0]) == [*plain, "simulated_error", "simulated_error_se", "ratio"]
    assert float(drawn[0]["ratio"]) == pytest.approx(1.0, abs=0.15)


def test_samples_are_those_of_their_seed() -> None:
    how = (*VIEWS, *RHO, "--images", "500", "--views", "4", "--replicates", "5")
    assert rows(*how, "--seed", "3") == rows(*how, "--seed", "3") != rows(*how, "--seed", "4")


def test_negative_rho_and_errors_beyond_the_first_order_are_told() -> None:
    told = answered(*VIEWS, "--lambda=0.9,0.5,-0.2", "--sigma", "1", "--images", "20", "--views", "2").stderr
    assert "Negative rho (3)" in told
    assert "beyond the first order" in answered(*VIEWS, "--lambda", "0.9,0.89", "--sigma", "1", "--images", "20").stderr


def test_no_error_of_many_views_is_negative() -> None:
    result = run(*VIEWS, "--lambda=0.9,-0.5", "--sigma", "1", "--images", "1000", "--views", "2,64", "--format", "csv")
    assert result.exit_code == 2 or min(numbers(list(csv.DictReader(io.StringIO(result.stdout))), "error")) >= 0.0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((*RHO,), "--images"),
        ((*RHO, "--images", "3", "--views", "4"), "--images"),
        ((*RHO, "--images", "0"), "--images"),
        ((*RHO, "--images", "100", "--views", "1"), "--views"),
        ((*RHO, "--images", "100", "--seed", "1"), "--replicates"),
        ((*RHO, "--images", "100", "--replicates", "1"), "replicates"),
        ((*RHO[:-1], "0", "--images", "100"), "--width"),
        ((*RHO[:-1], "8", "--images", "100"), "--width"),
        (("--lambda", "0.9,0.8,0.8", "--sigma", "1", "--width", "2", "--images", "100"), "--width"),
        (("--lambda=0.9,-0.1,-0.2", "--sigma", "1", "--width", "2", "--images", "100"), "--width"),
        (("--lambda", "0.9", "--sigma", "1", "--images", "100"), "--rho"),
        (("--lambda", "1.2,0.5", "--sigma", "1", "--images", "100"), "--rho"),
        ((*RHO, "--images", "100", "--graph"), "--graph"),
    ],
    ids=lambda value: " ".join(value[-4:]) if isinstance(value, tuple) else "",
)
def test_a_wrong_question_of_views_is_one_sentence(given: tuple[str, ...], named: str) -> None:
    assert named in refused(*VIEWS, *given)


@pytest.mark.parametrize(
    ("given", "named"), [(("--images", "100", "--replicates", "1"), "--replicates"), (("--budget", "0"), "--budget")]
)
def test_a_refusal_names_the_option_that_was_given(given: tuple[str, ...], named: str) -> None:
    assert refused(*VIEWS, *RHO, *given).startswith(named)


# --- simulation -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "how"),
    [
        ("barlow-twins", ("--epsilon", "1e-3")),
        ("penalised", ("--beta", "0.6")),
        ("spectral-contrastive", ()),
        ("byol", ("--epsilon", "0.2", "--weight-decay", "0.01")),
        ("byol", ("--epsilon", "0.2", "--teacher-rate", "0.5")),
        ("direct-copy", ("--epsilon", "0.4", "--weight-decay", "0.01")),
        ("iso-loss", ()),
        ("two-layers", ()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_from_an_orthogonal_start_matrices_learn_when_the_law_says(loss: str, how: tuple[str, ...]) -> None:
    for row in rows(*TRAIN, *THREE, "--loss", loss, *how, "--start", "orthogonal", "--width", "4"):
        assert_allclose(float(row["ratio"]), 1.0, rtol=1e-7)
        assert row["status"] == row["simulated_status"] == "reached"


def test_columns_of_a_simulation_come_in_order() -> None:
    found = rows(*TRAIN, *THREE, "--beta", "0.5", "--learning-rate", "0.01")
    assert list(found[0]) == [
        *("feature", "loss", "width", "beta", "kernel", "start", "epsilon", "fraction", "seed", "learning_rate"),
        *(*VALUES, "asymptote", "threshold", "final_size", "critical_time", "simulated_time", "ratio"),
        *("effective_rank", "redundancy", "status", "simulated_status"),
    ]


def test_images_that_are_drawn_are_trained_on_what_they_say() -> None:
    """Many images say what is true; few mix the modes, by another sample for every seed."""
    how = (*TRAIN, *THREE, "--width", "4", "--views", "3", "--until", "8")
    exact = numbers(rows(*TRAIN, *THREE, "--width", "4", "--until", "8"), "simulated_time")
    many, few, other = (rows(*how, "--images", n, "--seed", seed) for n, seed in (("1000000", "0"), ("50", "0"), ("50", "1")))
    assert_allclose(numbers(many, "simulated_time"), exact, rtol=0.01)
    assert (many[0]["images"], many[0]["views"]) == ("1000000", "3")
    assert numbers(few, "simulated_time") != numbers(other, "simulated_time")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((*THREE, "--images", "2"), "--images"),
        (("graph.csv", "--graph", "--images", "100"), "features only"),
        (("x.npy", "y.npy", "--images", "100"), "features only"),
        ((*THREE, "--images", "100", "--views", "1"), "--views"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_images_that_cannot_be_drawn_are_refused(given: tuple[str, ...], named: str, here: Path) -> None:
    assert named in refused(*TRAIN, *given)


def test_output_keeps_the_curves_and_the_summary_goes_to_standard_output(here: Path) -> None:
    result = answered(*TRAIN, *THREE, "--points", "20", "--output", "curves.csv", "--format", "json")
    assert len(strict(result.stdout)) == 3
    curves = list(csv.DictReader(Path("curves.csv").read_text().splitlines()))
    assert len(curves) == 60
    assert {"feature", "loss", "seed", "time", "size", "effective_rank", "redundancy", "loss_value"} <= set(curves[0])
    assert "60 rows written to curves.csv" in result.stderr


def test_runs_have_seeds_from_the_first_on() -> None:
    found = rows(*TRAIN, *THREE, "--runs", "2", "--seed", "5")
    assert [row["seed"] for row in found] == ["5"] * 3 + ["6"] * 3
    assert rows(*TRAIN, *THREE, "--seed", "6") == found[3:]


def test_a_run_that_diverges_says_so_and_exits_with_one() -> None:
    result = run(*TRAIN, *THREE, "--learning-rate", "5", "--until", "100", "--format", "csv")
    assert result.exit_code == 1
    assert "diverged; lower --learning-rate" in result.stderr
    assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 3


def test_normalised_outputs_have_no_predicted_time() -> None:
    found = rows(*TRAIN, *THREE, "--loss", "normalised", "--beta", "0.01", "--width", "8", "--until", "60")
    assert {row["status"] for row in found} == {"not-predicted"}
    assert_allclose(sum(numbers(found, "final_size")), 8.0)


def test_a_start_that_is_not_used_is_refused() -> None:
    assert "--epsilon" in refused(*TRAIN, *THREE, "--loss", "normalised", "--epsilon", "0.1", "--until", "1")


def test_a_start_that_is_too_small_is_told_as_it_was_given() -> None:
    assert "1e-200" in refused(*TRAIN, *THREE, "--epsilon", "1e-200")


def test_a_staircase_begins_from_a_small_start() -> None:
    large = ("--lambda", "1,0.5", "--rho", "0.5", "--beta", "0.1", "--epsilon", "0.9")
    assert "--epsilon" in refused(*TIMES, *large)
    assert "--until" in refused(*TRAIN, *large)
    assert {row["status"] for row in rows(*TRAIN, *large, "--until", "5")} == {"not-predicted"}


# --- wrong use --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((*TIMES, "--loss", "byol", "--beta", "0.5"), "--beta"),
        ((*TIMES, "--loss", "byol", "--kernel", "whitened"), "--kernel"),
        ((*TIMES, "--loss", "byol", "--invariance", "pairs"), "--invariance"),
        ((*TIMES, "--loss", "spectral-contrastive", "--views", "3"), "--views"),
        ((*TIMES, "--weight-decay", "0.1"), "--weight-decay"),
        ((*TIMES, "--loss", "direct-copy", "--teacher-rate", "0.1"), "--teacher-rate"),
        ((*TIMES, "--loss", "penalised", "--kernel", "whitened"), "--kernel"),
        ((*TIMES, "--invariance", "views"), "--invariance"),
        ((*TIMES, "--views", "3"), "--kernel view-mean"),
        ((*TIMES, "--kernel", "whitened", "--views", "3"), "--kernel view-mean"),
        ((*TIMES, "--loss", "penalised", "--views", "3"), "--invariance views"),
        ((*ALIKE, "--loss", "normalised", "--epsilon", "0.1"), "--epsilon"),
        ((*ALIKE, "--loss", "byol"), "byol"),
        ((*TIMES, "--loss", "normalised"), "normalised"),
        ((*TIMES, "--beta", "2"), "--beta"),
        ((*ALIKE, "--beta", "2"), "--beta"),
        ((*TRAIN, "--beta", "2"), "--until"),
        ((*TRAIN, "--loss", "penalised", "--beta", "0.01"), "--until"),
        ((*TIMES, "--beta", "0"), "--beta"),
        ((*TIMES, "--beta", "nan"), "--beta"),
        ((*TIMES, "--width", "0"), "--width"),
        ((*TIMES, "--width", "2.5"), "--width"),
        ((*TIMES, "--epsilon", "0"), "--epsilon"),
        ((*TIMES, "--epsilon", "1e-200"), "--epsilon"),
        ((*TIMES, "--fraction", "1"), "--fraction"),
        ((*TIMES, "--kernel", "view-mean", "--views", "1"), "--views"),
        ((*TIMES, "--loss", "byol", "--weight-decay", "-1"), "--weight-decay"),
        ((*TIMES, "--loss", "byol", "--teacher-rate", "0"), "--teacher-rate"),
        ((*TRAIN, "--learning-rate", "0"), "--learning-rate"),
        ((*TRAIN, "--learning-rate", "1e-12"), "learning rate"),
        ((*TRAIN, "--until", "-1"), "--until"),
        ((*TRAIN, "--points", "1"), "--points"),
        ((*TRAIN, "--output", "nowhere/curves.csv"), "nowhere"),
        ((*TRAIN, "--output", "curves.jpg"), "--output"),
        ((*TIMES, "--output", "nowhere/times.csv"), "nowhere"),
        ((*TIMES, "--mask", "0.5"), "SOURCE"),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_sentence(given: tuple[str, ...], named: str, here: Path) -> None:
    assert named in refused(*given, *THREE)


@pytest.mark.parametrize("kernel", [("--kernel", "whitened"), ("--kernel", "view-mean"), ("--loss", "spectral-contrastive")])
def test_a_rho_beyond_one_is_refused_by_losses_that_see_one_view(kernel: tuple[str, str]) -> None:
    assert "--rho is 1.2" in refused(*TIMES, "--lambda", "1,0.8", "--rho", "0.5,1.2", *kernel)


def test_what_is_read_is_not_replaced(here: Path) -> None:
    assert "features.csv" in refused(*TIMES, "features.csv", "--output", "./features.csv")


def test_a_file_of_data_needs_views(here: Path) -> None:
    assert "--mask" in refused(*TIMES, "x.npy")


@pytest.mark.parametrize("command", [TIMES, ALIKE, TRAIN], ids=" ".join)
def test_nothing_to_learn_is_asked_for(command: tuple[str, ...]) -> None:
    assert "--lambda" in refused(*command)


# --- as a process -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        (*TIMES, *THREE, "--beta", "0.1", "--format", "json"),
        (*ALIKE, *THREE, "--loss", "normalised", "--beta", "0.01", "--format", "json"),
        (*VIEWS, *RHO, "--images", "500", "--replicates", "5", "--format", "json"),
        (*TRAIN, *THREE, "--loss", "byol", "--epsilon", "0.2", "--teacher-rate", "0.3", "--format", "json"),
    ],
    ids=lambda value: " ".join(value[:2]),
)
def test_commands_of_their_own_process_warn_of_nothing(args: tuple[str, ...]) -> None:
    done = process(*args, PYTHONDEVMODE="1")
    assert done.returncode == 0, done.stderr
    assert b"Warning" not in done.stderr
    assert strict(done.stdout.decode())


def test_the_same_command_gives_the_same_bytes() -> None:
    one, two = (process(*TRAIN, *THREE, "--seed", "2", "--width", "3", "--format", "csv").stdout for _ in range(2))
    assert one == two != b""


def test_exit_codes_are_those_of_every_command() -> None:
    assert process(*TIMES, *THREE, "--beta", "2").returncode == 2
    assert process(*TRAIN, *THREE, "--learning-rate", "5", "--until", "100").returncode == 1


def test_a_closed_output_is_silent_or_one_sentence() -> None:
    command = " ".join([str(LINDYN), *TIMES, *THREE, "--format", "csv"])
    piped = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} --beta 0.1,0.2,0.5 2>/dev/null | head -c 1"],
        capture_output=True,
        check=False,
    )
    assert piped.stdout == b"f"
    closed = subprocess.run(["bash", "-c", f"{command} >&-"], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (1, "Error: Standard output is closed; add --output FILE.\n")


def test_the_group_without_a_command_shows_its_help() -> None:
    done = process("multiview")
    assert done.returncode in {0, 2}
    assert b"critical-time" in done.stdout + done.stderr


def test_an_unknown_command_of_the_group_is_refused_with_the_nearest_one() -> None:
    assert "critical-time" in refused("multiview", "crtical-time")


def test_json_of_every_command_is_read_by_the_standard_parser() -> None:
    for args in ((*TIMES, "--lambda=1,-1", "--sigma", "1"), (*ALIKE, *THREE, "--beta", "1"), (*VIEWS, *RHO, "--images", "100")):
        assert json.loads(answered(*args, "--format", "json").stdout)
