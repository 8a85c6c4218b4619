"""Comparison of two evaluations, a candidate and a baseline.

Attempts are paired by scenario and number. Both must be scored or in error, with the same fixture, expectations and
scorer. If only one run states one of these, the scenario is not comparable; if neither run states it, it is ignored.
A fixture's digest covers its expectations, so the digest of the expectations is used only if no fixture digest is
stated. An error of what scores (an endpoint was down, a plugin failed) says nothing about the agent, and has no pair.

A scenario has regressed if fewer of its paired attempts pass than before. Attempts without a pair do not count, so
unequal numbers of attempts cause no regression. A regression of a flaky scenario may be chance: see the tests and the
interval of the difference. The gate's test uses attempts without a pair, too, because it compares pass rates. An error
is an attempt that did not pass, with 0 points. Scenarios are the sample, because attempts at one scenario depend on
each other: the interval is Student's over the differences of their means, with the candidate's weights, and the test of
passes flips the signs of whole scenarios.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np

from events.evaluation import PatternFinding
from projections.evaluation.aggregation import mean_difference
from projections.evaluation.scenario_passes import Attempts, count_passes
from projections.evaluation.score_context import FAILURES_OF_SCORING
from projections.evaluation.view_types import (
    Evaluation,
    EvaluationSummary,
    McNemarTest,
    RunComparison,
    ScenarioChange,
    ScenarioResult,
    ScoreRow,
)
from projections.stats.sign_flips import sign_flip_p_value

_TOLERANCE = 1e-9
"""Points that differ by less are treated as equal."""

Pair = tuple[ScoreRow, ScoreRow]

_Matched = dict[tuple[str, str], PatternFinding]
"""The findings of an attempt that matched, by expectation and pattern."""


class _Compared(NamedTuple):
    change: ScenarioChange
    weight: float
    pairs: list[Pair]
    attempts: Attempts


def compare_runs(baseline: Evaluation, candidate: Evaluation) -> RunComparison:
    """Compare a candidate with a baseline, scenario by scenario."""
    before = {result.scenario_id: result for result in baseline.results if result.attempts}
    after = {result.scenario_id: result for result in candidate.results}
    compared: list[_Compared] = []
    missing, not_comparable, added = [], [], []
    for scenario_id, was in before.items():
        now = after.get(scenario_id)
        if now is None or not now.attempts:
            missing.append(_describe_alone(was, None, "not scored" if now is None else "skipped"))
            continue
        pairs = _pairs(was, now)
        reason = next((why for pair in pairs if (why := _incomparable_reason(*pair)) is not None), None)
        if not pairs:
            reason = _unpaired_reason(was, now)
        if reason is not None:
            not_comparable.append(_describe_alone(was, now, reason))
        else:
            compared.append(_Compared(_change(now, pairs), now.weight, pairs, _all_attempts(was, now, pairs[0])))
    for scenario_id, now in after.items():
        if now.attempts and scenario_id not in before:
            added.append(_describe_alone(None, now, None))
    changes = {result.change.scenario_id: result.change for result in compared}
    errors = [_describe_errors(result, changes.get(result.scenario_id)) for result in after.values() if result.errors]
    return _build_comparison(baseline, candidate, compared, missing, not_comparable, added, errors)


def _build_comparison(
    baseline: Evaluation,
    candidate: Evaluation,
    compared: Sequence[_Compared],
    missing: Sequence[ScenarioChange],
    not_comparable: Sequence[ScenarioChange],
    added: Sequence[ScenarioChange],
    errors: Sequence[ScenarioChange],
) -> RunComparison:
    weights = np.array([item.weight for item in compared])
    before = np.array([item.change.before for item in compared], dtype=np.float64)
    after = np.array([item.change.after for item in compared], dtype=np.float64)
    gap, interval = mean_difference(before, after, weights)
    zeros = np.zeros(len(compared))
    changes = [item.change for item in compared]
    regressed = [change for change in changes if _pass_change(change) < 0]
    lower = [change for change in changes if _pass_change(change) == 0 and _point_change(change) < -_TOLERANCE]
    improved = [
        change
        for change in changes
        if _pass_change(change) > 0 or (_pass_change(change) == 0 and _point_change(change) > _TOLERANCE)
    ]
    return RunComparison(
        baseline=_summary(baseline),
        candidate=_summary(candidate),
        scenarios=len(compared),
        pairs=sum(len(item.pairs) for item in compared),
        mean_baseline=mean_difference(zeros, before, weights)[0],
        mean_candidate=mean_difference(zeros, after, weights)[0],
        difference=gap,
        difference_interval=interval,
        mcnemar=_mcnemar([item.pairs for item in compared]),
        regressions=len(regressed) + len(missing),
        unchanged=len(changes) - len(regressed) - len(lower) - len(improved),
        regressed=_worst_first(regressed),
        missing=tuple(missing),
        lower=_worst_first(lower),
        improved=_worst_first(improved)[::-1],
        added=tuple(added),
        errors=tuple(errors),
        not_comparable=tuple(not_comparable),
        passes=count_passes(item.attempts for item in compared),
    )


def _mcnemar(pairs: Sequence[Sequence[Pair]]) -> McNemarTest:
    """Test whether more attempts pass than before, given the pairs of each scenario."""
    lost = [sum(bool(was.passed) and not now.passed for was, now in scenario) for scenario in pairs]
    won = [sum(bool(now.passed) and not was.passed for was, now in scenario) for scenario in pairs]
    discordant = sum(lost) + sum(won)
    p = sign_flip_p_value(np.array(won, dtype=np.int64) - np.array(lost, dtype=np.int64)) if discordant else None
    return McNemarTest(passed_to_failed=sum(lost), failed_to_passed=sum(won), p=p)


def _pairs(was: ScenarioResult, now: ScenarioResult) -> list[Pair]:
    """Pair the attempts with the same number. Skipped and unmeasured attempts have no pair."""
    before = {row.attempt: row for row in was.rows if _is_measured(row)}
    return [(before[row.attempt], row) for row in now.rows if _is_measured(row) and row.attempt in before]


def _is_measured(row: ScoreRow) -> bool:
    return row.state != "skipped" and row.failure not in FAILURES_OF_SCORING


def _unpaired_reason(was: ScenarioResult, now: ScenarioResult) -> str:
    """Return why no attempts of a scenario can be paired."""
    failed = sorted({str(row.failure) for row in (*was.rows, *now.rows) if row.failure in FAILURES_OF_SCORING})
    return f"not measured: {', '.join(failed)}" if failed else "no attempt of the same number"


def _all_attempts(was: ScenarioResult, now: ScenarioResult, pair: Pair) -> Attempts:
    """Return the attempts of both sides, also those without a pair, that can be compared with a pair of attempts."""
    before = [row for row in was.rows if row.state != "skipped" and _incomparable_reason(row, pair[1]) is None]
    after = [row for row in now.rows if row.state != "skipped" and _incomparable_reason(pair[0], row) is None]
    return Attempts(now.scenario_id, before, after)


def _incomparable_reason(was: ScoreRow, now: ScoreRow) -> str | None:
    """Return why two scores are not comparable, or None. An error was never scored, so it need not state anything."""
    if not (_is_measured(was) and _is_measured(now)):
        return "not measured"
    error = "error" in (was.state, now.state)
    if _differ("scorer", _scorer(was), _scorer(now), error) is not None:
        return f"scorer changed: {_scorer(was) or 'unknown'}, now {_scorer(now) or 'unknown'}"
    fixture = _differ("fixture", was.fixture_digest, now.fixture_digest, error)
    expected = _differ("expectations", was.expectation_digest, now.expectation_digest, error)
    if was.fixture_digest is None and now.fixture_digest is None:
        return expected
    return expected if fixture is not None and expected == "expectations changed" else fixture


def _differ(name: str, was: str | None, now: str | None, error: bool) -> str | None:
    if was == now or (error and None in (was, now)):
        return None
    return f"{name} known on one side alone" if None in (was, now) else f"{name} changed"


def _scorer(row: ScoreRow) -> str | None:
    if row.scorer_id is None:
        return row.scorer_version
    return row.scorer_id if row.scorer_version is None else f"{row.scorer_id}@{row.scorer_version}"


def _change(now: ScenarioResult, pairs: Sequence[Pair]) -> ScenarioChange:
    before = fsum(was.total_score or 0.0 for was, _ in pairs) / len(pairs)
    after = fsum(row.total_score or 0.0 for _, row in pairs) / len(pairs)
    errors = [row for _, row in pairs if row.state == "error"]
    lost, gained = _changed_patterns(pairs)
    return ScenarioChange(
        scenario_id=now.scenario_id,
        name=now.name,
        attempts=len(pairs),
        before=before,
        after=after,
        difference=after - before,
        passed_before=sum(was.passed is True for was, _ in pairs),
        passed_after=sum(row.passed is True for _, row in pairs),
        errors_after=len(errors),
        reason=_error_reason(errors[0]) if errors else None,
        lost=lost,
        gained=gained,
    )


def _describe_alone(was: ScenarioResult | None, now: ScenarioResult | None, reason: str | None) -> ScenarioChange:
    """Describe a scenario without pairs by the results of each side that has it."""
    described = now or was
    assert described is not None
    return ScenarioChange(
        scenario_id=described.scenario_id,
        name=described.name,
        before=None if was is None else was.mean,
        after=None if now is None else now.mean,
        passed_before=None if was is None else was.passed,
        passed_after=None if now is None else now.passed,
        errors_after=0 if now is None else now.errors,
        reason=reason,
    )


def _describe_errors(now: ScenarioResult, change: ScenarioChange | None) -> ScenarioChange:
    """Describe a scenario with errors: by its comparison if the errors are in it, or else by its results."""
    if change is not None and change.errors_after:
        return change
    return _describe_alone(None, now, _error_reason(next(row for row in now.rows if row.state == "error")))


def _error_reason(row: ScoreRow) -> str:
    texts = [text for text in (row.failure, row.detail) if text is not None]
    return ": ".join(texts) or "error"


def _changed_patterns(pairs: Sequence[Pair]) -> tuple[tuple[PatternFinding, ...], tuple[PatternFinding, ...]]:
    """Return the patterns that matched in more attempts before, and those that match in more attempts now.

    Of each, return the finding of the first attempt that matched.
    """
    before, after = ([_matched(row) for row in rows] for rows in zip(*pairs, strict=True))
    return _matched_more_often(before, after), _matched_more_often(after, before)


def _matched_more_often(attempts: Sequence[_Matched], compared_with: Sequence[_Matched]) -> tuple[PatternFinding, ...]:
    count = Counter(key for matched in attempts for key in matched)
    count.subtract(key for matched in compared_with for key in matched)
    first = {key: finding for matched in reversed(attempts) for key, finding in matched.items()}
    return tuple(first[key] for key in sorted(first) if count[key] > 0)


def _matched(row: ScoreRow) -> _Matched:
    findings = (finding for component in row.components for finding in component.findings if finding.matched)
    return {(finding.expectation, finding.pattern): finding for finding in findings}


def _pass_change(change: ScenarioChange) -> int:
    return (change.passed_after or 0) - (change.passed_before or 0)


def _point_change(change: ScenarioChange) -> float:
    return change.difference or 0.0


def _worst_first(changes: Iterable[ScenarioChange]) -> tuple[ScenarioChange, ...]:
    return tuple(sorted(changes, key=lambda change: (_point_change(change), _pass_change(change), change.scenario_id)))


def _summary(whole: Evaluation) -> EvaluationSummary:
    return EvaluationSummary(**{name: getattr(whole, name) for name in EvaluationSummary.__struct_fields__})
