"""Score an analysis: the weighted sum of the scores of its components, with the findings.

A component without expectations is not applicable, and the weights of the others are scaled to sum to 1. A score is
rounded to six decimals, and passes if it reaches its threshold.
"""

import math
from typing import Literal

import msgspec
from msgspec import structs

from events.evaluation import Component, EmbeddingsFacts, PatternFinding
from instruments.evals.analysis import Analysis
from instruments.evals.plugins import COMPONENTS, PluginFailed, component_points, load_plugin
from instruments.evals.scenario import ADDED_PASS_POINTS, PASS_POINTS, Scenario, Scoring
from instruments.evals.scoring import component_scores, tool_calls
from instruments.evals.scoring.component_scores import DIGITS, ComponentScore
from instruments.evals.scoring.pattern_search import PatternSearch
from instruments.evals.scoring.regex_budget import TRUNCATED
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.trace.steps import RecordedTrace


class ScenarioScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an analysis. The total is None if it depends on a search that was cut off."""

    total: float | None
    """0..100."""
    passed: bool | None
    """Whether the total reaches the scenario's threshold."""
    components: tuple[Component, ...]
    """The four in their order, the tools if any are expected, and those of plugins. One that depends on a search that
    was cut off, or on a trace that was not recorded, has no score."""
    failure: Literal["pattern", "embeddings", "component"] | None = None
    detail: str | None = None
    """The pattern, the location and the reason, or the plugin and its error, in words."""
    embeddings: EmbeddingsFacts | None = None
    """What compared texts by meaning; None if no pattern needed it."""


def score(
    scenario: Scenario,
    analysis: Analysis,
    semantic_matcher: SemanticMatcher | None = None,
    *,
    reads_language: bool = True,
    trace: RecordedTrace | None = None,
) -> ScenarioScore:
    """Score an analysis.

    A search that is cut off (see `pattern_search.py`) has no effect if both possible results give the same points.
    Without `reads_language`, a pattern counts wherever it occurs: baseline answers are words and not sentences.
    `trace` has the steps that the agent recorded: without it, a scenario that expects tools cannot be scored.
    Thread-safe.
    """
    search = PatternSearch(semantic_matcher, reads_language=reads_language)
    try:
        result = _score(search, scenario, analysis, trace)
    except PluginFailed as failed:
        result = ScenarioScore(total=None, passed=None, components=(), failure="component", detail=str(failed))
    if not search.compared_by_meaning or semantic_matcher is None:
        return result
    return structs.replace(result, embeddings=semantic_matcher.facts)


def _score(search: PatternSearch, scenario: Scenario, analysis: Analysis, trace: RecordedTrace | None) -> ScenarioScore:
    """Score an analysis. Errors: PluginFailed."""
    expected, scoring = scenario.about.expected_outcomes, scenario.about.scoring
    parts: dict[str, ComponentScore | None] = {
        "root_cause": component_scores.score_root_cause(search, analysis, expected.root_cause),
        "fix_accuracy": component_scores.score_fix_accuracy(search, analysis, expected.proposed_fix),
        "hypothesis_quality": component_scores.score_hypothesis_quality(
            search, analysis, expected.hypotheses, expected.failure_mode
        ),
        "next_steps": component_scores.score_next_steps(search, analysis, expected.next_steps),
    }
    added, tools = score_added(scenario, analysis), _tools(scenario, trace)
    applicable = [name for name, part in parts.items() if part is not None] + [component.name for component in tools]
    weights = _weights(scoring, applicable, added)
    scored = [_component(search, name, part, weights.get(name)) for name, part in parts.items()]
    scored += [structs.replace(component, weight=weights[component.name]) for component in (*tools, *added)]
    if tools and tools[0].score is None:
        detail = tool_calls.explain_missing(trace)
        return ScenarioScore(total=None, passed=None, components=tuple(scored), failure="component", detail=detail)
    undecided = [part for part in parts.values() if part is not None and len(part.points) > 1]
    if undecided:
        failure, detail = _describe_undecided(search, undecided[0])
        return ScenarioScore(total=None, passed=None, components=tuple(scored), failure=failure, detail=detail)
    sum_of_parts = math.fsum((component.score or 0.0) * (component.weight or 0.0) for component in scored)
    total = min(100.0, round(sum_of_parts, DIGITS))
    return ScenarioScore(total=total, passed=total >= scoring.pass_threshold, components=tuple(scored))


def _tools(scenario: Scenario, trace: RecordedTrace | None) -> list[Component]:
    """Return the component of the tools if the scenario expects any; without a score if there is no trace to read."""
    expected = scenario.about.expected_outcomes.tools
    if expected is None:
        return []
    if trace is None or tool_calls.explain_missing(trace) is not None:
        return [Component(name=tool_calls.TOOLS, applicable=True, mark=PASS_POINTS[tool_calls.TOOLS])]
    return [tool_calls.score_tools(expected, trace.tool_calls)]


def _weights(scoring: Scoring, applicable: list[str], added: list[Component]) -> dict[str, float]:
    """Return the weights of the applicable components, scaled to sum to 1."""
    weights: dict[str, float] = {name: getattr(scoring, f"{name}_weight") for name in applicable}
    weights |= {component.name: scoring.weights[component.name] for component in added}
    total_weight = math.fsum(weights.values())
    if total_weight <= 0.0:
        raise ValueError("no applicable component has a weight: the loader refuses such a scenario")
    return {name: weight / total_weight for name, weight in weights.items()}


def _component(search: PatternSearch, name: str, part: ComponentScore | None, weight: float | None) -> Component:
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


def _describe_undecided(search: PatternSearch, part: ComponentScore) -> tuple[Literal["pattern", "embeddings"], str]:
    """Return the kind of failure, and the patterns that a score depends on, in words."""
    unknown = [pattern for pattern in part.patterns if pattern.path in search.cut_off]
    reasons = "; ".join(f"{pattern.path} ({pattern.text}) was {search.cut_off[pattern.path]}" for pattern in unknown)
    detail = f"The score hangs on what could not be found out: {reasons}."
    if any(pattern.path in search.without_vectors for pattern in unknown):
        return "embeddings", detail
    all_truncated = all(TRUNCATED in search.cut_off[pattern.path] for pattern in unknown)
    advice = "No answer needs so long a text" if all_truncated else "Write the pattern so that it needs no backtracking"
    return "pattern", f"{detail} {advice}"


def score_added(scenario: Scenario, analysis: Analysis) -> list[Component]:
    """Return each added component of a scenario, without its weight. Errors: PluginFailed."""
    answer = msgspec.to_builtins(analysis)
    return [_added_component(name, answer, value) for name, value in scenario.about.expected_outcomes.added.items()]


def _added_component(name: str, answer: dict[str, object], expected: object) -> Component:
    points, findings = component_points(name, answer, expected)
    defaults = {"expectation": name, "pattern": name, "match_type": name}
    try:
        checked = tuple(msgspec.convert(defaults | finding, PatternFinding) for finding in findings)
    except msgspec.ValidationError as error:
        plugin = load_plugin(COMPONENTS, name)
        raise PluginFailed(f"the component {plugin} gave a finding that cannot be recorded: {error}") from None
    return Component(
        name=name,
        applicable=True,
        score=round(points, DIGITS),
        mark=ADDED_PASS_POINTS,
        passed=points >= ADDED_PASS_POINTS,
        findings=checked,
    )
