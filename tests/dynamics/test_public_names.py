import subprocess
import sys
from pathlib import Path

import dynamics

NAMES = [
    "Certainty",
    "CriticalTimes",
    "Elasticities",
    "Enclosures",
    "Ensemble",
    "Expansion",
    "Experiment",
    "Features",
    "GradientDescent",
    "LearningOrder",
    "LindynError",
    "MaskedPixels",
    "ModeTimes",
    "Moments",
    "NoisyAutoregression",
    "Objective",
    "Outcome",
    "ParameterError",
    "Regime",
    "Simulation",
    "Status",
    "Table",
    "TableError",
    "Trajectories",
    "amplitude",
    "amplitude_around",
    "critical_times",
    "crossovers",
    "elasticities",
    "enclosures",
    "expansion",
    "jepa",
    "kendall_tau",
    "mae",
    "mode_times",
    "order_features",
    "read_features",
    "run_all",
    "sampled",
    "seeds",
    "simulate",
    "supervised",
    "trajectories",
    "weight_decay_fold",
]


def test_the_public_names_are_these() -> None:
    assert dynamics.__all__ == NAMES


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in dynamics.__all__:
        assert getattr(dynamics, name).__doc__, name


def test_no_public_name_is_also_a_module() -> None:
    """Importing such a module would put it in the name's place."""
    modules = {path.stem for path in Path(dynamics.__file__).parent.glob("*.py")}
    assert not modules & set(NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(dynamics, "critical_tmes")


def test_importing_the_library_imports_nothing_heavy() -> None:
    """Every module of the critical-time path: neither SymPy nor matplotlib nor pandas nor SciPy, and flint only when asked."""
    modules = (
        *("critical_time", "trajectory", "learning_order", "certificate", "views", "feature_basis", "tables", "matrices"),
        *("simulation", "ensemble", "reduced", "regime", "workers", "sweep", "large"),
    )
    imports = "; ".join(f"import dynamics.{module}" for module in modules)
    names = "'sympy', 'matplotlib', 'pandas', 'scipy', 'flint', 'dask', 'distributed', 'pyarrow', 'zarr'"
    heavy = f"{{{names}}} & set(sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; {imports}; print({heavy})"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "set()"


def test_dynamics_imports_no_room_above_it() -> None:
    modules = (
        "critical_time",
        "reports.critical_time",
        "reports.order",
        "reports.features",
        "reports.simulation",
        "reports.sweep",
        "sources",
    )
    imports = "; ".join(f"import dynamics.{module}" for module in modules)
    above = "{'derivations', 'figures', 'cli'} & set(sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; {imports}; print({above})"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "set()"
