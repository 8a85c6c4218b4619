"""What an analysis is worth: its four components by weight, and what was found where (`points.py`).

What is not expected is not applicable: it counts nowhere, and the weights of the others are made to sum to 1. A score
is rounded to six decimals, and passes where it reaches its mark.
"""

import math
from typing import Literal

import msgspec

from events.evaluation import Component, ComponentName
from instruments.evals.analysis import Analysis
from instruments.evals.scenario import MARKS, Scenario, Scoring
from instruments.evals.scoring import components
from instruments.evals.scoring.components import DIGITS, ComponentScore
from instruments.evals.scoring.matcher import PatternSearch
from instruments.evals.scoring.regex_budget import BEYOND
from instruments.evals.scoring.semantic import SemanticMatcher

SCORER_ID = "rca"
SCORER_VERSION = "1"


class ScenarioScore(msgspec.Struct, frozen=True, kw_only=True):
    """What an analysis is worth. Without a total, a pattern was cut off on which the score hangs."""

    total: float | None
    """0..100."""
    passed: bool | None
    """Whether the total reaches the scenario's threshold."""
    components: tuple[Component, ...]
    """All four, in their order; the score of one that hangs on a pattern that was cut off is absent."""
    failure: Literal["pattern"] | None = None
    detail: str | None = None
    """Which pattern, where, and why, in words."""


def score(scenario: Scenario, analysis: Analysis, meaning: SemanticMatcher | None = None) -> ScenarioScore:
    """Score an analysis.

    A search that is cut off (see `matching.py`) changes nothing where both of its answers give the same points.
    Several threads may score at once.
    """
    expected, search = scenario.about.expected_outcomes, PatternSearch(meaning)
    parts: dict[ComponentName, ComponentScore | None] = {
        "root_cause": components.root_cause(search, analysis, expected.root_cause),
        "fix_accuracy": components.fix_accuracy(search, analysis, expected.proposed_fix),
        "hypothesis_quality": components.hypothesis_quality(
            search, analysis, expected.hypotheses, expected.failure_mode
        ),
        "next_steps": components.next_steps(search, analysis, expected.next_steps),
    }
    weights = _weights(scenario.about.scoring, [name for name, part in parts.items() if part is not None])
    scored = tuple(_component(search, name, part, weights.get(name)) for name, part in parts.items())
    undecided = next((part for part in parts.values() if part is not None and len(part.points) > 1), None)
    if undecided is not None:
        detail = _undecided(search, undecided)
        return ScenarioScore(total=None, passed=None, components=scored, failure="pattern", detail=detail)
    sum_of_parts = math.fsum((one.score or 0.0) * (one.weight or 0.0) for one in scored)
    total = min(100.0, round(sum_of_parts, DIGITS))
    return ScenarioScore(total=total, passed=total >= scenario.about.scoring.pass_threshold, components=scored)


def _weights(scoring: Scoring, applicable: list[ComponentName]) -> dict[ComponentName, float]:
    """The weights of the components that apply, which sum to 1."""
    stated: dict[ComponentName, float] = {name: getattr(scoring, f"{name}_weight") for name in applicable}
    whole = math.fsum(stated.values())
    if whole <= 0.0:
        raise ValueError("nothing that weighs anything is expected: a scenario like that is refused when it is loaded")
    return {name: weight / whole for name, weight in stated.items()}


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
        mark=MARKS[name],
        passed=None if score is None else score >= MARKS[name],
        findings=findings,
    )


def _undecided(search: PatternSearch, part: ComponentScore) -> str:
    """Which patterns a score hangs on."""
    cut = [pattern for pattern in part.patterns if pattern.path in search.cut]
    told = "; ".join(f"{pattern.path} ({pattern.text}) was {search.cut[pattern.path]}" for pattern in cut)
    long = all(BEYOND in search.cut[pattern.path] for pattern in cut)
    advice = "No answer needs so long a text" if long else "Write the pattern so that it needs no backtracking"
    return f"The score hangs on what could not be found out: {told}. {advice}"
