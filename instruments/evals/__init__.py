"""Evaluations: scenarios, what is expected of an answer, and what an answer is worth."""

from instruments.evals.analysis import Analysis, analysis_of
from instruments.evals.scenario import Description, Expectations, Scenario, Scoring

__all__ = ["Analysis", "Description", "Expectations", "Scenario", "Scoring", "analysis_of"]
