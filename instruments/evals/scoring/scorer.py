"""Score an analysis: the weighted sum of the scores of its four components, with the findings.

A component without expectations is not applicable, and the weights of the others are scaled to sum to 1. A score is
rounded to six decimals, and passes if it reaches its threshold.
"""

import math
from typing import Literal

import msgspec

from events.evaluation import Component, ComponentName
from instruments.evals.analysis import Analysis
from instruments.evals.scenario import PASS_POINTS, Scenario, Scoring
from instruments.evals.scoring import component_scores
from instruments.evals.scoring.component_scores import DIGITS, ComponentScore
from instruments.evals.scoring.pattern_search import PatternSearch
from instruments.evals.scoring.regex_budget import TRUNCATED
from instruments.evals.scoring.semantic_matcher import SemanticMatcher

SCORER_ID = "rca"
SCORER_VERSION = "1"


class ScenarioScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an analysis. The total is None if it depends on a search that was cut off."""

    total: float | None
    """0..100."""
    passed: bool | None
    """Whether the total reaches the scenario's threshold."""
    components: tuple[Component, ...]
    """All four, in their order. One that depends on a search that was cut off has no score."""
    failure: Literal["pattern"] | None = None
    detail: str | None = None
    """The pattern, the location and the reason, in words."""


def score(scenario: Scenario, analysis: Analysis, semantic_matcher: SemanticMatcher | None = None) -> ScenarioScore:
    """Score an analysis.

    A search that is cut off (see `pattern_search.py`) has no effect if both possible results give the same points.
    Thread-safe.
    """
    expected, search = scenario.about.expected_outcomes, PatternSearch(semantic_matcher)
    parts: dict[ComponentName, ComponentScore | None] = {
        "root_cause": component_scores.score_root_cause(search, analysis, expected.root_cause),
        "fix_accuracy": component_scores.score_fix_accuracy(search, analysis, expected.proposed_fix),
        "hypothesis_quality": component_scores.score_hypothesis_quality(
            search, analysis, expected.hypotheses, expected.failure_mode
        ),
        "next_steps": component_scores.score_next_steps(search, analysis, expected.next_steps),
    }
    weights = _weights(scenario.about.scoring, [name for name, part in parts.items() if part is not None])
    scored = tuple(_component(search, name, part, weights.get(name)) for name, part in parts.items())
    undecided = next((part for part in parts.values() if part is not None and len(part.points) > 1), None)
    if undecided is not None:
        detail = _describe_undecided(search, undecided)
        return ScenarioScore(total=None, passed=None, components=scored, failure="pattern", detail=detail)
    sum_of_parts = math.fsum((component.score or 0.0) * (component.weight or 0.0) for component in scored)
    total = min(100.0, round(sum_of_parts, DIGITS))
    return ScenarioScore(total=total, passed=total >= scenario.about.scoring.pass_threshold, components=scored)


def _weights(scoring: Scoring, applicable: list[ComponentName]) -> dict[ComponentName, float]:
    """Return the weights of the applicable components, scaled to sum to 1."""
    weights: dict[ComponentName, float] = {name: getattr(scoring, f"{name}_weight") for name in applicable}
    total_weight = math.fsum(weights.values())
    if total_weight <= 0.0:
        raise ValueError("no applicable component has a weight: the loader refuses such a scenario")
    return {name: weight / total_weight for name, weight in weights.items()}


def _component(
    search: PatternSearch, name: ComponentName, part: ComponentScore | None, weight: float | None
) -> Component:
    if part is None:
        return Component(name=name, applicable=False)
    findings = tuple(search.finding(pattern, part.location, part.note) for pattern in part.patterns)
    score = min(part.points) if len(part.points) == 1 else None
    return Component(
        name=name,
        applicable=True,
        score=score,
        weight=weight,
        mark=PASS_POINTS[name],
        passed=None if score is None else score >= PASS_POINTS[name],
        findings=findings,
    )


def _describe_undecided(search: PatternSearch, part: ComponentScore) -> str:
    """Describe the patterns that a score depends on."""
    unknown = [pattern for pattern in part.patterns if pattern.path in search.cut_off]
    reasons = "; ".join(f"{pattern.path} ({pattern.text}) was {search.cut_off[pattern.path]}" for pattern in unknown)
    all_truncated = all(TRUNCATED in search.cut_off[pattern.path] for pattern in unknown)
    advice = "No answer needs so long a text" if all_truncated else "Write the pattern so that it needs no backtracking"
    return f"The score hangs on what could not be found out: {reasons}. {advice}"
