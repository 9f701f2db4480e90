"""When deep linear self-supervised networks learn which feature: exact numbers.

    >>> import dynamics as dyn
    >>> features = dyn.Features(lam=[1.0, 0.8], rho=[0.5, 1.2])
    >>> dyn.critical_times(dyn.jepa(depth=3), features, epsilon=1e-3).status[0].value
    'reached'

Importing this package imports nothing heavier than NumPy, and each name only when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamics.certificate import Enclosures as Enclosures
    from dynamics.certificate import enclosures as enclosures
    from dynamics.comparison import Simulation as Simulation
    from dynamics.critical_time import CriticalTimes as CriticalTimes
    from dynamics.critical_time import Elasticities as Elasticities
    from dynamics.critical_time import Expansion as Expansion
    from dynamics.critical_time import critical_times as critical_times
    from dynamics.critical_time import elasticities as elasticities
    from dynamics.critical_time import expansion as expansion
    from dynamics.ensemble import Ensemble as Ensemble
    from dynamics.ensemble import run_all as run_all
    from dynamics.ensemble import seeds as seeds
    from dynamics.errors import LindynError as LindynError
    from dynamics.errors import ParameterError as ParameterError
    from dynamics.errors import TableError as TableError
    from dynamics.feature_table import read_features as read_features
    from dynamics.features import Features as Features
    from dynamics.generative import MaskedPixels as MaskedPixels
    from dynamics.generative import NoisyAutoregression as NoisyAutoregression
    from dynamics.generative import sampled as sampled
    from dynamics.learning_order import Certainty as Certainty
    from dynamics.learning_order import LearningOrder as LearningOrder
    from dynamics.learning_order import crossovers as crossovers
    from dynamics.learning_order import kendall_tau as kendall_tau
    from dynamics.learning_order import order_features as order_features
    from dynamics.modes import weight_decay_fold as weight_decay_fold
    from dynamics.network.descent import GradientDescent as GradientDescent
    from dynamics.network.moments import Moments as Moments
    from dynamics.network.outcome import Outcome as Outcome
    from dynamics.objectives import Objective as Objective
    from dynamics.objectives import jepa as jepa
    from dynamics.objectives import mae as mae
    from dynamics.objectives import supervised as supervised
    from dynamics.reduced import ModeTimes as ModeTimes
    from dynamics.reduced import mode_times as mode_times
    from dynamics.regime import Regime as Regime
    from dynamics.simulation import Experiment as Experiment
    from dynamics.simulation import simulate as simulate
    from dynamics.status import Status as Status
    from dynamics.table import Table as Table
    from dynamics.trajectory import Trajectories as Trajectories
    from dynamics.trajectory import amplitude as amplitude
    from dynamics.trajectory import amplitude_around as amplitude_around
    from dynamics.trajectory import trajectories as trajectories

_MODULES = {
    "certificate": ("Enclosures", "enclosures"),
    "comparison": ("Simulation",),
    "critical_time": ("CriticalTimes", "Elasticities", "Expansion", "critical_times", "elasticities", "expansion"),
    "ensemble": ("Ensemble", "run_all", "seeds"),
    "errors": ("LindynError", "ParameterError", "TableError"),
    "feature_table": ("read_features",),
    "features": ("Features",),
    "generative": ("MaskedPixels", "NoisyAutoregression", "sampled"),
    "learning_order": ("Certainty", "LearningOrder", "crossovers", "kendall_tau", "order_features"),
    "modes": ("weight_decay_fold",),
    "network.descent": ("GradientDescent",),
    "network.moments": ("Moments",),
    "network.outcome": ("Outcome",),
    "objectives": ("Objective", "jepa", "mae", "supervised"),
    "reduced": ("ModeTimes", "mode_times"),
    "regime": ("Regime",),
    "simulation": ("Experiment", "simulate"),
    "status": ("Status",),
    "table": ("Table",),
    "trajectory": ("Trajectories", "amplitude", "amplitude_around", "trajectories"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
