"""Studies of the second system: modes of losses on views, by their laws and by their matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamics.checks import check_fraction, check_positive, whole_number
from dynamics.sweep.parameters import Value, Values
from dynamics.sweep.study import Kept, Study, Work, columns_of, curves_of, number, whole, word
from dynamics.table import Table

FEATURE_COLUMNS = ("lambda", "rho", "sigma")
LOSSES = (
    *("barlow-twins", "penalised", "normalised", "spectral-contrastive", "byol", "direct-copy", "iso-loss"),
    "two-layers",
)
SETUP = {
    "width": whole(16),
    "beta": number(1.0, read_with=(("loss", ("barlow-twins", "penalised", "normalised")),)),
    "kernel": word("cross-view", "view-mean", "whitened", read_with=(("loss", ("barlow-twins",)),)),
    "views": whole(2),
    "invariance": word("pairs", "views", "averaging", read_with=(("loss", ("penalised", "normalised")),)),
    "weight_decay": number(0.0, read_with=(("loss", ("byol", "direct-copy")),)),
    "teacher_rate": number(None, read_with=(("loss", ("byol",)),)),
}
SETUP_SETTINGS = ("loss", *SETUP)


def _loss_and_setup(values: Values) -> tuple[Any, Any]:
    from dynamics.multiview.losses import Setup, loss_of

    check_positive("epsilon", values["epsilon"])
    check_fraction(values["fraction"])
    return loss_of(values["loss"]), Setup(**{name: values[name] for name in SETUP})


def _modes(features: Any, values: Values) -> Work:
    from dynamics.multiview.critical_time import critical_modes

    loss, setup = _loss_and_setup(values)
    return lambda: critical_modes(loss, features, epsilon=values["epsilon"], fraction=values["fraction"], setup=setup)


def _law_remarks(result: Any, values: Values) -> list[str]:
    from dynamics.reports.multiview import mode_remarks

    return mode_remarks(result.features, [result])


def _matrix_remarks(run: Any, values: Values) -> list[str]:
    from dynamics.reports.mode_simulation import mode_cautions

    return mode_cautions(run)


def _carried_modes(content: Any, axes: Mapping[str, Sequence[Value]]) -> Any:
    from dynamics.multiview.population import views_of

    return views_of(content).features


MULTIVIEW_CRITICAL_TIME = Study(
    "multiview critical-time",
    _modes,
    {"loss": word(*(name for name in LOSSES if name != "normalised"))}
    | SETUP
    | {"epsilon": number(1e-3), "fraction": number(0.5)},
    {
        "features": Kept(
            columns_of,
            "a mode",
            ("feature",),
            (
                *(*SETUP_SETTINGS, "epsilon", "fraction", *FEATURE_COLUMNS, "strength", "kappa", "asymptote", "threshold"),
                *("critical_time", "log10_critical_time", "accuracy", "status"),
            ),
        )
    },
    "beta = {from = 0.01, to = 1.0, log_points = 3}",
    ("Features", "Data", "AugmentationGraph"),
    remarks=_law_remarks,
    carried=_carried_modes,
)


def _matrices(views: Any, values: Values) -> Work:
    from dynamics.multiview.simulation import simulate_modes

    loss, setup = _loss_and_setup(values)
    whole_number("seed", values["seed"], 0)
    whole_number("points", values["points"], 2)
    for name in ("learning_rate", "until"):
        if values[name] is not None:
            check_positive(name, values[name])
    names = ("epsilon", "fraction", "start", "learning_rate", "images", "until", "points", "seed")
    return lambda: simulate_modes(loss, views, setup=setup, **{name: values[name] for name in names})


def _carried_views(content: Any, axes: Mapping[str, Sequence[Value]]) -> Any:
    from dynamics.features import Features
    from dynamics.multiview.population import views_of

    return content if isinstance(content, Features) else views_of(content)


def _mode_run(run: Any, values: Values) -> Table:
    from dynamics.reports.runs import mode_run

    return mode_run(run)


MODE_RUN_SETTINGS = (*SETUP_SETTINGS, "images", "start", "epsilon", "fraction", "seed", "learning_rate")
MULTIVIEW_SIMULATE = Study(
    "multiview simulate",
    _matrices,
    {"loss": word(*LOSSES)}
    | SETUP
    | {"epsilon": number(1e-3), "fraction": number(0.5), "start": word("gaussian", "orthogonal")}
    | {"learning_rate": number(None), "images": whole(None), "until": number(None), "points": whole(200), "seed": whole(0)},
    {
        "features": Kept(
            columns_of,
            "a mode of a run",
            ("feature",),
            (
                *(*MODE_RUN_SETTINGS, *FEATURE_COLUMNS, "asymptote", "threshold", "final_size", "critical_time"),
                *("simulated_time", "ratio", "effective_rank", "redundancy", "status", "simulated_status"),
            ),
        ),
        "runs": Kept(
            _mode_run,
            "a run",
            (),
            (
                *(*MODE_RUN_SETTINGS, "features", "predicted", "learned", "pairs_in_order", "median_ratio"),
                *("effective_rank", "redundancy", "final_loss", "end_time", "diverged"),
            ),
        ),
        "curves": Kept(
            curves_of,
            "a mode of a run at a time",
            ("feature", "time"),
            (*MODE_RUN_SETTINGS, "size", "effective_rank", "redundancy", "loss_value"),
        ),
    },
    "seed = {from = 0, to = 3}",
    ("Features", "Data", "AugmentationGraph"),
    remarks=_matrix_remarks,
    carried=_carried_views,
)
