"""The commands of the third system, as they are run."""

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.attention import Areas, Contrast, ImageModel, attention_metrics, collapse, least_loss, phases
from tests.cli.running import answered, process, refused, rows, run, strict

PHASES, TRAIN, METRICS = (("attention", name) for name in ("phases", "simulate", "metrics"))
SIZES = ("--patches", "36", "--global-size", "16", "--local-size", "5")
TINY = ("--patches", "12", "--global-size", "6", "--local-size", "3", "--steps", "6", "--batch", "4")
MODEL = "patches,global_size,local_size,kappa_c,kappa_s,gap,masked,clusters,latent_low,latent_high".split(",")
SEEN = "local_to_own,local_to_global,global_to_global,diversity,information,distance,local_distance".split(",")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    even = np.full((9, 9), 1.0 / 9.0)
    np.save("even.npy", even)
    np.save("own.npy", np.kron(np.eye(3), np.full((3, 3), 1.0 / 3.0)))
    np.save("wide.npy", np.full((9, 8), 1.0 / 8.0))
    np.save("more.npy", 2.0 * even)
    np.save("hole.npy", np.where(np.eye(9), np.nan, even))
    np.save("under.npy", even + np.eye(9) - np.roll(np.eye(9), 1, axis=0))
    np.savetxt("areas.csv", np.repeat([0, 1, 2], 3), fmt="%d")
    np.savetxt("short.csv", np.repeat([0, 1], 4), fmt="%d")
    np.savetxt("half.csv", np.full(9, 0.5))
    return tmp_path


# --- phases -----------------------------------------------------------------------------------------------------------------


def test_phases_of_one_size() -> None:
    (found,) = rows(*PHASES, *SIZES)
    model = ImageModel(Areas(36, 16, 5))
    expected = phases(model)
    assert list(found) == [
        *MODEL,
        *("counts", "initial_ratio", "leader", "onset", "first_phase", "second_phase", "settled", "phi_T", "phi_G"),
        *("second_leading", "phi_G_leading", "exponent", "exponent_limit", "least_loss"),
        *("collapse_position", "collapse_full", "critical_weight_decay"),
    ]
    assert (found["counts"], found["leader"], found["clusters"]) == ("exact", expected.leader, "1")
    told = [float(found[name]) for name in ("onset", "first_phase", "second_phase", "settled", "phi_T", "phi_G", "least_loss")]
    events = [event.time for event in (expected.onset, expected.first, expected.second, expected.settled)]
    assert_allclose(told, [*events, *expected.second.state[:2], least_loss(model)], rtol=1e-12)
    assert float(found["second_leading"]) == pytest.approx(36 / 5 * 4)
    assert float(found["exponent_limit"]) == pytest.approx(1 - math.log(5) / math.log(36))
    assert [found[name] for name in ("collapse_position", "collapse_full", "critical_weight_decay")] == ["", "", ""]


def test_several_sizes_are_combined_each_once() -> None:
    found = rows(*PHASES, "--patches", "36", "--global-size", "16,6,16", "--local-size", "5,10")
    assert [(row["global_size"], row["local_size"]) for row in found] == [
        (one, other) for one in ("16.0", "6.0") for other in ("5.0", "10.0")
    ]


def test_exponents_in_place_of_sizes() -> None:
    asked = ("--patches", "1e12", "--kappa-c", "0.9", "--kappa-s", "0.4", "--no-positions")
    result = answered(*PHASES, *asked, "--format", "csv")
    (found,) = csv.DictReader(io.StringIO(result.stdout))
    assert "asymptotic exponent" not in result.stderr
    assert (found["counts"], found["leader"]) == ("mean", "global")
    assert_allclose([float(found["kappa_c"]), float(found["gap"]), float(found["exponent_limit"])], [0.9, 0.4, 0.6])
    assert abs(float(found["exponent"]) - 0.6) < 0.02
    assert float(found["phi_G"]) == pytest.approx(float(found["phi_G_leading"]), rel=0.01)


