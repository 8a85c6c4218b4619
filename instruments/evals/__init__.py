"""Evaluations: scenarios, what is expected of an answer, and what an answer is worth."""

from instruments.errors import BadExpression, BadFixtures, Fault, FixtureExists, NoScenarios
from instruments.evals.analysis import Analysis, analysis_of
from instruments.evals.baselines import answer as baseline_answer
from instruments.evals.loading import Suite, load, load_one, scenario_id, suite_digest
from instruments.evals.scenario import Description, Expectations, Scenario, Scoring
from instruments.evals.scorer import SCORER_ID, SCORER_VERSION, Score, score
from instruments.evals.selecting import select
from instruments.evals.semantic import Meaning, meaning_of
from instruments.evals.writing import write

__all__ = [
    "SCORER_ID",
    "SCORER_VERSION",
    "Analysis",
    "BadExpression",
    "BadFixtures",
    "Description",
    "Expectations",
    "Fault",
    "FixtureExists",
    "Meaning",
    "NoScenarios",
    "Scenario",
    "Score",
    "Scoring",
    "Suite",
    "analysis_of",
    "baseline_answer",
    "load",
    "load_one",
    "meaning_of",
    "scenario_id",
    "score",
    "select",
    "suite_digest",
    "write",
]
