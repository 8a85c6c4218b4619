"""The data of a report: an evaluation, its comparison with a baseline, the trend over versions, and the verdict."""

from collections.abc import Iterator

import msgspec
import msgspec.json

from api.reports.gate import GateResult
from events.evaluation import PatternFinding
from projections.evaluation.view_types import (
    Evaluation,
    EvaluationSummary,
    RunComparison,
    ScenarioChange,
    ScenarioResult,
    ScoreRow,
    TrendPoint,
)

TREND_MAX = 24
"""The most versions of a trend that reports show; the latest ones."""

POINTS_MAX = 100

VERDICTS = ("error", "failing", "flaky", "skipped", "stable")
"""Verdicts, the most urgent first."""

COMPONENTS = {
    "root_cause": "root cause",
    "fix_accuracy": "fix",
    "hypothesis_quality": "hypotheses",
    "next_steps": "next steps",
}

BASELINES = {"empty": "empty answer", "most_frequent": "most frequent cause"}


class EvaluationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a report; each report format is a pure function of them."""

    evaluation: Evaluation
    contrast: RunComparison | None = None
    trend: tuple[TrendPoint, ...] = ()
    judgement: GateResult | None = None


def component_title(name: str) -> str:
    """Return the heading of a component; that of a criterion, or of an added component, is its name."""
    return COMPONENTS.get(name, name)


def agent_name(head: EvaluationSummary) -> str:
    """Return the name of the evaluated agent, without its version."""
    if head.baseline is not None:
        return BASELINES[head.baseline]
    return head.agent or ("captured answers" if head.answers == "captured" else "unnamed agent")


def scorer_name(head: EvaluationSummary) -> str | None:
    """Return the scorer with its version."""
    return head.scorer_id and " ".join(filter(None, (head.scorer_id, head.scorer_version)))


def versions_of(report: EvaluationReport) -> tuple[TrendPoint, ...]:
    """Return the versions of the evaluated agent, oldest first; none if there is only one."""
    points = tuple(point for point in report.trend if point.agent == report.evaluation.agent)
    return points[-TREND_MAX:] if len(points) > 1 else ()


def by_urgency(report: EvaluationReport) -> list[ScenarioResult]:
    """Sort the scenarios by urgency: regressed first, then by verdict, then by points."""
    regressed = report.contrast.regressed if report.contrast else ()
    ranks = {change.scenario_id: rank for rank, change in enumerate(regressed)}

    def key(result: ScenarioResult) -> tuple[int, int, float, str]:
        rank = ranks.get(result.scenario_id, len(ranks))
        points = -1.0 if result.mean is None else result.mean
        return rank, VERDICTS.index(result.verdict), points, result.scenario_id

    return sorted(report.evaluation.results, key=key)


def changes_by_scenario(contrast: RunComparison | None) -> dict[str, ScenarioChange]:
    """Return the change of each compared scenario by its id."""
    groups = () if contrast is None else (contrast.lower, contrast.improved, contrast.regressed)
    return {change.scenario_id: change for group in groups for change in group}


def is_forbidden(finding: PatternFinding) -> bool:
    """Return whether a pattern is forbidden."""
    return ".none_of" in finding.expectation or finding.expectation.startswith(("none_of", "tools.forbidden"))


def lost_patterns(change: ScenarioChange) -> list[PatternFinding]:
    """Return the patterns that cost a scenario points: those that used to match, and forbidden ones that match now."""
    lost = [finding for finding in change.lost if not is_forbidden(finding)]
    return lost + [finding for finding in change.gained if is_forbidden(finding)]


def failed_patterns(row: ScoreRow) -> Iterator[PatternFinding]:
    """Yield the patterns that cost an answer points: required ones not found, and forbidden ones found."""
    for component in row.components:
        if component.applicable and not (component.score is not None and component.score >= POINTS_MAX):
            yield from (finding for finding in component.findings if finding.matched == is_forbidden(finding))
