"""Evaluations: scenarios, the expected answers, and the scoring of an agent's answers."""

from instruments.errors import BadExpression, BadFixtures, FixtureExists, FixtureFault, NoScenarios
from instruments.evals.analysis import Analysis, parse_analysis
from instruments.evals.scenario import Description, Expectations, Scenario, Scoring
from instruments.evals.scoring.baseline_answers import baseline_answer
from instruments.evals.scoring.scorer import ScenarioScore, score
from instruments.evals.scoring.scorer_version import SCORER_ID, SCORER_VERSION
from instruments.evals.scoring.semantic_matcher import SemanticMatcher, matcher_from_environment
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load, scenario_id, suite_digest
from instruments.evals.suite.writer import write_scenario

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
    "baseline_answer",
    "load",
    "matcher_from_environment",
    "parse_analysis",
    "scenario_id",
    "score",
    "select",
    "suite_digest",
    "write_scenario",
]