def test_a_laptop_size_is_said_to_be_one() -> None:
    told = answered(*PHASES, *SIZES).stderr
    assert "does not grow with its asymptotic exponent 1 - kappa_s yet (P = 36: 0." in told
    assert "add --clusters" in told
    assert "half" in told


def test_strict_json_has_infinities_as_strings_and_null_for_what_is_not_known() -> None:
    (found,) = strict(answered(*PHASES, *SIZES, "--clusters", "4", "--weight-decay", "1", "--format", "json").stdout)
    assert (found["collapse_position"], found["collapse_full"]) == ("inf", "inf")
    (found,) = strict(answered(*PHASES, *SIZES, "--format", "json").stdout)
    assert (found["collapse_position"], found["clusters"]) == (None, 1)


def test_collapse_is_that_of_the_reduced_flows() -> None:
    (found,) = rows(*PHASES, *SIZES, "--clusters", "4", "--temperature", "0.4", "--weight-decay", "1e-5")
    model, told = ImageModel(Areas(36, 16, 5), clusters=4), Contrast(0.4, None, 1e-5)
    for query in ("position", "full"):
        assert float(found[f"collapse_{query}"]) == pytest.approx(collapse(model, told, query=query).time, rel=1e-12)
    assert float(found["critical_weight_decay"]) == pytest.approx(2 * math.e * 0.75 * (0.5 * 16 / 36) ** 2 / (4 * 36))


def test_counts_can_be_chosen() -> None:
    one, other = (rows(*PHASES, *SIZES, "--counts", counts)[0] for counts in ("exact", "mean"))
    assert one["second_phase"] != other["second_phase"]
    assert rows(*PHASES, "--patches", "36", "--global-size", "16", "--local-size", "6")[0]["counts"] == "mean"
    assert "do not fill" in refused(*PHASES, "--patches", "36", "--global-size", "16", "--local-size", "6", "--counts", "exact")


def test_the_phases_that_are_kept_are_those_that_are_shown(here: Path) -> None:
    answered(*PHASES, *SIZES, "--output", "phases.csv")
    assert Path("phases.csv").read_text() == answered(*PHASES, *SIZES, "--format", "csv").stdout


# --- training ---------------------------------------------------------------------------------------------------------------


def test_a_run_is_told_in_one_row() -> None:
    found = rows(*TRAIN, *TINY)
    told = [
        "steps",
        "batch",
        "learning_rate",
        "optimiser",
        "seed",
        "predicted_half",
        "simulated_half",
        "ratio",
        "rms_phi_T",
        "rms_phi_G",
    ]
    assert list(found[0]) == ["objective", *MODEL, *told, *SEEN, "final_loss"]
    assert [found[0][name] for name in ("objective", "steps", "batch", "seed")] == ["mae", "6", "4", "0"]
    assert found == rows(*TRAIN, *TINY)
    assert found != rows(*TRAIN, *TINY, "--seed", "1")


def test_contrast_tells_what_queries_see() -> None:
    found = rows(*TRAIN, *TINY, "--objective", "cl", "--clusters", "2", "--query", "position", "--temperature", "0.3")
    assert list(found[0])[:2] == ["objective", "query"]
    assert [found[0][name] for name in ("query", "rms_phi_T")] == ["position", ""]
    model = ImageModel(Areas(12, 6, 3), clusters=2)
    assert float(found[0]["predicted_half"]) == pytest.approx(collapse(model, Contrast(0.3, negatives=3)).time, rel=1e-12)


def test_several_sizes_are_trained_one_after_the_other(here: Path) -> None:
    answered(*TRAIN, *TINY, "--global-size", "3,6", "--looks", "3", "--output", "curves.csv")
    curves = list(csv.DictReader(io.StringIO(Path("curves.csv").read_text())))
    assert len(curves) == 4 + 4


def test_curves_of_several_sizes_can_be_told_apart(here: Path) -> None:
    answered(*TRAIN, *TINY, "--global-size", "3,6", "--looks", "3", "--output", "curves.csv")
    curves = list(csv.DictReader(io.StringIO(Path("curves.csv").read_text())))
    assert {row["global_size"] for row in curves} == {"3.0", "6.0"}


