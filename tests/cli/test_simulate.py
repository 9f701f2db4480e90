import csv
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.cli.running import LINDYN, Row, answered, exact_time, process, refused, rows, run, strict

PAIR = ("--lambda", "1,0.8", "--rho", "0.6,1.2")
TWO = ("simulate", *PAIR)
ROOT = Path(__file__).parent.parent.parent
COLUMNS = (
    "feature,objective,depth,predictor_depth,epsilon,fraction,lambda,rho,sigma,asymptote,final_amplitude,polar_amplitude,"
    "critical_time,simulated_time,ratio,status,simulated_status"
).split(",")
CURVE = (
    "run,feature,objective,depth,predictor_depth,epsilon,fraction,lambda,rho,sigma,time,predicted_amplitude,amplitude,"
    "polar_amplitude,norm,singular_value,predictor_eigenvalue,off_diagonal,polar_off_diagonal,imbalance,loss"
).split(",")


def read(path: Path) -> list[Row]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_the_trained_network_learns_when_the_formula_says(objective: str) -> None:
    for row in rows(*TWO, "--objective", objective, "--depth", "1,2", "--predictor-depth", "1,2"):
        depth, layers = int(row["depth"]), int(row["predictor_depth"])
        expected = exact_time(objective, depth, layers, float(row["lambda"]), float(row["rho"]), 0.01, 0.5)
        assert_allclose(float(row["simulated_time"]), float(expected), rtol=1e-8)
        assert_allclose(float(row["ratio"]), 1.0, rtol=1e-8)
        assert row["status"] == row["simulated_status"] == "reached"


def test_columns_are_the_standard_ones_and_beside_them_what_the_run_gave() -> None:
    assert list(rows(*TWO, "--objective", "mae")[0]) == COLUMNS


def test_what_departs_from_the_default_stands_in_the_table() -> None:
    row = rows(*TWO, "--objective", "mae", "--start", "orthogonal", "--learning-rate", "0.1", "--weight-decay", "1e-6")[0]
    assert [row[name] for name in ("start", "learning_rate", "optimiser", "weight_decay")] == [
        "orthogonal",
        "0.1",
        "plain",
        "1e-06",
    ]


def test_the_final_amplitude_comes_to_the_asymptote_and_never_for_what_dies() -> None:
    learned, lost = rows("simulate", "--lambda=1,-1", "--sigma", "1.2", "--objective", "mae", "--until", "60")
    assert_allclose(float(learned["final_amplitude"]), float(learned["asymptote"]), rtol=1e-9)
    assert (lost["status"], lost["simulated_status"], lost["simulated_time"], lost["ratio"]) == ("never", "never", "inf", "")
    assert 0 < float(lost["final_amplitude"]) < 0.01


def test_output_keeps_the_curves_and_the_summary_goes_to_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    result = answered(*TWO, "--objective", "mae", "--output", path, "--format", "json", "--points", "50")
    assert len(strict(result.stdout)) == 2
    found = read(path)
    assert list(found[0]) == CURVE
    assert f"{len(found)} rows written to" in result.stderr
    for row in found:
        assert_allclose(float(row["amplitude"]), float(row["predicted_amplitude"]), atol=1e-7)
    times = [float(row["time"]) for row in found if row["feature"] == "1"]
    assert times[0] == 0.0
    assert (np.diff(times) > 0).all()
    assert 50 <= len(times) <= 150


def test_the_paper_convention_scales_every_time(tmp_path: Path) -> None:
    plain, paper = tmp_path / "plain.csv", tmp_path / "paper.csv"
    ours = rows(*TWO, "--objective", "mae", "--depth", "3", "--until", "20", "--output", plain)
    theirs = rows(*TWO, "--objective", "mae", "--depth", "3", "--until", "60", "--time", "paper", "--output", paper)
    for one, other in zip(ours, theirs, strict=True):
        for name in ("critical_time", "simulated_time"):
            assert_allclose(float(other[name]), 3 * float(one[name]), rtol=1e-12)
        assert other["ratio"] == one["ratio"]
    assert_allclose(float(read(paper)[-1]["time"]), 60.0)


def test_runs_become_means_and_spreads_over_the_seeds_that_learned() -> None:
    how = ("--objective", "mae", "--start", "gaussian", "--epsilon", "1e-3")
    single = [rows(*TWO, *how, "--seed", str(seed)) for seed in (3, 4, 5)]
    for feature, mean in enumerate(rows(*TWO, *how, "--seed", "3", "--runs", "3", "--workers", "2")):
        times = np.array([float(found[feature]["simulated_time"]) for found in single])
        finals = np.array([float(found[feature]["final_amplitude"]) for found in single])
        reached = times[np.isfinite(times)]
        assert (int(mean["runs"]), int(mean["reached"])) == (3, len(reached))
        assert_allclose(float(mean["final_amplitude"]), finals.mean())
        assert_allclose(float(mean["final_amplitude_sd"]), finals.std(ddof=1))
        if len(reached):
            assert_allclose(float(mean["simulated_time"]), reached.mean())
        else:
            assert mean["simulated_time"] == mean["ratio"] == ""
        if len(reached) > 1:
            assert_allclose(float(mean["simulated_time_sd"]), reached.std(ddof=1))


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    outputs = []
    for name in ("one.csv", "two.csv"):
        path = tmp_path / name
        done = process(*TWO, "--start", "gaussian", "--objective", "mae", "--seed", "9", "--format", "csv", "--output", path)
        assert done.returncode == 0
        outputs.append((done.stdout, path.read_bytes()))
    assert outputs[0] == outputs[1]


