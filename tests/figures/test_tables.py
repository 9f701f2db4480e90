"""What holds of every figure: one table whatever the style, no silent gaps, and a table of one's own features."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

import dynamics as dyn
import figures
from tests.figures.drawn import (
    ATTENTION,
    MIXED,
    MULTIVIEW,
    OWN,
    PAIR,
    SMALL,
    asymptote,
    drawn,
    features_of,
    objective_of,
    of_kind,
    small,
    table,
    tells,
    times_of,
)

CELL = ("query", "key", "query_area", "key_area", "attention")
METRICS = (
    "local_to_own",
    "local_to_global",
    "global_to_global",
    "diversity",
    "information",
    "distance",
    "local_distance",
)
EMPTY = {
    "crossover": {"epsilon_lower", "epsilon_upper"},
    "predictor-depth": {"time_lower", "time_higher"},
    "digits": {"pixel", "intensity", "time", "amplitude"},
    "attention-maps": {*CELL, *METRICS},
}
"""Columns that have empty cells, and why they may is tested below."""

OTHER_ASYMPTOTES = ("crossover", "predictor-depth", "spectrum", *MULTIVIEW, *ATTENTION)

TAKING = [name for name in figures.NAMES if figures.entry_of(name).takes_features]
AGAIN: dict[str, dict[str, Any]] = {
    "initialisation": {"seeds": 1, "start": ("orthogonal", "gaussian"), "epsilon": 0.1},
    "teacher": {"points": 2, "networks": 1, "slowest": 0.1},
    "collapse": {"points": 3, "networks": 1, "predictor_start": (0.5,), "decay_epsilon": (0.1,)},
    "network": {"depth": 1},
    "masking": {"images": 200, "count": 4, "depth": 1},
    "temporal": {"steps": 500, "depth": 1},
    "steps": {"learning_rate": (0.1,)},
    "staircase": {"beta": (0.1,), "points": 100},
    "redundancy": {"points": 3, "width": (4,)},
    "projector": {"width": (4, 8), "steps": 50},
    "views": {"replicates": 100},
    "phases": {"patches": 16, "global_size": (8,), "local_size": 4, "steps": 20, "batch": 4},
    "exponents": {"points": 2, "largest": 1e3, "kappa_c": (0.9,), "kappa_s": (0.4,)},
    "collapse-map": {"points": 2, "network_global": (8,), "steps": 5, "batch": 4},
    "attention-maps": {"patches": 16, "global_size": (8,), "steps": 10, "batch": 4},
    "gap-sign": {"points": 4},
}
"""Still smaller ones, for what is drawn more than once."""


@pytest.fixture(scope="module")
def few_digits(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of 3 x 3 images."""
    path = tmp_path_factory.mktemp("images") / "images.npy"
    generator = np.random.default_rng(1)
    np.save(path, generator.standard_normal((60, 9)) * np.linspace(0.5, 1.5, 9))
    return str(path)


def test_every_figure_is_tested() -> None:
    assert len(figures.NAMES) == 25
    assert set(TAKING) == {"greedy", "map", "crossover", "network", "initialisation", "teacher", "steps", "three-orders"}


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_figure_has_the_same_numbers_and_words_on_every_run_and_in_every_style(name: str, few_digits: str) -> None:
    how = (
        {"data": few_digits, "count": 2, "depth": 1, "epsilon": 0.1}
        if name == "digits"
        else AGAIN.get(name, SMALL.get(name, {}))
    )
    first, second = (figures.draw(name, style, **how) for style in ("neurips", "icml"))
    assert_frame_equal(first.table.to_dataframe(), second.table.to_dataframe(), check_exact=True)
    assert first.caption == second.caption


@pytest.mark.parametrize("name", figures.NAMES)
def test_every_row_says_what_it_is_and_no_number_is_missing_without_a_reason(name: str) -> None:
    frame = table(name)
    assert "kind" in frame.columns
    assert frame["kind"].map(type).eq(str).all()
    assert (frame["kind"] != "").all()
    gaps = {column for column in frame.columns if frame[column].isna().any()}
    assert gaps == EMPTY.get(name, set())


def test_cells_are_empty_only_where_there_is_nothing_to_say() -> None:
    crossover, predictor, digits, maps = (table(name) for name in ("crossover", "predictor-depth", "digits", "attention-maps"))
    assert (crossover["epsilon_lower"].isna() == crossover["epsilon_upper"].isna()).all()
    leading = predictor["kind"] == "leading"
    assert (predictor["time_lower"].isna() == leading).all()
    assert (predictor["time_higher"].isna() == leading).all()
    image = digits["kind"] == "image"
    for column in ("time", "amplitude"):
        assert (digits[column].isna() == image).all()
    for column in ("pixel", "intensity"):
        assert (digits[column].isna() == ~image).all()
    for kind, columns in (("attention", CELL), ("metrics", METRICS)):
        for column in columns:
            assert (maps[column].isna() == (maps["kind"] != kind)).all()


@pytest.mark.parametrize("name", [name for name in figures.NAMES if name not in ("projector", "views", *ATTENTION)])
def test_captions_say_from_which_start(name: str) -> None:
    caption, frame = small(name).caption, table(name)
    assert "epsilon" in caption
    if name not in ("expansion-error", "crossover", "collapse"):  # there it varies
        (epsilon,) = set(frame["epsilon"])
        assert f"epsilon {epsilon:g}" in caption


