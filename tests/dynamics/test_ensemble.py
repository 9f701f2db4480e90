"""Many runs: the same bytes however they are shared out, in the order given, and honest means."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, Status, jepa, mae
from dynamics.comparison import Simulation
from dynamics.ensemble import Ensemble, run_all, seeds
from dynamics.feature_basis import diagonalise
from dynamics.network.descent import GradientDescent
from dynamics.network.outcome import Ending, Outcome
from dynamics.network.population import Data, population_of
from dynamics.simulation import Experiment
from dynamics.views import masked, second_moments
from dynamics.workers import WorkerError
from tests.dynamics.network.setting import TWO

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
GAUSSIAN = Experiment(mae(1), population_of(TWO), 0.05, start="gaussian", until=20.0)


class Killed(Experiment):
    """Training that ends its process, as the system does when memory runs out."""

    def run(self, watch: Callable[[float], None] = lambda share: None) -> Simulation:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Refused(Experiment):
    """Training that raises."""

    def run(self, watch: Callable[[float], None] = lambda share: None) -> Simulation:
        raise ZeroDivisionError("of its own")


def as_bytes(run: Simulation) -> tuple[bytes, ...]:
    curves = run.curves
    return tuple(
        array.tobytes() for array in (run.time, run.layers, run.start.layers, curves.time, curves.amplitude, curves.loss)
    )


def batches() -> Experiment:
    rows = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 0.7, 0.4]
    views = masked(rows, keep=0.6)
    basis = diagonalise(second_moments(views))
    training = GradientDescent(0.02, batch=8)
    return Experiment(jepa(1), population_of(Data(views, basis)), 0.1, training=training, until=10.0)


def test_seeds_follow_one_another_and_change_nothing_else() -> None:
    many = seeds(replace(GAUSSIAN, seed=5), 3)
    assert [one.seed for one in many] == [5, 6, 7]
    assert all(replace(one, seed=0).population is GAUSSIAN.population for one in many)


def test_seeds_differ() -> None:
    runs = run_all(seeds(GAUSSIAN, 2))
    assert (runs[0].start.layers != runs[1].start.layers).all()
    assert (runs[0].layers != runs[1].layers).all()


def test_processes_change_no_byte_and_no_order_and_each_run_is_heard_of_once() -> None:
    experiments = [
        replace(GAUSSIAN, until=60.0, objective=mae(2)),
        *seeds(GAUSSIAN, 2),
        replace(GAUSSIAN, training=GradientDescent(0.05, batch=4), start="haar"),
        *seeds(batches(), 2),
    ]
    here: list[Simulation] = []
    there: list[Simulation] = []
    together = run_all(experiments, workers=2, done=there.append)
    alone = run_all(experiments, workers=1, done=here.append)
    assert [as_bytes(run) for run in together] == [as_bytes(run) for run in alone]
    assert [run.experiment.seed for run in together] == [one.seed for one in experiments]
    assert [run.experiment.objective for run in together] == [one.objective for one in experiments]
    assert here == alone
    assert sorted(map(id, there)) == sorted(map(id, together))


def test_no_experiments_are_no_runs() -> None:
    assert run_all([]) == []
    assert run_all([], workers=2) == []


@POSIX
def test_a_killed_process_is_an_error_that_says_so() -> None:
    killed = Killed(mae(1), population_of(TWO), 0.05)
    with pytest.raises(WorkerError, match=r"killed.*\.$"):
        run_all([*seeds(GAUSSIAN, 2), killed], workers=2)


def test_an_error_in_a_process_is_the_same_error_here() -> None:
    refused = Refused(mae(1), population_of(TWO), 0.05)
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError, match="of its own"):
            run_all([refused, GAUSSIAN, GAUSSIAN], workers=workers)


def test_an_interrupted_run_ends_the_others_and_is_kept_only_if_alone() -> None:
    def interrupt(share: float) -> None:
        if len(heard) == 1 and share > 0.2:
            raise KeyboardInterrupt

    heard: list[Simulation] = []
    runs = run_all(seeds(GAUSSIAN, 3), workers=1, done=heard.append, watch=interrupt)
    assert [run.ending.outcome for run in runs] == [Outcome.COMPLETED]
    (alone,) = run_all([GAUSSIAN], watch=interrupt)
    assert alone.ending.outcome is Outcome.INTERRUPTED


def test_runs_that_diverge_are_counted_and_left_out_of_the_means() -> None:
    """On minibatches of two samples at a large step some blow up, some do not."""
    training = GradientDescent(0.3, batch=2)
    runs = run_all(seeds(replace(GAUSSIAN, training=training, until=60.0), 12), workers=1)
    good = [run for run in runs if run.ending.outcome is not Outcome.DIVERGED]
    assert 0 < len(good) < 12
    columns = Ensemble(runs).columns()
    assert (columns["runs"][0], columns["diverged"][0]) == (len(good), 12 - len(good))
    assert_allclose(columns["final_amplitude"], np.mean([run.amplitude for run in good], axis=0))
    nothing = Ensemble([run for run in runs if run not in good]).columns()
    assert nothing["final_amplitude"][0] is None
    assert nothing["reached"][0] == 0


INTERRUPTIBLE = """
import sys
from dataclasses import replace
from dynamics import Features, jepa, mae
from dynamics.ensemble import run_all, seeds
from dynamics.network.descent import GradientDescent
from dynamics.network.population import population_of
from dynamics.simulation import Experiment

