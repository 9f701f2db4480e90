"""Figures of sampled and real data: features against the models' formulas and the raw pixels, networks near their times."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import dynamics as dyn
from dynamics.feature_basis import diagonalise
from dynamics.views import masked, second_moments
from tests.figures.drawn import (
    OBJECTIVES,
    TITLES,
    asymptote,
    critical_time,
    of_kind,
    small,
    spearman,
    table,
    tells,
    time_of,
    times_of,
)

DIGITS = Path(__file__).parents[2] / "examples" / "digits.npz"


# --- masking and temporal ---------------------------------------------------------------------------------------------------


def masking_features(target: str, keep: float) -> dict[str, tuple[float, float]]:
    """(lambda, sigma^2) of section 6 for what has a positive lambda, by label; pixels have variance s = 1."""
    kappa = 0.85 ** np.arange(8)
    kappa /= kappa.mean()
    lam = {"full": keep * kappa, "independent": keep**2 * kappa, "complementary": keep * (1 - keep) * (kappa - 1)}[target]
    variance = keep**2 * kappa + keep * (1 - keep)
    return {str(row + 1): (lam[row], variance[row]) for row in range(8) if lam[row] > 0}


MASKS = [("full", 0.5, 10_000), ("independent", 0.7, 500), ("complementary", 0.5, 500)]


@pytest.mark.parametrize(("target", "keep", "images"), MASKS)
def test_masking_curves_are_those_of_the_models_formulas(target: str, keep: float, images: int) -> None:
    how = {} if target == "full" else {"target": target, "keep": keep, "images": images, "depth": 1}
    frame, known = table("masking", **how), masking_features(target, keep)
    for kind in ("exact", "critical-time", "simulated", "simulated-time"):
        shown = of_kind(frame, kind)
        for objective in OBJECTIVES:
            assert set(shown.loc[shown["objective"] == objective, "feature"]) == set(known)
        pairs = np.array([known[feature] for feature in shown["feature"]])
        assert_allclose(shown["lambda"], pairs[:, 0], rtol=1e-12)
        assert_allclose(shown["rho"], pairs[:, 0] / pairs[:, 1], rtol=1e-12)
        assert_allclose(shown["sigma"] ** 2, pairs[:, 1], rtol=1e-12)
    ticks = of_kind(frame, "critical-time")
    assert_allclose(ticks["time"], times_of(ticks), rtol=1e-12)
    assert tells(small("masking", **how).caption, f"{len(known)} of them have a positive lambda")


def temporal_features(lag: int) -> tuple[np.ndarray, np.ndarray]:
    """Lambda and rho of section 6."""
    gamma, variance, noise = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.9, 1.1, 1.35, 1.7]), np.array([0, 0.1, 0.2, 0.4])
    lam = gamma**lag * variance
    return lam, lam / (variance + noise)


@pytest.mark.parametrize("lag", [1, 2])
def test_temporal_curves_are_those_of_the_models_formulas(lag: int) -> None:
    frame = table("temporal") if lag == 1 else table("temporal", lag=lag, steps=1_000, depth=1)
    lam, rho = temporal_features(lag)
    for kind in ("exact", "critical-time", "simulated", "simulated-time"):
        shown = of_kind(frame, kind)
        row = shown["feature"].astype(int) - 1
        assert_allclose(shown["lambda"], lam[row], rtol=1e-12)
        assert_allclose(shown["rho"], rho[row], rtol=1e-12)
    ticks = of_kind(frame, "critical-time")
    assert_allclose(ticks["time"], times_of(ticks), rtol=1e-12)


@pytest.mark.parametrize("name", ["masking", "temporal"])
def test_curves_of_generative_models_reach_every_fraction_at_its_critical_time(name: str) -> None:
    curves = of_kind(table(name), "exact")
    share = curves["amplitude"] / curves["asymptote"]
    for _, row in curves[(curves["amplitude"] > 1.2 * curves["epsilon"]) & (share < 0.9)].iloc[::31].iterrows():
        assert_allclose(row["time"], time_of(row, fraction=row["amplitude"] / row["asymptote"]), rtol=1e-9)


@pytest.mark.parametrize("name", ["masking", "temporal"])
def test_networks_on_a_sample_learn_near_the_models_critical_times(name: str) -> None:
    keys, frame = ["objective", "feature"], table(name)
    predicted, simulated = (of_kind(frame, kind).set_index(keys) for kind in ("critical-time", "simulated-time"))
    assert_allclose(simulated["time"], predicted["time"], rtol=0.02)
    assert np.abs(simulated["time"] / predicted["time"] - 1).max() > 1e-4  # a sample, not the model itself
    for (objective, feature), curve in of_kind(frame, "simulated").groupby(keys):
        at = simulated.loc[(objective, feature)]
        assert_allclose(np.interp(at["time"], curve["time"], curve["amplitude"]), at["amplitude"], rtol=1e-9)
        assert at["amplitude"] == pytest.approx(0.5 * asymptote(objective, at["depth"], 1, at["rho"]))
        assert (curve["amplitude"][curve["time"] < 0.999 * at["time"]] < at["amplitude"]).all()


@pytest.mark.parametrize(
    ("name", "order"), [("masking", {"jepa": "12345678", "mae": "12345678"}), ("temporal", {"jepa": "1234", "mae": "4321"})]
)
def test_order_of_learning_of_generative_models(name: str, order: dict[str, str]) -> None:
    for kind in ("critical-time", "simulated-time"):
        for objective, features in order.items():
            times = of_kind(table(name), kind, objective=objective).sort_values("time")
            assert "".join(times["feature"]) == features


@pytest.mark.parametrize("name", ["masking", "temporal"])
def test_captions_of_generative_models_tell_how_close_the_network_is(name: str) -> None:
    frame = table(name)
    for objective in OBJECTIVES:
        predicted, simulated = (
            of_kind(frame, kind, objective=objective)["time"].to_numpy() for kind in ("critical-time", "simulated-time")
        )
        furthest, rank = 100 * np.abs(simulated / predicted - 1).max(), spearman(predicted, simulated)
        count = f"{len(predicted)} of {len(predicted)}"
        told = TITLES[objective], count, f"{rank:.3f}", f"{furthest:.2g}%"
        assert tells(small(name).caption, *told)


def test_temporal_caption_compares_the_orders_at_every_depth() -> None:
    lam, rho = temporal_features(1)
    told = []
    for depth in range(1, 5):
        jepa, mae = (
            np.array([critical_time(name, depth, *pair, 0.01) for pair in zip(lam, rho, strict=True)]) for name in OBJECTIVES
        )
        signs = [np.sign((jepa[i] - jepa[j]) * (mae[i] - mae[j])) for i in range(4) for j in range(i)]
        told.append(f"{np.mean(signs):.2g}")
    assert tells(small("temporal").caption, "Kendall's tau", "depth 1 to 4", ", ".join(told))


# --- digits -----------------------------------------------------------------------------------------------------------------


def images() -> pd.DataFrame:
    """Directions of the features that are drawn: a row an objective and feature, a column a pixel."""
    return of_kind(table("digits"), "image").pivot(index=["objective", "feature"], columns="pixel", values="intensity")


def test_digit_images_are_orthonormal_directions_in_pixel_space() -> None:
    pixels = np.load(DIGITS)
    (key,) = pixels.files
    raw = pixels[key].astype(float)
    constant = np.flatnonzero(raw.std(axis=0) == 0)
    for _, shown in images().groupby("objective"):
        directions = shown.to_numpy(dtype=float)
        assert directions.shape == (2, 64)
        assert_allclose(directions @ directions.T, np.eye(2), atol=1e-10)
        assert not directions[:, constant].any()
    assert len(constant) == 3


def test_digit_features_have_the_moments_of_the_masked_pixels_along_their_images() -> None:
    raw = np.load(DIGITS)
    covariance = np.cov(raw[raw.files[0]].astype(float), rowvar=False, bias=True)
    kept, shown = 0.5, of_kind(table("digits"), "critical-time").set_index(["objective", "feature"])
    for place, pixels in images().iterrows():
        direction, row = pixels.to_numpy(dtype=float), shown.loc[place]
        variance = direction @ (kept**2 * covariance + kept * (1 - kept) * np.diag(np.diag(covariance))) @ direction
        assert row["lambda"] == pytest.approx(kept * direction @ covariance @ direction, rel=1e-9)
        assert row["sigma"] ** 2 == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_digit_times_are_the_first_critical_times_of_what_the_library_finds(objective: str) -> None:
    raw = np.load(DIGITS)
    basis = diagonalise(second_moments(masked(raw[raw.files[0]], keep=0.5)))
    found = dyn.critical_times(OBJECTIVES[objective](1), basis.features, epsilon=0.02)
    first = np.argsort(found.time)[:2]
    ticks = of_kind(table("digits"), "critical-time", objective=objective)
    assert_allclose(ticks["time"], found.time[first], rtol=1e-9)
    assert_allclose(ticks["time"], times_of(ticks), rtol=1e-11)
    drawn = images().loc[objective].loc[list(ticks["feature"])].to_numpy(dtype=float)
    assert_allclose(drawn[:, basis.moments.columns_kept], basis.directions[:, first].T, atol=1e-9)


def test_the_network_on_the_digits_learns_near_the_predicted_times() -> None:
    curves = of_kind(table("digits"), "network")
    for _, tick in of_kind(table("digits"), "critical-time").iterrows():
        curve = curves[(curves["objective"] == tick["objective"]) & (curves["feature"] == tick["feature"])]
        after = int(np.argmax(curve["amplitude"] >= tick["amplitude"]))
        assert curve["time"].iloc[after] >= 0.98 * tick["time"]
        assert curve["time"].iloc[after - 1] <= 1.02 * tick["time"]
        assert curve["time"].iloc[-1] > tick["time"]
