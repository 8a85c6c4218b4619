"""Probes: what a model is asked to do, and how what it did is scored."""

from instruments.probes.probe import Probe, Scorer
from instruments.probes.score import Score

__all__ = ["Probe", "Score", "Scorer"]
