"""The statements of the theory, in its order; importing this package registers them."""

from importlib import import_module

from derivations.statement import STATEMENTS

for _part in (
    "modes",
    "matrices",
    "closed_forms",
    "dominant_terms",
    "expansions",
    "elasticities",
    "equal_lambda",
    "ordering",
    "generative",
    "beyond",
    "signs",
    "barlow_twins",
    "plateaus",
    "normalised_features",
    "augmentations",
    "view_counts",
    "matrix_flows",
    "mode_laws",
    "as_printed",
    "attention_gradients",
    "attention_phases",
    "attention_optimum",
    "attention_collapse",
):
    import_module(f"derivations.statements.{_part}")

__all__ = ["STATEMENTS"]
