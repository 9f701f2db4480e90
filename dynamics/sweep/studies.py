"""The studies that a sweep can be made of; a new one is one entry here."""

from __future__ import annotations

from dynamics.sweep.of_attention import ATTENTION_PHASES, ATTENTION_SIMULATE
from dynamics.sweep.of_modes import MULTIVIEW_CRITICAL_TIME, MULTIVIEW_SIMULATE
from dynamics.sweep.of_networks import CRITICAL_TIME, SIMULATE, TRAJECTORY

STUDIES = {
    study.name: study
    for study in (
        SIMULATE,
        CRITICAL_TIME,
        TRAJECTORY,
        MULTIVIEW_CRITICAL_TIME,
        MULTIVIEW_SIMULATE,
        ATTENTION_PHASES,
        ATTENTION_SIMULATE,
    )
}
"""Every study by the command that does the same once."""