@pytest.mark.parametrize("name", figures.NAMES)
def test_captions_end_a_sentence_and_hold_no_unfinished_number(name: str) -> None:
    caption = small(name).caption
    assert caption.endswith(".")
    assert ".." not in caption.replace("...", "")
    assert not {"nan", "None", "undefined"} & set(caption.replace("%", " ").replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize(
    "name", ["greedy", "network", "masking", "temporal", "digits"]
)  # those that say which rows are critical times
def test_critical_time_rows_are_what_the_library_answers(name: str) -> None:
    keys = ["objective", "depth", "predictor_depth", "epsilon", "fraction"]
    for (*_, epsilon, fraction), ticks in of_kind(table(name), "critical-time").groupby(keys):
        found = dyn.critical_times(objective_of(ticks.iloc[0]), features_of(ticks), epsilon=epsilon, fraction=fraction)
        assert_allclose(ticks["time"], found.time, rtol=1e-13)
        assert_allclose(ticks["asymptote"], found.asymptote, rtol=1e-13)
        assert_allclose(ticks["amplitude"], fraction * found.asymptote, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in figures.NAMES if name not in OTHER_ASYMPTOTES])
def test_features_are_consistent_and_asymptotes_those_of_the_theory(name: str) -> None:
    plain = table(name).drop_duplicates(["objective", "depth", "predictor_depth", "lambda", "rho"])
    assert_allclose(plain["lambda"], plain["rho"] * plain["sigma"] ** 2, rtol=1e-12)
    known = [asymptote(row["objective"], row["depth"], row["predictor_depth"], row["rho"]) for row in plain.to_dict("records")]
    assert_allclose(plain["asymptote"], known, rtol=1e-12)


# --- a table of one's own ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in TAKING if name not in ("crossover", "three-orders")])
def test_features_that_are_given_are_what_is_drawn(name: str) -> None:
    frame = drawn(name, features=PAIR, **OWN.get(name, {})).table.to_dataframe()
    shown = frame[frame["kind"] == "feature"] if name == "map" else frame
    assert set(zip(shown["feature"], shown["lambda"], shown["rho"], strict=True)) == {("fast", 0.9, 0.7), ("slow", 0.7, 1.1)}
    assert set(shown["objective"]) == ({"jepa"} if name == "teacher" else {"jepa", "mae"})


def test_two_features_that_are_given_cross_where_their_times_agree() -> None:
    frame = drawn("crossover", features=PAIR, max_depth=4).table.to_dataframe()
    assert set(zip(frame["lambda_a"], frame["rho_a"], frame["lambda_b"], frame["rho_b"], strict=True)) == {(0.7, 1.1, 0.9, 0.7)}


def test_features_on_the_map_have_their_own_times() -> None:
    frame = of_kind(drawn("map", features=PAIR, **OWN["map"]).table.to_dataframe(), "feature")
    assert len(frame) == 2 * 2
    assert_allclose(frame["time"], times_of(frame), rtol=1e-12)


@pytest.mark.parametrize("name", ["greedy", "network"])
def test_features_without_a_positive_lambda_are_told_and_never_learned(name: str) -> None:
    drawing = drawn(name, features=MIXED, **OWN.get(name, {}))
    ticks = of_kind(drawing.table.to_dataframe(), "critical-time").set_index(["objective", "feature"])
    for objective in ("jepa", "mae"):
        assert np.isfinite(ticks.loc[objective].loc[["strong", "weak"], "time"]).all()
        for feature in ("none", "opposed"):
            assert ticks.loc[(objective, feature), "time"] == np.inf
            assert ticks.loc[(objective, feature), "asymptote"] == 0.0
    assert tells(drawing.caption, "JEPA", "strong", "weak", "none, opposed", "MAE", "strong", "weak", "none, opposed")
    lost: pd.DataFrame = drawing.table.to_dataframe().query("feature in ['none', 'opposed'] and kind != 'critical-time'")
    assert len(lost) > 100
    assert (lost["amplitude"] <= lost["epsilon"] * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["greedy", "network"])
def test_nothing_to_learn_is_refused(name: str) -> None:
    with pytest.raises(dyn.LindynError, match=r"learns no feature|[Nn]o feature is"):
        figures.draw(name, features=MIXED[2:])


def test_initialisation_trains_on_all_and_compares_what_is_predicted_to_be_learned() -> None:
    """Starts that mix features would be other starts without those that are never learned."""
    drawing = drawn("initialisation", features=MIXED, **OWN["initialisation"])
    frame = drawing.table.to_dataframe()
    assert set(frame["feature"]) == set(MIXED.labels())
    learned = frame[frame["feature"].isin(["strong", "weak"])]
    assert_allclose(learned["time"], times_of(learned), rtol=1e-6)
    assert not np.isfinite(frame[~frame["feature"].isin(["strong", "weak"])]["predicted_time"]).any()
    shown = {x for axes in drawing.figure.axes for line in axes.lines[:2] for x in line.get_xdata()}
    assert shown == set(learned["predicted_time"])