if __name__ == "__main__":
    quick = Experiment(mae(1), population_of(Features(lam=[1.0, 0.8], rho=[0.9, 0.7])), 0.05)
    long = replace(quick, training=GradientDescent(1e-8))
    runs = run_all([long, quick, long], workers=2, done=lambda run: print("done", flush=True))
    print(len(runs), runs[0].experiment.training, runs[0].ending.outcome.value)
"""


@POSIX
def test_a_real_ctrl_c_returns_the_runs_that_finished(tmp_path: Path) -> None:
    script = tmp_path / "many.py"
    script.write_text(INTERRUPTIBLE)
    command = [sys.executable, "-W", "error", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "done\n"
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
        out, err = parent.communicate(timeout=20)
    assert err == ""
    assert parent.returncode == 0
    assert out.split() == ["1", "None", "completed"]
    deadline = time.monotonic() + 5
    while group_lives(parent.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not group_lives(parent.pid)


def group_lives(group: int) -> bool:
    """Whether a process of the group still runs; one that only waits to be reaped does not."""
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = process.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


def run_with(template: Simulation, times: list[float]) -> Simulation:
    return replace(template, time=np.array(times))


def test_means_and_spreads_are_over_the_runs_that_reached() -> None:
    template = Experiment(mae(1), population_of(TWO), 0.05).run()
    runs = [run_with(template, times) for times in ([4.0, 5.0], [6.0, np.inf], [8.0, np.inf])]
    table = Ensemble(runs).to_dataframe()
    assert_allclose(table["simulated_time"], [6.0, 5.0])
    assert_allclose(table["simulated_time_sd"][0], 2.0)
    assert np.isnan(table["simulated_time_sd"].tolist()[1] or np.nan)
    assert table["reached"].tolist() == [3, 1]
    assert table["runs"].tolist() == [3, 3]
    predicted = template.experiment.predicted.time
    assert_allclose(table["ratio"].astype(float), [6.0, 5.0] / predicted)
    assert_allclose(table["critical_time"], predicted)
    assert_allclose(table["final_amplitude"], template.amplitude)
    assert_allclose(table["final_amplitude_sd"], 0.0, atol=1e-15)


def test_a_feature_that_no_run_reaches_has_empty_cells() -> None:
    template = replace(Experiment(mae(1), population_of(TWO), 0.05).run(), ending=Ending(Outcome.STUCK))
    table = Ensemble([run_with(template, [4.0, np.inf])] * 2).to_dataframe()
    for name in ("simulated_time", "simulated_time_sd", "ratio"):
        assert table[name].isna().tolist() == [False, True]
    assert table["reached"].tolist() == [2, 0]
    assert table["simulated_time_sd"][0] == 0.0


def test_an_ensemble_of_real_runs_says_what_they_say() -> None:
    experiment = Experiment(mae(1), population_of(Features(lam=[1.0, 0.0], sigma=[1.1, 1.0])), 0.05)
    runs = run_all(seeds(experiment, 2))
    table = Ensemble(runs).to_dataframe()
    assert table["status"].tolist() == ["reached", "never"]
    assert table["reached"].tolist() == [2, 0]
    assert all(run.status.tolist() == [Status.REACHED, Status.NEVER] for run in runs)
    assert_array_equal(table["simulated_time_sd"][0], 0.0)
    assert_allclose(table["final_amplitude"], runs[0].amplitude)
