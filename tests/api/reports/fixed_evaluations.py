"""Two evaluations of one suite, the second worse: what the reports of the golden files tell of."""

from datetime import UTC, datetime

import msgspec
from msgspec import structs

from api.reports import EvaluationReport, GateLimits, judge
from events.evaluation import Component, PatternFinding
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import Evaluation, ScenarioResult, ScoreRow, TrendPoint
from tallystick.shapes.parts import Interval

WHY = "the kubelet could not pull the image: image was not found in the registry"
SAID = {"decision": {"label": "pull", "why": ["the job never started", WHY]}, "hypotheses": [{"title": "it was cut"}]}
ANSWER = msgspec.json.encode({"analysis": SAID}).decode()


def finding(
    pattern: str, *, matched: bool, expectation: str = "root_cause.patterns[0]", text: str = ""
) -> PatternFinding:
    if not matched:
        return PatternFinding(expectation=expectation, pattern=pattern, match_type="regex", matched=False)
    start = max(0, WHY.find(text))
    return PatternFinding(
        expectation=expectation,
        pattern=pattern,
        match_type="regex",
        matched=True,
        where="decision.why[1]",
        start=start,
        end=start + len(text),
        text=text,
    )


def scored(total: float, *findings: PatternFinding, attempt: int = 1, analysis: str | None = ANSWER) -> ScoreRow:
    root = Component(
        name="root_cause", applicable=True, score=total, weight=0.8, mark=70.0, passed=total >= 70, findings=findings
    )
    return ScoreRow(
        attempt=attempt,
        state="scored",
        position=attempt,
        total_score=total,
        pass_threshold=70.0,
        passed=total >= 70,
        components=(
            root,
            Component(name="fix_accuracy", applicable=False),
            Component(name="next_steps", applicable=True, score=50.0, weight=0.2, mark=50.0, passed=True),
        ),
        fixture_digest="f" * 64,
        scorer_id="rca",
        scorer_version="1",
        analysis=analysis,
        elapsed_ns=1_250_000_000,
    )


def crashed(attempt: int = 1) -> ScoreRow:
    return ScoreRow(
        attempt=attempt,
        state="error",
        position=attempt,
        failure="crash",
        elapsed_ns=80_000_000,
        detail="exit code 3",
        said='Traceback (most recent call last):\n  File "agent.py", line 7\nKeyError: "alert"',
    )


def result(scenario_id: str, *rows: ScoreRow, name: str | None = None) -> ScenarioResult:
    tried = [row for row in rows if row.state != "skipped"]
    passed, errors = sum(row.passed is True for row in tried), sum(row.state == "error" for row in tried)
    mean = sum(row.total_score or 0.0 for row in tried) / len(tried) if tried else None
    verdict = "skipped" if not tried else "stable" if passed == len(tried) else "flaky" if passed else "failing"
    return ScenarioResult(
        scenario_id=scenario_id,
        verdict="error" if tried and errors == len(tried) else verdict,  # type: ignore[arg-type]
        weight=1.0,
        attempts=len(tried),
        passed=passed,
        errors=errors,
        skipped=len(rows) - len(tried),
        name=name,
        family="pod_not_healthy",
        pass_rate=passed / len(tried) if tried else None,
        mean=mean,
        rows=rows,
    )


def evaluation(run_id: str, version: str, *results: ScenarioResult) -> Evaluation:
    rows = [row for one in results for row in one.rows]
    verdicts = [one.verdict for one in results]
    means = [one.mean for one in results if one.mean is not None]
    rates = [one.pass_rate for one in results if one.pass_rate is not None]
    return Evaluation(
        run_id=run_id,
        suite="examples",
        started_at=datetime(2026, 2, 18, 10, 5, tzinfo=UTC),
        finished_at=datetime(2026, 2, 18, 10, 7, tzinfo=UTC),
        ended=True,
        agent="triage",
        agent_version=version,
        answers="command",
        scorer_id="rca",
        scorer_version="1",
        suite_digest="0123456789abcdef" * 4,
        meta={"commit": "3f2a9c1"},
        elapsed_ns=95_000_000_000,
        planned=len(rows),
        scenarios=len(results),
        scored=sum(row.state == "scored" for row in rows),
        passed=sum(row.passed is True for row in rows),
        failed=sum(row.passed is False for row in rows),
        errors=sum(row.state == "error" for row in rows),
        skipped=sum(row.state == "skipped" for row in rows),
        stable=verdicts.count("stable"),
        flaky=verdicts.count("flaky"),
        failing=verdicts.count("failing"),
        broken=verdicts.count("error"),
        mean=sum(means) / len(means) if means else None,
        mean_interval=Interval(61.25, 88.75),
        mean_scored=80.0,
        pass_rate=sum(rates) / len(rates) if rates else None,
        pass_interval=Interval(0.4, 0.9),
        results=results,
    )


FOUND = finding("image.*not found", matched=True, text="image was not found")
NOT_FOUND = finding("image.*not found", matched=False)
DENIED = finding("node (was|is) down", matched=True, expectation="root_cause.none_of[0]", text="the job")

BEFORE = evaluation(
    "night-6",
    "1.3.0",
    result("cpu-throttling", scored(85.0)),
    result("crash-loop", scored(100.0, FOUND), scored(90.0, FOUND, attempt=2)),
    result("image-pull", scored(92.5, FOUND), scored(92.5, FOUND, attempt=2), name="Job image not found"),
    result("liveness", scored(75.0)),
    result("oom", scored(80.0)),
    result("probes", structs.replace(scored(80.0), fixture_digest="e" * 64)),
)

AFTER = evaluation(
    "night-7",
    "1.4.0",
    result("cpu-throttling", scored(100.0)),
    result("crash-loop", scored(100.0, FOUND), crashed(attempt=2)),
    result(
        "image-pull",
        scored(40.0, NOT_FOUND, DENIED),
        scored(92.5, FOUND, attempt=2),
        name="Job image not found",
    ),
    result("http-5xx", scored(72.0)),
    result("liveness", scored(71.0)),
    result("oom", ScoreRow(attempt=1, state="skipped", position=9, detail="no image of it")),
    result("probes", scored(90.0)),
)

TREND = tuple(
    TrendPoint(
        agent="triage",
        agent_version=version,
        first_at=datetime(2026, 2, day, tzinfo=UTC),
        runs=day,
        scenarios=6,
        mean=mean,
        mean_interval=Interval(mean - 12, min(100.0, mean + 9)),
        pass_rate=mean / 100,
    )
    for day, (version, mean) in enumerate([("1.2.0", 64.0), ("1.3.0", 87.1), ("1.4.0", 79.0)], 1)
)

ALONE = EvaluationReport(evaluation=AFTER, trend=TREND)
_contrast = compare_runs(BEFORE, AFTER)
TESTED = EvaluationReport(evaluation=AFTER, contrast=_contrast, trend=TREND, judgement=judge(_contrast, GateLimits()))
GATED = structs.replace(  # as a server before the test of losses answers
    TESTED, judgement=structs.replace(judge(_contrast, GateLimits(strict=True)), test=None)
)
REPORTS = {"alone": ALONE, "gated": GATED, "tested": TESTED}
