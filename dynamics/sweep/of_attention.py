"""Studies of the third system: attention, by the reduced flows and by the network."""

from __future__ import annotations

from typing import Any

from dynamics.checks import check_share, whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.sweep.parameters import Parameter, Values
from dynamics.sweep.study import Kept, Study, Work, as_it_is, curves_of, mark, number, whole, word
from dynamics.table import Table

IMAGES = {
    "patches": number(196.0),
    "global_size": number(None),
    "local_size": number(None),
    "kappa_c": number(None),
    "kappa_s": number(None),
    "masked": number(0.5),
    "clusters": whole(1),
    "latent_low": number(1.0),
    "latent_high": number(1.0),
}
IMAGE_COLUMNS = (
    *("patches", "global_size", "local_size", "kappa_c", "kappa_s", "gap", "masked", "clusters", "latent_low"),
    "latent_high",
)


def _images(values: Values) -> Any:
    from dynamics.attention.images import Areas, ImageModel, uniform

    sizes, exponents = ([values[name] for name in names] for names in (("global_size", "local_size"), ("kappa_c", "kappa_s")))
    given = [all(value is not None for value in pair) for pair in (sizes, exponents)]
    if sum(given) != 1 or sum(value is not None for value in (*sizes, *exponents)) != 2:
        raise LindynError("Areas are global_size with local_size, or kappa_c with kappa_s; give one of these pairs.")
    areas = Areas(values["patches"], *sizes) if given[0] else Areas.of_exponents(values["patches"], *exponents)
    return ImageModel(areas, values["masked"], values["clusters"], uniform(values["latent_low"], values["latent_high"]))


def _contrast(values: Values) -> Any:
    from dynamics.attention.cl_flow import Contrast

    return Contrast(values["temperature"], None, values["weight_decay"])


def _phases(nothing: None, values: Values) -> Work:
    from dynamics.reports.attention import phases_table

    model, contrast = _images(values), _contrast(values)
    return lambda: phases_table([model], contrast, counts=values["counts"], positions=values["positions"])


def _phases_remarks(table: Table, values: Values) -> list[str]:
    from dynamics.reports.attention import phases_remarks

    return phases_remarks(table)


ATTENTION_PHASES = Study(
    "attention phases",
    _phases,
    IMAGES
    | {"temperature": number(0.5), "weight_decay": number(0.0)}
    | {"counts": Parameter(str, None, ("exact", "mean")), "positions": mark(True)},
    {
        "sizes": Kept(
            as_it_is,
            "a size of images",
            (),
            (
                *(*IMAGE_COLUMNS, "counts", "initial_ratio", "leader", "onset", "first_phase", "second_phase", "settled"),
                *("phi_T", "phi_G", "second_leading", "phi_G_leading", "exponent", "exponent_limit", "least_loss"),
                *("collapse_position", "collapse_full", "critical_weight_decay"),
            ),
        )
    },
    "patches = {from = 1e4, to = 1e8, log_points = 3}",
    remarks=_phases_remarks,
    needed={"kappa_c": "0.9", "kappa_s": "0.4"},
)


def _attention_remarks(run: Any, values: Values) -> list[str]:
    return ["A run diverged; lower learning_rate."] if run.diverged else []


def _attention(nothing: None, values: Values) -> Work:
    from dynamics.attention.simulation import USUAL, Training, simulate_attention

    model, contrast, objective = _images(values), _contrast(values), values["objective"]
    model.areas.whole()
    if objective == "cl" and model.clusters < 2:
        raise ParameterError("clusters", model.clusters, "at least 2 for contrastive learning")
    check_share("momentum", values["momentum"])
    whole_number("seed", values["seed"], 0)
    whole_number("looks", values["looks"], 1)
    steps, batch = (
        usual if values[name] is None else values[name]
        for name, usual in zip(("steps", "batch"), USUAL[objective], strict=True)
    )
    training = Training(steps, batch, values["learning_rate"], values["optimiser"], values["momentum"])
    how = {name: values[name] for name in ("query", "shared_partition", "seed", "looks")}
    return lambda: simulate_attention(objective, model, training=training, contrasted=contrast, **how)


def _attention_row(run: Any, values: Values) -> Table:
    from dynamics.reports.attention import run_row

    return run_row(run)


OF_CONTRAST = ("objective", ("cl",))
ATTENTION_SIMULATE = Study(
    "attention simulate",
    _attention,
    {"objective": word("mae", "cl")}
    | IMAGES
    | {
        "temperature": number(0.5, read_with=(OF_CONTRAST,)),
        "weight_decay": number(0.0, read_with=(OF_CONTRAST,)),
        "query": word("full", "position", read_with=(OF_CONTRAST,)),
        "shared_partition": mark(False),
        "steps": whole(None),
        "batch": whole(None),
        "learning_rate": number(None),
        "optimiser": word("plain", "momentum", "adam"),
        "momentum": number(0.9, read_with=(("optimiser", ("momentum",)),)),
        "seed": whole(0),
        "looks": whole(60),
    },
    {
        "runs": Kept(
            _attention_row,
            "a run",
            (),
            (
                *("objective", "query", *IMAGE_COLUMNS, "steps", "batch", "learning_rate", "optimiser", "seed"),
                *("predicted_half", "simulated_half", "ratio", "rms_phi_T", "rms_phi_G", "local_to_own"),
                *("local_to_global", "global_to_global", "diversity", "information", "distance", "local_distance"),
                "final_loss",
            ),
        ),
        "curves": Kept(
            curves_of,
            "a run at a time",
            ("time",),
            (
                *("objective", "patches", "global_size", "local_size", "phi_T", "phi_G", "phi_G_sd", "phi_O", "own"),
                *("glob", "diversity", "loss"),
            ),
        ),
    },
    "seed = {from = 0, to = 3}",
    remarks=_attention_remarks,
    needed={"patches": "36.0", "global_size": "16.0", "local_size": "5.0", "steps": "50"},
)
