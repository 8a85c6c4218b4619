"""The gate on latency and cost: above a limit is worse, and without the values nothing passes."""

from typing import Any

import pytest

from api.reports import GateLimits, judge, verdict_sentence
from api.reports.format import usd, whole_number
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import RunComparison
from tests.projections.short_evaluations import begin, evaluation, fail, score, skip

SECOND = 10**9


def compared(*answers: dict[str, Any], retried: dict[str, Any] | None = None) -> RunComparison:
    """A candidate whose answers used so much, compared with a run that passed as often."""
    names = [f"s{number}" for number in range(len(answers))]
    before = evaluation(begin("a"), *(score("a", name, 80) for name in names))
    tried = [] if retried is None else [fail("b", names[0], **retried)]
    now = [score("b", name, 80, **fields) for name, fields in zip(names, answers, strict=True)]
    return compare_runs(before, evaluation(begin("b"), *tried, *now, skip("b", "z")))


def took(*seconds: float) -> list[dict[str, Any]]:
    return [{"elapsed_ns": int(each * SECOND)} for each in seconds]


def cost(*usd: float) -> list[dict[str, Any]]:
    return [{"cost_usd": each} for each in usd]


@pytest.mark.parametrize(
    ("limits", "code", "sentence"),
    [
        (GateLimits(latency_s=2.5), 0, "Passed: 4 scenarios compared, none worse."),
        (GateLimits(latency_s=2.4), 1, "Worse: a median latency of 2.5 s is above 2.4 s."),
        (GateLimits(latency_p95_s=8.95), 0, "Passed: 4 scenarios compared, none worse."),
        (GateLimits(latency_p95_s=8.9), 1, "Worse: a 95th percentile of the latency of 8.95 s is above 8.9 s."),
        (
            GateLimits(latency_s=1, latency_p95_s=1),
            1,
            (
                "Worse: a median latency of 2.5 s is above 1 s, "
                "and a 95th percentile of the latency of 8.95 s is above 1 s."
            ),
        ),
        (GateLimits(latency_s=2.5, cost_per_attempt_usd=1), 2, "Unusable: no answer of the candidate states its cost."),
        (
            GateLimits(latency_s=2.4, cost_per_attempt_usd=1),
            1,
            "Worse: a median latency of 2.5 s is above 2.4 s.",
        ),
    ],
)
def test_latency_is_the_median_or_the_95th_percentile(limits: GateLimits, code: int, sentence: str) -> None:
    found = compared(*took(1, 2, 3, 10))
    judged = judge(found, limits)
    assert (judged.exit, verdict_sentence(judged, found)) == (code, sentence)


def test_the_latency_of_a_retried_attempt_is_that_of_its_last_try() -> None:
    found = compared(*took(1, 1), retried={"elapsed_ns": 900 * SECOND})
    assert judge(found, GateLimits(latency_p95_s=1)).exit == 0


def test_an_attempt_without_a_latency_leaves_the_question_open() -> None:
    found = compared(*took(1, 1, 1), {})
    judged = judge(found, GateLimits(latency_s=100))
    assert (judged.verdict, judged.reasons) == ("unusable", ("the latency of 1 attempt is not known",))
    none = judge(compared({}), GateLimits(latency_p95_s=100))
    assert (none.verdict, none.reasons) == ("unusable", ("no attempt of the candidate states its latency",))
    assert judge(found, GateLimits()).exit == 0, "without a limit nothing need be known"


@pytest.mark.parametrize(
    ("answers", "limit", "code", "reasons"),
    [
        (cost(0.1, 0.1, 0.1), 0.1, 0, ()),
        (cost(0.1, 0.1, 0.1), 0.0999, 1, ("a cost of $0.10 per attempt is above $0.0999",)),
        (cost(0.0, 0.0), 0.0, 0, ()),
        ([*cost(0.1, 0.1), {}], 0.1, 2, ("the cost of 1 answer is not known",)),
        ([*cost(0.4), {}, {}], 0.1, 1, ("a cost of $0.133 per attempt is above $0.10",)),
        ([{}, {}], 0.1, 2, ("no answer of the candidate states its cost",)),
    ],
)
def test_cost_is_that_of_an_attempt(
    answers: list[dict[str, Any]], limit: float, code: int, reasons: tuple[str, ...]
) -> None:
    judged = judge(compared(*answers), GateLimits(cost_per_attempt_usd=limit))
    assert (judged.exit, judged.reasons) == (code, reasons)


def test_retries_cost_too() -> None:
    limits = GateLimits(cost_per_attempt_usd=0.1)
    assert judge(compared(*cost(0.1, 0.1), retried={"cost_usd": 0.0}), limits).exit == 0
    worse = judge(compared(*cost(0.1, 0.1), retried={"cost_usd": 0.1}), limits)
    assert worse.reasons == ("a cost of $0.15 per attempt is above $0.10",)
    unknown = judge(compared(*cost(0.1, 0.1), retried={}), limits)
    assert (unknown.exit, unknown.reasons) == (2, ("the cost of 1 answer is not known",))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (0.0, "$0.00"), (1234.5, "$1,234.50"), (1.0, "$1.00"), (0.5, "$0.50"), (0.1234, "$0.123"),
        (0.012345, "$0.0123"), (0.00000123, "$0.00000123"), (0.999999, "$1.00"), (12, "$12.00"),
    ],
)  # fmt: skip
def test_dollars_have_three_digits(value: float | None, text: str) -> None:
    assert usd(value) == text


def test_tokens_are_whole_numbers() -> None:
    assert [whole_number(each) for each in (None, 0, 1_234.5, 2_000)] == ["-", "0", "1,234", "2,000"]