def test_curves_and_the_map_are_kept(here: Path) -> None:
    result = answered(*TRAIN, *TINY, "--looks", "3", "--output", "curves.csv", "--attention", "map.npy", "--format", "csv")
    (summary,) = csv.DictReader(io.StringIO(result.stdout))
    curves = list(csv.DictReader(io.StringIO(Path("curves.csv").read_text())))
    assert list(
        curves[0]
    ) == "objective,patches,global_size,local_size,time,phi_T,phi_G,phi_G_sd,phi_O,own,glob,diversity,loss".split(",")
    assert len(curves) == 4
    assert float(curves[-1]["time"]) == pytest.approx(6 * float(summary["learning_rate"]))
    assert curves[-1]["loss"] == summary["final_loss"]
    assert "map.npy" in result.stderr
    seen = np.load("map.npy")
    assert seen.shape == (12, 12)
    (again,) = rows(*METRICS, "map.npy", "--global-size", "6", "--local-size", "3")
    assert {name: again[name] for name in SEEN} == {name: summary[name] for name in SEEN}


def test_a_map_is_of_one_size(here: Path) -> None:
    assert "one size" in refused(*TRAIN, *TINY, "--global-size", "3,6", "--attention", "map.npy")


def test_momentum_and_adam_run() -> None:
    assert rows(*TRAIN, *TINY, "--optimiser", "momentum", "--momentum", "0.5")[0]["optimiser"] == "momentum"
    assert rows(*TRAIN, *TINY, "--optimiser", "adam", "--learning-rate", "0.1")[0]["predicted_half"] == ""
    assert "--learning-rate" in refused(*TRAIN, *TINY, "--optimiser", "adam")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--query", "position"), "--query"),
        (("--temperature", "0.5"), "--temperature"),
        (("--weight-decay", "0"), "--weight-decay"),
        (("--momentum", "0.9"), "--momentum"),
        (("--optimiser", "adam", "--learning-rate", "1", "--momentum", "0.9"), "--momentum"),
    ],
)
def test_options_that_have_no_use_are_refused(options: tuple[str, ...], word: str) -> None:
    assert f"{word} is not used by" in refused(*TRAIN, *TINY, *options)


def test_a_run_that_diverges_ends_with_one() -> None:
    result = run(*TRAIN, *TINY, "--objective", "cl", "--clusters", "2", "--learning-rate", "1e30")
    assert (result.exit_code, "diverged" in result.stderr) == (1, True)


def test_a_masked_autoencoder_that_diverges_ends_with_one() -> None:
    result = run(*TRAIN, *TINY, "--learning-rate", "1e30")
    assert (result.exit_code, "diverged" in result.stderr) == (1, True)


def test_no_progress_is_shown_where_nobody_watches() -> None:
    assert "Training" not in answered(*TRAIN, *TINY).stderr