def test_data_are_trained_on_their_full_moments(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    mixed = generator.normal(size=(400, 3)) * [3.0, 2.0, 1.0] @ np.linalg.qr(generator.normal(size=(3, 3)))[0]
    np.save(tmp_path / "x.npy", mixed)
    np.save(tmp_path / "y.npy", mixed + 0.1 * generator.normal(size=mixed.shape))
    how = ("--objective", "mae", "--epsilon", "1e-3")
    for source in ([tmp_path / "x.npy", "--mask", "0.5"], [tmp_path / "x.npy", tmp_path / "y.npy"]):
        result = answered("simulate", *source, *how, "--format", "csv")
        assert "Distance from the theory" in result.stderr
        for row in csv.DictReader(result.stdout.splitlines()):
            assert abs(float(row["ratio"]) - 1) < 0.05


def test_minibatches_of_data_follow_their_moments(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(300, 2)) * [3.0, 2.0])
    how = ("--objective", "mae", "--learning-rate", "1e-3", "--batch", "100")
    for row in rows("simulate", tmp_path / "x.npy", "--mask", "0.5", *how):
        assert abs(float(row["ratio"]) - 1) < 0.1


def test_a_teacher_delays_what_the_encoder_learns() -> None:
    plain, taught = (rows(*TWO, "--objective", "jepa", "--depth", "1", *how) for how in ((), ("--teacher-rate", "0.05")))
    for without, with_teacher in zip(plain, taught, strict=True):
        assert float(with_teacher["simulated_time"]) > 1.1 * float(without["simulated_time"])
        assert_allclose(float(with_teacher["ratio"]), 1.0, rtol=1e-5)


