"""Probes: tasks for a model, with scorers that run without a model."""

from instruments.probes.probe import Probe, Scorer
from instruments.probes.registry import (
    FORMER_PROBE_IDS,
    PROBES,
    SCORERS,
    find_probe,
    scorer_name,
)
from instruments.probes.score import ProbeScore, Unscored

__all__ = [
    "FORMER_PROBE_IDS",
    "PROBES",
    "SCORERS",
    "Probe",
    "ProbeScore",
    "Scorer",
    "Unscored",
    "find_probe",
    "scorer_name",
]
