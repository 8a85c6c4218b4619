"""Evaluations: scenarios, what is expected of an answer, and what an answer is worth."""

from instruments.evals.analysis import Analysis, analysis_of
from instruments.evals.errors import BadExpression, BadFixtures, FixtureExists, FixtureFault, NoScenarios
from instruments.evals.scenario import Description, Expectations, Scenario, Scoring
from instruments.evals.scoring.baselines import answer as baseline_answer
from instruments.evals.scoring.scorer import SCORER_ID, SCORER_VERSION, ScenarioScore, score
from instruments.evals.scoring.semantic import SemanticMatcher, meaning_of
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load, scenario_id, suite_digest
from instruments.evals.suite.writer import write

__all__ = [
    "SCORER_ID",
    "SCORER_VERSION",
    "Analysis",
    "BadExpression",
    "BadFixtures",
    "Description",
    "Expectations",
    "FixtureExists",
    "FixtureFault",
    "NoScenarios",
    "Scenario",
    "ScenarioScore",
    "Scoring",
    "SemanticMatcher",
    "Suite",
    "analysis_of",
    "baseline_answer",
    "load",
    "meaning_of",
    "scenario_id",
    "score",
    "select",
    "suite_digest",
    "write",
]
