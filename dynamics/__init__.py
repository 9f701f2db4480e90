"""When deep linear self-supervised networks learn which feature: exact numbers.

    >>> import dynamics as dyn
    >>> features = dyn.Features(lam=[1.0, 0.8], rho=[0.5, 1.2])
    >>> dyn.critical_times(dyn.jepa(depth=3), features, epsilon=1e-3).status[0].value
    'reached'

Importing this package imports NumPy and nothing heavier.
"""

from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import LindynError, ParameterError, TableError
from dynamics.features import Features
from dynamics.objectives import Objective, jepa, mae, supervised
from dynamics.status import Status
from dynamics.trajectory import amplitude, amplitude_around

__all__ = [
    "CriticalTimes",
    "Features",
    "LindynError",
    "Objective",
    "ParameterError",
    "Status",
    "TableError",
    "amplitude",
    "amplitude_around",
    "critical_times",
    "jepa",
    "mae",
    "supervised",
]
