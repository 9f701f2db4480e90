"""The network trained on drawn images: what a step is, what is looked at, and where attention ends up."""

import math
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from dynamics.attention import (
    Areas,
    AttentionRun,
    Contrast,
    FullFlow,
    ImageModel,
    LeadingOrder,
    MaeFlow,
    Sampler,
    Training,
    attention_metrics,
    collapse,
    collapse_time,
    phases,
    simulate_attention,
    uniform,
)
from dynamics.attention.network import clean_attention, contrast, reconstruction, size_of
from dynamics.errors import LindynError, ParameterError
from dynamics.reports.attention import run_row

SMALL = ImageModel(Areas(12, 6, 3), clusters=2, latent=uniform(0.8, 1.2))


def descended(objective: str, training: Training, query: str, seed: int, decay: float) -> np.ndarray:
    """The same steps, by hand."""
    source = Sampler(SMALL, seed=seed)
    Q, velocity = (np.zeros((size_of(source),) * 2) for _ in range(2))
    keep = training.momentum if training.optimiser == "momentum" else 0.0
    for _ in range(training.steps):
        batch = source.draw(training.batch)
        if objective == "mae":
            slope = reconstruction(Q, source, batch).gradient
        else:
            slope = contrast(Q, source, batch, source.masked_again(batch), temperature=0.3, query=query).gradient + decay * Q
        velocity = keep * velocity - training.learning_rate * slope
        Q = Q + velocity
    return Q


@pytest.mark.parametrize("optimiser", ["plain", "momentum"])
@pytest.mark.parametrize(("objective", "query", "decay"), [("mae", "full", 0.0), ("cl", "full", 1e-3), ("cl", "position", 0.0)])
def test_a_run_is_its_steps(objective: str, query: str, decay: float, optimiser: str) -> None:
    training = Training(6, 8, 5.0, optimiser, 0.6)
    found = simulate_attention(
        objective, SMALL, training=training, contrasted=Contrast(0.3, None, decay), query=query, seed=4, looks=3
    )
    expected = descended(objective, training, query, 4, decay)
    assert np.abs(expected).max() > 0.01
    assert_allclose(found.matrix, expected, atol=1e-12)
    assert_allclose(found.curve("time"), np.array([0, 2, 4, 6]) * 5.0 / (0.4 if optimiser == "momentum" else 1.0))


def test_what_is_looked_at_is_in_the_matrix() -> None:
    found = simulate_attention("mae", SMALL, training=Training(40, 16, 4.0), seed=1, looks=5)
    local, last = np.arange(6, 12), found.looks[-1]
    phi = found.matrix[6:12, 12:15]
    own = np.repeat([1, 2], 3)
    assert last.phi_T == pytest.approx(phi[np.arange(6), own].mean())
    assert last.phi_G == pytest.approx(phi[:, 0].mean())
    assert last.phi_G_sd == pytest.approx(phi[:, 0].std())
    assert last.phi_O == pytest.approx(phi[np.arange(6), 3 - own].mean())
    assert local.tolist() == np.flatnonzero(found.sampler.partition[0] > 0).tolist()
    seen = clean_attention(found.matrix, found.sampler)
    assert_array_equal(found.attention(), seen)
    assert last.diversity == attention_metrics(seen).diversity
    assert_array_equal([*asdict(found.final).values()], [*asdict(attention_metrics(seen, found.sampler.partition[0])).values()])
    start = found.looks[0]
    assert (start.time, start.phi_T, start.phi_G, start.own) == (0.0, 0.0, 0.0, pytest.approx(1 / 8, abs=0.02))
    assert start.loss == pytest.approx(0.5 * 6 * (1 + 0.04 / 3), rel=0.3)


def test_rows_of_features_are_still_nothing_after_reconstruction() -> None:
    found = simulate_attention("mae", SMALL, training=Training(40, 16, 4.0), looks=2)
    assert (found.matrix[12:] == 0.0).all()
    assert np.abs(found.matrix[:12]).max() > 0.5


def test_rows_of_positions_are_one_after_contrast_by_position() -> None:
    found = simulate_attention("cl", SMALL, training=Training(40, 8), query="position", looks=2)
    assert np.abs(found.matrix[0]).max() > 0.1
    assert_allclose(found.matrix[:12], np.broadcast_to(found.matrix[0], (12, 18)), atol=1e-7)
    assert (found.matrix[12:] == 0.0).all()
    assert abs(found.final.diversity) < 1e-12
    assert found.looks[-1].phi_G_sd < 1e-7


