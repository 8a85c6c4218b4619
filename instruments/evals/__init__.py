"""Evaluations: scenarios, what is expected of an answer, and what an answer is worth."""

from instruments.evals.analysis import Analysis, analysis_of
from instruments.evals.scenario import Description, Expectations, Scenario, Scoring
from instruments.evals.writing import FixtureExists, write

__all__ = [
    "Analysis",
    "Description",
    "Expectations",
    "FixtureExists",
    "Scenario",
    "Scoring",
    "analysis_of",
    "write",
]
