"""Studies of the first system: the network, its closed forms and its reduced equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamics.checks import check_epsilon, check_fraction, check_positive, whole_number
from dynamics.sweep.parameters import Value, Values
from dynamics.sweep.study import Kept, Study, Work, as_it_is, mark, number, whole, word
from dynamics.table import Table

SETTING = {
    "objective": word("jepa", "mae"),
    "depth": whole(2),
    "predictor_depth": whole(1),
    "epsilon": number(1e-2),
    "fraction": number(0.5),
}
REGIME = {
    "predictor_start": number(None),
    "predictor_rate": number(1.0),
    "teacher_rate": number(None),
    "weight_decay": number(0.0),
}
DESCENT = {
    "learning_rate": number(None),
    "optimiser": word("plain", "momentum", "adam", read_with=(("learning_rate", ()),)),
    "momentum": number(0.9, read_with=(("optimiser", ("momentum",)),)),
    "batch": whole(None, read_with=(("learning_rate", ()),)),
}
CONVENTION = {"time_convention": word("training", "paper")}

SETUP_COLUMNS = ("objective", "depth", "predictor_depth", "epsilon", "fraction")
FEATURE_COLUMNS = ("lambda", "rho", "sigma")
REGIME_COLUMNS = (*REGIME, "stop_gradient")
DESCENT_COLUMNS = ("start", *DESCENT)


def _setting(values: Values) -> Any:
    from dynamics.grid import Grid

    check_epsilon(values["epsilon"])
    check_fraction(values["fraction"])
    return next(_grid(values, Grid).settings())


def _grid(values: Values, grid: Any) -> Any:
    return grid(*((values[name],) for name in SETTING))


def _regime(values: Values) -> Any:
    from dynamics.regime import Regime

    return Regime(**{name: values[name] for name in REGIME}, stop_gradient=values.get("stop_gradient", True))


def _trained(population: Any, values: Values) -> Work:
    from dynamics.network.descent import GradientDescent
    from dynamics.reports.times import in_training
    from dynamics.simulation import Experiment

    setting, training = _setting(values), None
    if values["learning_rate"] is not None:
        training = GradientDescent(**{name: values[name] for name in DESCENT})
    until = in_training(values["until"], setting, values["time_convention"])
    how = {name: values[name] for name in ("start", "seed", "points", "first")}
    experiment: Experiment = Experiment.of(setting, population, regime=_regime(values), training=training, until=until, **how)
    return experiment.run


def _carried_population(content: Any, axes: Mapping[str, Sequence[Value]]) -> Any:
    from dynamics.network.population import population_of

    population = population_of(content)
    return population if any(size is not None for size in axes["batch"]) else population.without_rows()


def _run_remarks(run: Any, values: Values) -> list[str]:
    remarks: list[str] = run.remarks()
    return remarks


def _status_remarks(table: Table, values: Values) -> list[str]:
    from dynamics.status import remarks

    return remarks(table.columns["status"])


def _summary(run: Any, values: Values) -> Table:
    from dynamics.reports.runs import steps_columns
    from dynamics.reports.simulation import summary_table

    table = summary_table([run], time=values["time_convention"])
    return Table(table.columns | steps_columns(run))


def _run(run: Any, values: Values) -> Table:
    from dynamics.reports.runs import network_run

    return network_run(run, time=values["time_convention"])


def _curves(run: Any, values: Values) -> Table:
    from dynamics.reports.simulation import curves_table

    return curves_table([run], time=values["time_convention"])


SIMULATE = Study(
    "simulate",
    _trained,
    SETTING
    | {
        "start": word("balanced", "orthogonal", "haar", "gaussian"),
        "seed": whole(0, read_with=(("start", ("orthogonal", "haar", "gaussian")), ("batch", ()))),
    }
    | DESCENT
    | REGIME
    | {"stop_gradient": mark(True), "until": number(None), "first": whole(None), "points": whole(200)}
    | CONVENTION,
    {
        "features": Kept(
            _summary,
            "a feature of a run",
            ("feature",),
            (
                *(*SETUP_COLUMNS, *FEATURE_COLUMNS, "asymptote", "final_amplitude", "polar_amplitude", "critical_time"),
                *("simulated_time", "ratio", "predicted_steps", "simulated_steps", "status", "simulated_status"),
                *(*DESCENT_COLUMNS, *REGIME_COLUMNS, "time_convention"),
            ),
        ),
        "runs": Kept(
            _run,
            "a run",
            (),
            (
                *(*SETUP_COLUMNS, "seed", "features", "predicted", "learned", "already_reached", "order_correlation"),
                *(
                    "pairs_in_order",
                    "first_feature",
                    "predicted_first",
                    "median_ratio",
                    "end_time",
                    "final_loss",
                    "off_diagonal",
                ),
                *("polar_off_diagonal", "imbalance", "outcome", *DESCENT_COLUMNS, *REGIME_COLUMNS, "time_convention"),
            ),
        ),
        "curves": Kept(
            _curves,
            "a feature of a run at a time",
            ("feature", "time"),
            (
                *("run", *SETUP_COLUMNS, *FEATURE_COLUMNS, "predicted_amplitude", "amplitude", "polar_amplitude", "norm"),
                *("singular_value", "predictor_eigenvalue", "off_diagonal", "polar_off_diagonal", "imbalance", "loss"),
                *(*DESCENT_COLUMNS, *REGIME_COLUMNS, "time_convention"),
            ),
        ),
    },
    "depth = {from = 1, to = 3}",
    ("Features", "Data"),
    remarks=_run_remarks,
    carried=_carried_population,
)


def _critical_times(features: Any, values: Values) -> Work:
    from dynamics.grid import Grid
    from dynamics.reports.critical_time import critical_time_table

    _setting(values)
    regime = _regime(values)
    if values["learning_rate"] is not None:
        check_positive("learning_rate", values["learning_rate"])
    if not regime.plain and values["method"] == "exact":
        values = {**values, "method": "scipy"}
    how = {name: values[name] for name in ("method", "learning_rate", "digits")} | {"time": values["time_convention"]}
    more = {"sensitivities": values["elasticities"], "small_start": values["expansion"]}
    return lambda: critical_time_table(features, _grid(values, Grid), regime=regime, **how, **more)


def _carried_features(content: Any, axes: Mapping[str, Sequence[Value]]) -> Any:
    from dynamics.network.population import Data

    return content.basis.features if isinstance(content, Data) else content


CRITICAL_TIME = Study(
    "critical-time",
    _critical_times,
    SETTING
    | REGIME
    | {"method": word("exact", "scipy"), "learning_rate": number(None), "digits": whole(None)}
    | {"elasticities": mark(False), "expansion": mark(False)}
    | CONVENTION,
    {
        "features": Kept(
            as_it_is,
            "a feature",
            ("feature",),
            (
                *(*SETUP_COLUMNS, *FEATURE_COLUMNS, "asymptote", "critical_time", "log10_critical_time", "status"),
                *("difference", "steps", "critical_time_lower", "critical_time_upper", "elasticity_lambda"),
                *("elasticity_rho", "elasticity_epsilon", "elasticity_fraction", "dominant_time", "expansion_time"),
                *(*REGIME, "time_convention"),
            ),
        )
    },
    "depth = {from = 1, to = 3}",
    ("Features", "Data"),
    remarks=_status_remarks,
    carried=_carried_features,
)


def _exact_curves(features: Any, values: Values) -> Work:
    from dynamics.grid import Grid
    from dynamics.reports.trajectory import trajectory_table

    _setting(values)
    whole_number("points", values["points"], 2)
    how = {name: values[name] for name in ("points", "method")} | {"time": values["time_convention"]}
    return lambda: trajectory_table(features, _grid(values, Grid), **how)


TRAJECTORY = Study(
    "trajectory",
    _exact_curves,
    SETTING | {"points": whole(50), "method": word("exact", "scipy")} | CONVENTION,
    {
        "curves": Kept(
            as_it_is,
            "a feature at a time",
            ("feature", "time"),
            (
                *(*SETUP_COLUMNS, *FEATURE_COLUMNS, "time_from_critical", "amplitude", "difference", "status"),
                *("asymptote", "critical_time", "log10_critical_time", "time_convention"),
            ),
        )
    },
    "depth = {from = 1, to = 3}",
    ("Features", "Data"),
    remarks=_status_remarks,
    carried=_carried_features,
)