def test_half_time_is_read_between_two_looks() -> None:
    found = simulate_attention("mae", SMALL, training=Training(60, 16, 4.0), looks=30)
    own, time = found.curve("own"), found.curve("time")
    level = 0.5 * (own[3] + own.max())
    place = int(np.argmax(own >= level))
    share = (level - own[place - 1]) / (own[place] - own[place - 1])
    assert found.crossing(level) == pytest.approx(time[place - 1] + share * (time[place] - time[place - 1]))
    assert math.isnan(found.crossing(2.0))
    assert found.crossing(0.0) == 0.0


def test_one_seed_gives_one_run() -> None:
    one, other, third = (simulate_attention("mae", SMALL, training=Training(5, 4, 1.0), seed=seed) for seed in (3, 3, 4))
    assert_array_equal(one.matrix, other.matrix)
    assert one.looks == other.looks
    assert (one.matrix != third.matrix).any()


def test_progress_is_told_to_its_end() -> None:
    told: list[float] = []
    simulate_attention("mae", SMALL, training=Training(6, 4, 1.0), looks=3, watch=told.append)
    assert told == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])


def test_by_default_a_run_lasts_a_few_of_its_times() -> None:
    for optimiser in ("plain", "momentum"):
        found = simulate_attention("mae", SMALL, training=Training(5, 4, optimiser=optimiser), looks=1)
        assert found.curve("time")[-1] == pytest.approx(6.0 * LeadingOrder(SMALL).local_time)
    for query, times in (("position", 8.0), ("full", 2.0)):
        found = simulate_attention("cl", SMALL, training=Training(5, 4), contrasted=Contrast(0.3), query=query, looks=1)
        assert found.curve("time")[-1] == pytest.approx(times * collapse_time(SMALL, Contrast(0.3)))


@pytest.mark.parametrize("objective", ["mae", "cl"])
def test_adam_learns_and_needs_a_rate(objective: str) -> None:
    with pytest.raises(LindynError, match="learning-rate"):
        simulate_attention(objective, SMALL, training=Training(5, 4, optimiser="adam"))
    found = simulate_attention(objective, SMALL, training=Training(150, 16, 0.05, "adam"), query="position", looks=4)
    assert found.looks[-1].loss < found.looks[0].loss
    reached = found.final.local_to_own if objective == "mae" else found.final.local_to_global
    assert reached > 0.8
    assert run_row(found).columns["predicted_half"].tolist() == [None]


def test_a_run_that_explodes_is_said_to() -> None:
    assert simulate_attention("mae", SMALL, training=Training(5, 4, 1e12), looks=1).diverged
    assert not simulate_attention("mae", SMALL, training=Training(5, 4, 1.0), looks=1).diverged


@pytest.mark.parametrize(
    "how",
    [{"steps": 0}, {"batch": 1}, {"learning_rate": 0.0}, {"learning_rate": math.nan}, {"optimiser": "sgd"}, {"momentum": 1.0}],
)
def test_training_that_is_none_is_refused(how: dict) -> None:
    with pytest.raises(ParameterError, match=next(iter(how))):
        Training(**({"steps": 5, "batch": 4} | how))


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ParameterError, match="objective"):
        simulate_attention("byol", SMALL)
    with pytest.raises(ParameterError, match="query"):
        simulate_attention("cl", SMALL, query="none")
    with pytest.raises(ParameterError, match="seed"):
        simulate_attention("mae", SMALL, seed=-1)
    with pytest.raises(ParameterError, match="looks"):
        simulate_attention("mae", SMALL, looks=0)
    with pytest.raises(LindynError, match="whole"):
        simulate_attention("mae", ImageModel(Areas(12, 5, 3)))


def test_a_row_has_the_reduced_flow_beside_the_network() -> None:
    run = simulate_attention("mae", SMALL, training=Training(12, 8, 3.0), looks=4)
    row, time = run_row(run).columns, run.curve("time")
    flow = solve_ivp(MaeFlow(SMALL), (0.0, time[-1]), np.zeros(7), method="DOP853", t_eval=time, rtol=1e-9, atol=1e-11)
    for place, name in enumerate(("phi_T", "phi_G")):
        off = np.sqrt(((flow.y[place] - run.curve(name)) ** 2).mean())
        assert row[f"rms_{name}"][0] == pytest.approx(off, rel=1e-4)
    run = simulate_attention("cl", SMALL, training=Training(3, 5, 1.0), contrasted=Contrast(0.3), query="position", looks=1)
    told = collapse(SMALL, Contrast(0.3, negatives=4)).time
    assert run_row(run).columns["predicted_half"][0] == pytest.approx(told, rel=1e-9)


def test_curves_have_one_row_a_look() -> None:
    found = simulate_attention("mae", SMALL, training=Training(6, 4, 1.0), looks=3)
    table = found.curves_table()
    assert list(
        table.columns
    ) == "objective,patches,global_size,local_size,time,phi_T,phi_G,phi_G_sd,phi_O,own,glob,diversity,loss".split(",")
    assert len(table) == 4