def test_a_start_too_strong_for_jepa_collapses_in_theory_and_in_training() -> None:
    how = ("--objective", "jepa", "--predictor-start", "0.8", "--until", "2000")
    lost, learned = rows("simulate", "--lambda", "1", "--rho", "0.5,1.2", *how)
    assert (lost["status"], lost["simulated_status"], learned["simulated_status"]) == ("collapses", "collapses", "reached")
    assert float(lost["final_amplitude"]) < 1e-3
    assert_allclose(float(learned["final_amplitude"]), float(learned["asymptote"]), rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        (("--learning-rate", "2.2"), "oscillating"),
        (("--learning-rate", "100", "--until", "1e4"), "diverged"),
        (("--epsilon", "1e-12", "--until", "5e17"), "stuck"),
    ],
)
def test_a_run_that_fails_says_why_keeps_its_curves_and_exits_with_one(how: tuple[str, ...], word: str, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    result = run(*TWO, "--objective", "jepa", *how, "--format", "csv", "--output", path)
    assert result.exit_code == 1
    assert re.search(rf"^{word}: .*(Lower|Raise)", result.stderr, re.MULTILINE)
    assert len(list(csv.DictReader(result.stdout.splitlines()))) == 2
    assert len(read(path)) >= 2


def test_beyond_the_learning_rate_that_is_told_training_ends_elsewhere() -> None:
    told = run(*TWO, "--objective", "mae", "--depth", "1", "--learning-rate", "2").stderr
    found = re.search(r"^Beyond a learning rate of about ([\d.]+) gradient descent is unstable", told, re.MULTILINE)
    assert found
    stable = float(found.group(1))
    how = ("--objective", "mae", "--depth", "1", "--start", "orthogonal", "--until", "800", "--learning-rate")
    for learning_rate, stays in ((0.97 * stable, True), (1.12 * stable, False)):
        row = rows(*TWO, *how, learning_rate)[1]
        assert (abs(float(row["final_amplitude"]) / float(row["asymptote"]) - 1) < 1e-6) == stays


def test_what_is_learned_and_lost_again_is_told() -> None:
    told = run(*TWO, "--objective", "jepa", "--learning-rate", "3").stderr
    assert re.search(r"^Learned, and below the threshold again at the end: 1 \(2\), by final_amplitude\.$", told, re.MULTILINE)


def test_a_start_above_the_asymptote_is_already_reached() -> None:
    for row in rows(*TWO, "--objective", "mae", "--epsilon", "2"):
        assert (row["simulated_time"], row["ratio"], row["simulated_status"]) == ("0.0", "", "already-reached")


def test_a_predictor_that_is_not_aligned_is_told() -> None:
    assert "does not undo the encoder's directions" in answered(*TWO, "--objective", "mae", "--start", "haar").stderr


def test_a_control_without_stop_gradient_only_shrinks() -> None:
    for row in rows(*TWO, "--objective", "jepa", "--no-stop-gradient", "--until", "100"):
        assert float(row["final_amplitude"]) < 0.01
        assert (row["simulated_status"], row["stop_gradient"]) == ("not-reached", "False")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((*TWO, "--optimiser", "adam"), "add --learning-rate"),
        ((*TWO, "--momentum", "0.5", "--learning-rate", "0.1"), "add --optimiser momentum"),
        ((*TWO, "--learning-rate", "-1"), "--learning-rate"),
        ((*TWO, "--learning-rate", "0.1", "--batch", "0"), "--batch"),
        ((*TWO, "--learning-rate", "1e-200"), "--learning-rate"),
        ((*TWO, "--until", "0"), "--until"),
        ((*TWO, "--predictor-start", "0"), "--predictor-start"),
        ((*TWO, "--teacher-rate", "-1"), "--teacher-rate"),
        ((*TWO, "--weight-decay", "nan"), "--weight-decay"),
        ((*TWO, "--no-stop-gradient"), "mae predicts the input itself"),
        ((*TWO, "--no-stop-gradient", "--teacher-rate", "1", "--objective", "jepa"), "never differentiated"),
        ((*TWO, "--mask", "0.5"), "a file SOURCE of data"),
        ((*TWO, "--standardise"), "--standardise goes with data"),
        (("simulate", "pixels.npy"), "add --mask, --lag or a second file Y"),
        (("simulate",), "--lambda"),
        ((*TWO, "--epsilon", "1e-300", "--depth", "8", "--objective", "jepa"), "raise epsilon"),
        ((*TWO, "--output", "nowhere/curves.csv"), "nowhere"),
        ((*TWO, "--output", "curves.jpg"), "--output"),
        (("simulate", "features.csv", "--output", "./features.csv"), "would replace what is read"),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_sentence(args: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named in refused(*args)


@pytest.mark.parametrize("runs", ["1", "8"])
def test_ctrl_c_keeps_what_was_computed(runs: str, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    command = [LINDYN, *TWO, "--objective", "jepa", "--learning-rate", "1e-5", "--runs", runs, "--output", path]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(4.0)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=20)
    assert running.returncode == 1
    assert "Traceback" not in stderr
    if runs == "1":
        assert re.search(r"^interrupted: After \d+ of \d+ steps", stderr, re.MULTILINE)
        assert "feature" in stdout
        assert len(read(path)) >= 4
    else:
        assert stderr == "Error: Interrupted before a run finished.\n"
        assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def digits() -> list[Row]:
    source = ROOT / "examples" / "digits.npz"
    done = process(
        *("simulate", source, "--mask", "0.5", "--depth", "3", "--epsilon", "0.02", "--first", "20", "--format", "csv"),
        timeout=240.0,
    )
    assert done.returncode == 0
    return list(csv.DictReader(done.stdout.decode().splitlines()))


@pytest.mark.slow
def test_on_digits_both_objectives_learn_when_predicted(digits: list[Row]) -> None:
    from scipy.stats import spearmanr

    for objective in ("jepa", "mae"):
        found = [row for row in digits if row["objective"] == objective and row["simulated_status"] == "reached"]
        assert len(found) >= 12
        ratios = [float(row["ratio"]) for row in found[:8]]
        assert_allclose(ratios, 1.0, atol=0.05)
        times = np.array([[float(row[name]) for row in found] for name in ("critical_time", "simulated_time")])
        assert spearmanr(*times).statistic > 0.99


@pytest.mark.slow
def test_the_table_of_the_readme_is_what_comes_out(digits: list[Row]) -> None:
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(lines) == 8
    for line, jepa, mae in zip(lines, digits[:8], digits[20:28], strict=True):
        cells = [float(cell) for cell in line.strip("| ").split("|")]
        told = [float(row[name]) for row in (jepa, mae) for name in ("critical_time", "simulated_time", "ratio")]
        assert_allclose(cells, [float(jepa["feature"]), float(jepa["lambda"]), float(jepa["rho"]), *told], rtol=1e-3)


def test_a_teacher_that_changes_nothing_is_told() -> None:
    for command in ("simulate", "critical-time"):
        told = answered(command, *PAIR, "--objective", "mae", "--teacher-rate", "1").stderr
        assert "mae has no teacher" in told


def test_runs_without_anything_random_are_told() -> None:
    assert "nothing random" in answered(*TWO, "--objective", "mae", "--runs", "3", "--workers", "1").stderr
