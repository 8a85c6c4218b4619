"""The gate: what is worse, what is unusable, and what passes."""

import pytest

from api.reports import (
    EvaluationReport,
    GateLimits,
    html_page,
    judge,
    verdict_sentence,
)
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import RunComparison, ScenarioResult, ScoreRow
from tests.api.reports.fixed_evaluations import (
    AFTER,
    BEFORE,
    crashed,
    evaluation,
    result,
    scored,
)

SKIPPED = ScoreRow(attempt=1, state="skipped", position=1)


def runs(before: list[ScenarioResult], after: list[ScenarioResult]) -> RunComparison:
    return compare_runs(evaluation("a", "1", *before), evaluation("b", "2", *after))


STRICT = GateLimits(strict=True)


def test_strict_is_worse_as_soon_as_one_scenario_regressed() -> None:
    found = compare_runs(BEFORE, AFTER)
    judged = judge(found, STRICT)
    assert (judged.verdict, judged.exit) == ("worse", 1)
    assert verdict_sentence(judged, found) == "Worse: 3 regressions, where none is allowed."
    assert judge(found, GateLimits(regressions=2, strict=True)).exit == 1
    unusable = judge(found, GateLimits(regressions=3, strict=True))
    assert (unusable.verdict, unusable.exit) == ("unusable", 2)
    assert verdict_sentence(unusable, found) == "Unusable: 1 error, where none is allowed."
    passed = judge(found, GateLimits(regressions=3, errors=1, strict=True))
    assert passed.exit == 0
    assert verdict_sentence(passed, found) == "Passed: 4 scenarios compared, 3 regressions allowed."


@pytest.mark.parametrize(
    ("before", "after", "code", "reason"),
    [
        ([result("s", scored(80.0))], [result("s", scored(80.0))], 0, "Passed: 1 scenario compared, none worse."),
        ([result("s", scored(90.0))], [result("s", scored(70.0))], 0, "Passed: 1 scenario compared, none worse."),
        ([result("s", scored(80.0))], [result("s", scored(60.0))], 1, "Worse: 1 regression, where none is allowed."),
        ([result("s", scored(80.0))], [result("s", crashed())], 1, "Worse: 1 regression, where none is allowed."),
        ([result("s", scored(60.0))], [result("s", crashed())], 2, "Unusable: 1 error, where none is allowed."),
        ([result("s", scored(80.0))], [], 2, "Unusable: no scenario of the candidate was scored."),
        ([result("s", scored(80.0))], [result("s", SKIPPED)], 2, "Unusable: no scenario of the candidate was scored."),
        (
            [result("s", scored(80.0))],
            [result("t", scored(80.0))],
            1,
            "Worse: 1 regression, where none is allowed.",
        ),
        (
            [],
            [result("t", scored(80.0)), result("u", crashed())],
            2,
            "Unusable: no scenario is comparable with the baseline, and 1 error, where none is allowed.",
        ),
        (
            [result("s", scored(80.0), scored(20.0, attempt=2))],
            [result("s", scored(20.0), scored(80.0, attempt=2))],
            0,
            "Passed: 1 scenario compared, none worse.",
        ),
        (
            [result("s", scored(80.0), scored(80.0, attempt=2), scored(80.0, attempt=3))],
            [result("s", scored(20.0), scored(20.0, attempt=2), scored(20.0, attempt=3))],
            1,
            "Worse: 1 regression, where none is allowed.",
        ),
    ],
    ids=[
        "the same", "fewer points", "no longer passes", "an error where it passed", "an error where it failed",
        "nothing", "all skipped", "missing", "nothing in common", "passes that moved between attempts",
        "three attempts, one scenario",
    ],
)  # fmt: skip
def test_what_comes_of_it(before: list[ScenarioResult], after: list[ScenarioResult], code: int, reason: str) -> None:
    found = runs(before, after)
    judged = judge(found, STRICT)
    assert verdict_sentence(judged, found) == reason
    assert judged.exit == code


def test_the_least_mean() -> None:
    found = runs([result("s", scored(80.0))], [result("s", scored(75.0))])
    assert judge(found, GateLimits(score=75.0)).exit == 0
    judged = judge(found, GateLimits(score=75.5))
    assert verdict_sentence(judged, found) == "Worse: a mean of 75.0 is below 75.5."
    assert judged.exit == 1


def test_a_mean_just_below_does_not_read_as_if_it_were_not() -> None:
    found = runs([result("s", scored(69.996))], [result("s", scored(69.996))])
    assert verdict_sentence(judge(found, GateLimits(score=70.0)), found) == "Worse: a mean of 69.996 is below 70."
    said = html_page(EvaluationReport(evaluation=evaluation("r", "1", result("s", scored(69.996)))))
    assert "69.996 points, 70.0 needed: not passed" in said


def test_two_reasons() -> None:
    found = runs([result("s", scored(80.0))], [result("s", scored(10.0))])
    said = verdict_sentence(judge(found, GateLimits(score=50.0, strict=True)), found)
    assert said == "Worse: 1 regression, where none is allowed, and a mean of 10.0 is below 50."
