"""Probes: what a model is asked to do, and how what it did is scored."""

from instruments.probes.probe import Probe, Scorer
from instruments.probes.registry import FORMERLY, PROBES, SCORERS, find_probe, name_of
from instruments.probes.score import ProbeScore

__all__ = ["FORMERLY", "PROBES", "SCORERS", "Probe", "ProbeScore", "Scorer", "find_probe", "name_of"]
