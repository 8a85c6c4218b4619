"""What a report tells of: one evaluation, the one it is compared with, the course of versions, and a judgement."""

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
"""Versions of a trend that are shown, the latest."""

SCORING = ("error", "failing", "flaky", "skipped", "stable")
"""Verdicts, the one that most wants looking at first."""

COMPONENTS = {
    "root_cause": "root cause",
    "fix_accuracy": "fix",
    "hypothesis_quality": "hypotheses",
    "next_steps": "next steps",
}

BASELINES = {"empty": "empty answer", "most_frequent": "most frequent cause"}


class EvaluationReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that a report is made from; every report is a pure function of it."""

    evaluation: Evaluation
    contrast: RunComparison | None = None
    trend: tuple[TrendPoint, ...] = ()
    judgement: GateResult | None = None


def who(head: EvaluationSummary) -> str:
    """Who was evaluated, without its version."""
    if head.baseline is not None:
        return BASELINES[head.baseline]
    return head.agent or ("captured answers" if head.answers == "captured" else "an agent that is not said")


def scorer(head: EvaluationSummary) -> str | None:
    """The scorer with its version."""
    return head.scorer_id and " ".join(filter(None, (head.scorer_id, head.scorer_version)))


def course(report: EvaluationReport) -> tuple[TrendPoint, ...]:
    """The versions of the evaluated agent, the first first; fewer than two are no course."""
    points = tuple(point for point in report.trend if point.agent == report.evaluation.agent)
    return points[-TREND_MAX:] if len(points) > 1 else ()


def ordered(report: EvaluationReport) -> list[ScenarioResult]:
    """The scenarios, what wants looking at first: regressed, then by verdict, then by points."""
    worse = (
        {change.scenario_id: place for place, change in enumerate(report.contrast.regressed)} if report.contrast else {}
    )

    def key(result: ScenarioResult) -> tuple[int, int, float, str]:
        place = worse.get(result.scenario_id, len(worse))
        points = -1.0 if result.mean is None else result.mean
        return place, SCORING.index(result.verdict), points, result.scenario_id

    return sorted(report.evaluation.results, key=key)


def changes(contrast: RunComparison | None) -> dict[str, ScenarioChange]:
    """What became of each scenario that is compared."""
    groups = () if contrast is None else (contrast.lower, contrast.improved, contrast.regressed)
    return {change.scenario_id: change for group in groups for change in group}


def unwanted(finding: PatternFinding) -> bool:
    """Whether the pattern is one that must not be found."""
    return ".none_of" in finding.expectation or finding.expectation.startswith("none_of")


def costs(change: ScenarioChange) -> list[PatternFinding]:
    """What a scenario lost by: patterns that used to match, as they did, and those that match now and must not."""
    lost = [finding for finding in change.lost if not unwanted(finding)]
    return lost + [finding for finding in change.gained if unwanted(finding)]


def failures(row: ScoreRow) -> Iterator[PatternFinding]:
    """The patterns that cost an answer points: wanted and not found, or found and unwanted."""
    for component in row.components:
        if component.applicable and not (component.score is not None and component.score >= 100):
            yield from (finding for finding in component.findings if finding.matched == unwanted(finding))