def test_the_installed_command_runs_without_a_warning() -> None:
    done = process(*TRAIN, *TINY, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert strict(done.stdout.decode())[0]["objective"] == "mae"


# --- metrics ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("areas", [("--areas", "areas.csv"), ("--global-size", "3", "--local-size", "3")])
def test_metrics_of_a_map(here: Path, areas: tuple[str, ...]) -> None:
    (found,) = rows(*METRICS, "own.npy", *areas)
    assert list(found) == SEEN
    assert_allclose([float(found[name]) for name in SEEN[:5]], [1.0, 0.0, 1.0, 1.0 - math.sqrt(1 / 3), 0.5], atol=1e-12)
    assert_allclose([float(found[name]) for name in SEEN[5:]], [8 / 9, 8 / 9], rtol=1e-12)


def test_areas_are_read_in_the_order_of_patches(here: Path) -> None:
    np.save("first.npy", np.eye(9)[[0] * 9])
    np.savetxt("areas.csv", [0] * 6 + [1] * 3, fmt="%d")
    (found,) = rows(*METRICS, "first.npy", "--areas", "areas.csv")
    assert [float(found[name]) for name in SEEN[:3]] == [0.0, 1.0, 1.0]


def test_metrics_without_areas_leave_cells_empty(here: Path) -> None:
    (found,) = rows(*METRICS, "even.npy")
    assert [found[name] for name in ("local_to_own", "local_to_global", "global_to_global", "local_distance")] == [""] * 4
    (found,) = strict(answered(*METRICS, "even.npy", "--format", "json").stdout)
    assert found["local_to_own"] is None
    assert found["distance"] == pytest.approx(attention_metrics(np.full((9, 9), 1 / 9)).distance)


def test_maps_can_be_tables_and_standard_input(here: Path) -> None:
    np.savetxt("own.csv", np.load("own.npy"), delimiter=",")
    expected = rows(*METRICS, "own.npy")
    assert rows(*METRICS, "own.csv") == expected
    assert rows(*METRICS, "-", stdin=Path("own.npy").read_bytes()) == expected


# --- what is refused --------------------------------------------------------------------------------------------------------

SIZED = ("--global-size", "16", "--local-size", "5")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((*PHASES, "--kappa-c", "0.4", "--kappa-s", "0.3"), "--kappa-c is 0.4; it must be from 0.5 to 1."),
        ((*PHASES, "--kappa-c", "1.1", "--kappa-s", "0.3"), "--kappa-c is 1.1; it must be from 0.5 to 1."),
        ((*PHASES, "--kappa-c", "0.9", "--kappa-s", "0.6"), "--kappa-s is 0.6; it must be from 0.001 to 0.5."),
        ((*PHASES, "--kappa-c", "nan", "--kappa-s", "0.3"), "--kappa-c is nan"),
        ((*PHASES, "--kappa-c", "1", "--kappa-s", "0.3"), "do not fit into 196"),
        ((*PHASES, "--patches", "36", "--global-size", "32", "--local-size", "5"), "do not fit into 36"),
        ((*PHASES, "--patches", "36", "--global-size", "0", "--local-size", "5"), "--global-size is 0"),
        ((*PHASES, "--patches", "nan", *SIZED), "--patches is nan"),
        ((*PHASES, "--patches", "inf", *SIZED), "--patches is inf"),
        ((*PHASES, "--patches", "-5", "--kappa-c", "0.9", "--kappa-s", "0.4"), "--patches is -5"),
        ((*PHASES, "--patches", "36"), "Give --global-size and --local-size, or --kappa-c and --kappa-s."),
        ((*PHASES, "--patches", "36", *SIZED, "--kappa-c", "0.9"), "Give --global-size and --local-size, or"),
        ((*PHASES, "--patches", "36", "--kappa-c", "0.9"), "--kappa-c with --kappa-s"),
        ((*PHASES, "--patches", "36", "--local-size", "5"), "--global-size goes with --local-size"),
        *(((*PHASES, *SIZES, "--masked", value), f"--masked is {float(value)}") for value in ("0", "1", "-0.5", "nan")),
        ((*PHASES, *SIZES, "--latent", "2", "1"), "--latent is 2 to 1"),
        ((*PHASES, *SIZES, "--latent", "-1", "1"), "--latent is -1 to 1"),
        ((*PHASES, *SIZES, "--latent", "nan", "1"), "--latent is nan to 1"),
        ((*PHASES, *SIZES, "--clusters", "0"), "--clusters is 0"),
        ((*PHASES, *SIZES, "--temperature", "0"), "--temperature is 0.0"),
        ((*PHASES, *SIZES, "--temperature", "nan"), "--temperature is nan"),
        ((*PHASES, *SIZES, "--weight-decay", "-1"), "--weight-decay is -1.0"),
        ((*PHASES, "--patches", "36", "--global-size", "x", "--local-size", "5"), "'x' is not a number"),
        ((*TRAIN, *TINY, "--steps", "0"), "--steps is 0"),
        ((*TRAIN, *TINY, "--batch", "1"), "--batch is 1; it must be a whole number, at least 2."),
        ((*TRAIN, *TINY, "--learning-rate", "0"), "--learning-rate is 0"),
        ((*TRAIN, *TINY, "--learning-rate", "nan"), "--learning-rate is nan"),
        ((*TRAIN, *TINY, "--looks", "0"), "--looks"),
        ((*TRAIN, *TINY, "--seed", "-1"), "--seed"),
        ((*TRAIN, *TINY, "--optimiser", "momentum", "--momentum", "1"), "--momentum is 1.0"),
        ((*TRAIN, *TINY, "--global-size", "5"), "the nearest that do are 6 and 3 of 12"),
        ((*TRAIN, "--patches", "100", "--kappa-c", "0.9", "--kappa-s", "0.3"), "the nearest that do are"),
        ((*TRAIN, *TINY, "--objective", "cl", "--clusters", "2", "--temperature", "-1"), "--temperature is -1"),
        ((*TRAIN, *TINY, "--objective", "cl", "--clusters", "2", "--weight-decay", "nan"), "--weight-decay is nan"),
        ((*TRAIN, *TINY, "--objective", "cl", "--learning-rate", "1"), "--clusters is 1; it must be at least 2"),
        ((*TRAIN, *TINY, "--output", "curves.foo"), "names no format"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_asked(command: tuple[str, ...], told: str) -> None:
    assert told in refused(*command)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("wide.npy",), "square"),
        (("more.npy",), "sum to 1"),
        (("hole.npy",), "sum to 1"),
        (("under.npy",), "from 0 on"),
        (("missing.npy",), "missing.npy cannot be read"),
        (("even.npy", "--areas", "short.csv"), "one a patch"),
        (("even.npy", "--areas", "missing.csv"), "missing.csv cannot be read"),
        (("even.npy", "--areas", "areas.csv", "--global-size", "3", "--local-size", "3"), "either --areas or"),
        (("even.npy", "--global-size", "3"), "--global-size goes with --local-size"),
        (("even.npy", "--global-size", "4", "--local-size", "3"), "the nearest that do are 3 and 3 of 9"),
        (("even.npy", "--global-size", "0", "--local-size", "3"), "--global-size is 0"),
        (("even.npy", "--global-size", "3", "--local-size", "-1"), "--local-size is -1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_maps_that_are_none(here: Path, options: tuple[str, ...], told: str) -> None:
    assert told in refused(*METRICS, *options)


@pytest.mark.parametrize(
    "command",
    [
        (*TRAIN, *TINY, "--objective", "cl"),
        (*TRAIN, *TINY, "--masked", "0.01"),
        (*TRAIN, *TINY, "--masked", "0.99"),
        (*TRAIN, *TINY, "--attention", "nowhere/map.npy"),
        (*METRICS, "even.npy", "--areas", "half.csv"),
    ],
    ids=" ".join,
)
def test_what_should_not_be_asked(here: Path, command: tuple[str, ...]) -> None:
    refused(*command)


@pytest.mark.parametrize(
    "options",
    [
        ("--patches", "36", "--global-size", "26", "--local-size", "1"),
        (*SIZES, "--latent", "0.1", "0.1"),
        ("--patches", "1e300", "--kappa-c", "0.9", "--kappa-s", "0.4"),
    ],
    ids=" ".join,
)
def test_phases_that_do_not_come_are_told(options: tuple[str, ...]) -> None:
    assert run(*PHASES, *options).exit_code in {0, 2}


def test_phases_of_one_cluster_refuse_options_of_contrast() -> None:
    refused(*PHASES, *SIZES, "--temperature", "3")


def test_what_holds_at_strength_one_is_not_told_of_others() -> None:
    one, two = (rows(*PHASES, *SIZES, "--clusters", "4", "--latent", low, "2")[0] for low in ("2", "1"))
    plain = rows(*PHASES, *SIZES, "--clusters", "4")[0]
    assert plain["collapse_position"] not in {one["collapse_position"], two["collapse_position"]}


def test_a_map_is_kept_under_the_name_that_is_told(here: Path) -> None:
    assert ".npy" in refused(*TRAIN, *TINY, "--attention", "kept")
    answered(*TRAIN, *TINY, "--attention", "kept.npy")
    assert Path("kept.npy").exists()
