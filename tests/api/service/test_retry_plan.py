"""Which attempts are tried next: by the log, the number of retries, and the errors that are to be retried."""

import random
from datetime import UTC, datetime

from api.service.evaluation.recorded_tries import RecordedTries, RunCost
from api.service.evaluation.retry_plan import (
    RetryPlan,
    errors_of_reopening,
    errors_to_retry,
    parse_reason,
    reopening_reason,
)
from api.service.evaluation.run_operations import EvalRun
from events.evaluation import EvalScored, EvalStarted, Failure

KEY = ("a", 1)


def score(
    failure: Failure | None = None, retry: int | None = None, scenario: str = "a", **fields: object
) -> EvalScored:
    """One try."""
    state = {"state": "scored", "total_score": 90.0, "passed": True} if failure is None else {"state": "error"}
    known = {"run_id": "one", "scenario_id": scenario, "attempt": 1, "failure": failure, "retry": retry}
    return EvalScored(**(known | state | fields))  # type: ignore[arg-type]


def run_of(*scores: EvalScored, before: int | None = None, reason: str | None = None) -> EvalRun:
    """A run with these tries; reopened after the first `before` of them."""
    tries = RecordedTries(reason=reason)
    for number, one in enumerate(scores):
        if number == before:
            tries.before = dict(tries.last)
        tries.add([one])
    if before == len(scores):
        tries.before = dict(tries.last)
    started = EvalStarted(run_id="one", suite="s")
    return EvalRun(started=started, version=1, tries=tries, finished=False, worked_ns=0)


def test_transient_errors_are_retried_so_often() -> None:
    assert RetryPlan(run_of()).due([KEY]) == [KEY]
    assert RetryPlan(run_of(score("rate_limit"))).due([KEY]) == []
    plan = RetryPlan(run_of(score("rate_limit")), 2)
    assert (plan.due([KEY]), plan.next_retry(KEY)) == ([KEY], 1)
    assert RetryPlan(run_of(score("rate_limit"), score("timeout", 1)), 2).is_due(KEY)
    assert not RetryPlan(run_of(score("rate_limit"), score("timeout", 1), score("unavailable", 2)), 2).is_due(KEY)
    assert not RetryPlan(run_of(score("crash")), 2).is_due(KEY)
    assert not RetryPlan(run_of(score()), 2).is_due(KEY)


def test_the_wait_doubles_up_to_a_minute_and_half_of_it_is_chance() -> None:
    tries = [score("timeout", retry or None) for retry in range(12)]
    for number in range(1, 12):
        longest_s = min(60.0, 2.0 ** (number - 1))
        plan = RetryPlan(run_of(*tries[:number]), 20, chance=random.Random(number))
        waits_s = [plan.wait_s(KEY) for _ in range(200)]
        assert longest_s / 2 <= min(waits_s) < longest_s * 0.55
        assert longest_s * 0.95 < max(waits_s) <= longest_s
        assert waits_s[0] == RetryPlan(run_of(*tries[:number]), 20, chance=random.Random(number)).wait_s(KEY)


def test_errors_that_are_selected_are_retried_at_least_once_and_others_are_kept() -> None:
    run = run_of(score("crash"), score("rate_limit", scenario="b"), score(scenario="c"))
    keys = [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    assert RetryPlan(run, 3, errors_to_retry(run.scored, ())).due(keys) == [("a", 1), ("b", 1), ("d", 1)]
    only = RetryPlan(run, 3, errors_to_retry(run.scored, ("crash",)))
    assert only.due(keys) == [("a", 1), ("d", 1)]
    assert only.wait_s(KEY) == 0.0
    run.tries.add([score("timeout", 1)])
    assert only.due(keys) == [("a", 1), ("d", 1)]
    assert only.wait_s(KEY) > 0
    run.tries.add([score("timeout", 2), score("timeout", 3), score("timeout", 4)])
    assert only.due(keys) == [("d", 1)]


def test_a_reopened_run_continues_with_the_errors_for_which_it_was_reopened() -> None:
    scores = (score("crash"), score("rate_limit", scenario="b"), score("timeout", scenario="c"), score("crash", 1))
    keys = [("a", 1), ("b", 1), ("c", 1)]
    run = run_of(*scores, before=3, reason=reopening_reason(()))
    assert RetryPlan(run, 0, errors_of_reopening(run.tries)).due(keys) == [("b", 1), ("c", 1)]
    run = run_of(*scores, before=3, reason=reopening_reason(("timeout", "crash")))
    assert RetryPlan(run, 5, errors_of_reopening(run.tries)).due(keys) == [("c", 1)]
    assert errors_of_reopening(run_of(*scores).tries) is None


def test_reasons() -> None:
    assert parse_reason(reopening_reason(())) == ()
    assert parse_reason(reopening_reason(("rate_limit", "timeout"))) == ("rate_limit", "timeout")
    assert parse_reason("a person's words: all of them") == ()
    assert parse_reason("retry of errors: weather") == ()
    assert parse_reason(None) == ()


def test_costs_are_of_all_tries_and_an_answer_that_is_scored_again_costs_once() -> None:
    cost = run_of(
        score("rate_limit", cost_usd=0.25),
        score("judge", 1, cost_usd=0.5, analysis_digest="d" * 64),
        score(None, 2, cost_usd=0.5, analysis_digest="d" * 64),
        score("timeout", scenario="b"),
        score(None, 1, scenario="b", cost_usd=1.0),
    ).tries.cost
    assert cost == RunCost(spent_usd=1.75, without_cost=0, errors_without_cost=1)
    assert run_of(score()).tries.cost.without_cost == 1
    skipped = EvalScored(run_id="one", scenario_id="z", attempt=1, state="skipped")
    assert run_of(skipped).tries.cost == RunCost()


def test_a_recorded_pause_ends_after_its_time() -> None:
    tries = RecordedTries()
    tries.add([score("rate_limit", detail="agent: its endpoint refused for its rate limit (retry after 30 s, host)")])
    (last,) = tries.last.values()
    assert last.pause() is None
    at = datetime(2026, 11, 26, tzinfo=UTC)
    stated = type(last).of(last.error, at) if last.error is not None else last
    pause = stated.pause()
    assert pause is not None
    assert (pause[0], (pause[1] - at).total_seconds()) == ("host", 30.0)