def test_the_reduction_of_a_run_far_too_fast_can_be_told() -> None:
    run_row(simulate_attention("mae", SMALL, training=Training(5, 4, 1e12), looks=1))


# --- where attention ends up ------------------------------------------------------------------------------------------------

GAPS = {"above": Areas(36, 16, 5), "below": Areas(36, 8, 7)}


@cache
def contrasted(gap: str, query: str) -> AttentionRun:
    return simulate_attention("cl", ImageModel(GAPS[gap], clusters=4), training=Training(400, 24), query=query, looks=40)


@pytest.mark.parametrize("gap", ["above", pytest.param("below", marks=pytest.mark.slow)])
def test_a_masked_autoencoder_attends_to_the_area_of_each_patch(gap: str) -> None:
    model = ImageModel(GAPS[gap])
    assert (model.areas.gap > 0) == (gap == "above")
    found = simulate_attention("mae", model, training=Training(600, 16, LeadingOrder(model).local_time / 30), looks=20)
    area = np.bincount(found.sampler.partition[0])
    assert found.final.local_to_own > 0.98
    assert found.final.global_to_global > 0.98
    assert found.final.local_to_global < 0.01
    assert found.final.diversity == pytest.approx(1.0 - ((area / 36) ** 1.5).sum(), abs=0.03)
    row = run_row(found).columns
    assert row["predicted_half"][0] == pytest.approx(phases(model).second.time)
    assert row["ratio"][0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["position", "full"])
@pytest.mark.parametrize("gap", GAPS)
def test_contrast_attends_to_the_global_area_whatever_the_gap(gap: str, query: str) -> None:
    found = contrasted(gap, query).final
    assert min(found.local_to_global, found.global_to_global) > 0.98
    assert found.local_to_own < 0.005
    assert abs(found.diversity) < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("gap", GAPS)
def test_contrast_by_position_is_reduced(gap: str) -> None:
    assert run_row(contrasted(gap, "position")).columns["ratio"][0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("gap", GAPS)
def test_contrast_by_patch_is_reduced(gap: str) -> None:
    """Half of the attention of the shown patches of local areas."""
    run = contrasted(gap, "full")
    flow = FullFlow(run.model, Contrast(negatives=23))

    def half(_: float, state: np.ndarray) -> float:
        return float(flow.attention(state)["L"][0][0]) - 0.5

    found = solve_ivp(flow, (0.0, run.curve("time")[-1]), np.zeros(10), method="LSODA", rtol=1e-9, atol=1e-12, events=half)
    assert run.crossing(0.5) == pytest.approx(found.t_events[0][0], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("gap", GAPS)
def test_what_is_predicted_of_contrast_by_patch_is_what_is_simulated(gap: str) -> None:
    assert run_row(contrasted(gap, "full")).columns["ratio"][0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("areas", "half"),
    [
        pytest.param(Areas(196, 106, 9), 96.8, marks=pytest.mark.slow),
        pytest.param(Areas(196, 26, 10), 100.2, marks=pytest.mark.exhaustive),
    ],
)
def test_the_network_is_reduced(areas: Areas, half: float) -> None:
    found = simulate_attention("mae", ImageModel(areas), training=Training(700, 64, 0.5), seed=1)
    row = run_row(found).columns
    assert row["rms_phi_T"][0] < 0.03
    assert row["rms_phi_G"][0] < 0.03
    assert row["simulated_half"][0] == pytest.approx(half, rel=0.02)
    assert row["ratio"][0] == pytest.approx(1.0, abs=0.02)
    assert found.final.local_to_own > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(
    "shared",
    [
        False,
        True,
    ],
)
def test_the_network_is_reduced_with_several_clusters(shared: bool) -> None:
    model = ImageModel(Areas(36, 16, 5), clusters=4)
    training = Training(300, 24, LeadingOrder(model).local_time / 60)
    row = run_row(simulate_attention("mae", model, training=training, shared_partition=shared)).columns
    assert row["ratio"][0] == pytest.approx(1.0, abs=0.05)
    assert row["rms_phi_T"][0] < 0.08


@pytest.mark.slow
def test_positions_that_clusters_share_move_as_many_times_as_fast() -> None:
    """With position-position rates times K the reduced flow is the network again."""
    model = ImageModel(Areas(36, 16, 5), clusters=4)
    training = Training(300, 24, LeadingOrder(model).local_time / 60)
    run = simulate_attention("mae", model, training=training, shared_partition=True)
    flow, time = MaeFlow(model), run.curve("time")
    speeds = np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0])
    found = solve_ivp(lambda t, y: speeds * flow(t, y), (0.0, time[-1]), np.zeros(7), method="LSODA", t_eval=time, rtol=1e-9)
    assert np.sqrt(((found.y[0] - run.curve("phi_T")) ** 2).mean()) < 0.08
