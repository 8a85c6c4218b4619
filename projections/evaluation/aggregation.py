"""Aggregation of scores by scenario and over scenarios, used by runs, lists and scoreboards.

Scenarios are the sample, and attempts at a scenario are repetitions: the statistics of a suite are computed over the
means of its scenarios, weighted by their weights.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.evaluation.view_types import PassOfK, ScenarioResult, Verdict
from projections.stats.intervals import weighted_mean_interval, wilson_interval
from projections.stats.pass_at_k import all_pass, any_passes
from tallystick.shapes.parts import Interval

_OUTCOMES_COUNT = 5
FAILED, PASSED, ERROR, SKIPPED, UNMEASURED = range(_OUTCOMES_COUNT)
"""Numbers of the outcomes of an attempt: scored but not passed, passed, error of the agent, skipped, and error of what
scores, which says nothing of the agent."""

POINTS_MAX = 100.0

K_MAX = 10
"""The largest k of pass^k and pass@k."""

_TOLERANCE = 1e-9


class ScenarioLabels(NamedTuple):
    """The labels of a scenario, from the events of its own stream."""

    name: str | None = None
    family: str | None = None
    failure_type: str | None = None


class ScoreTally(NamedTuple):
    """Counts and means by scenario.

    `attempts` counts attempts that were scored or ended in an error of the agent; `passed` and `errors` are among them,
    `skipped` and `unmeasured` are not. `mean` is the mean points of `attempts`, `mean_scored` of the scored ones; NaN
    without any.
    """

    attempts: Ints
    passed: Ints
    errors: Ints
    skipped: Ints
    unmeasured: Ints
    mean: Floats
    mean_scored: Floats


def tally_scores(scenario: npt.NDArray[Any], outcome: npt.NDArray[Any], points: Floats, size: int) -> ScoreTally:
    """Aggregate attempts by scenario 0..size-1. `points` is used for scored attempts only; an error has 0 points."""
    numbers = scenario.astype(np.int64) * _OUTCOMES_COUNT + outcome
    counts = np.bincount(numbers, minlength=_OUTCOMES_COUNT * size).reshape(size, _OUTCOMES_COUNT)
    scored = outcome <= PASSED
    sums = np.bincount(scenario[scored], weights=points[scored], minlength=size)
    attempts = counts[:, FAILED] + counts[:, PASSED] + counts[:, ERROR]
    scored_attempts = attempts - counts[:, ERROR]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, mean_scored = sums / attempts, sums / scored_attempts
    passed, errors, skipped, unmeasured = (counts[:, each] for each in (PASSED, ERROR, SKIPPED, UNMEASURED))
    return ScoreTally(attempts, passed, errors, skipped, unmeasured, mean, mean_scored)


def scenario_weights(scenario: npt.NDArray[Any], stated: Floats, size: int) -> Floats:
    """Return the weight of each scenario: the last one that its scores state, or 1. NaN means not stated."""
    weights, has_weight = np.ones(size), ~np.isnan(stated)
    weights[scenario[has_weight]] = stated[has_weight]
    return weights


def pool_scores(scores: ScoreTally, weights: Floats) -> dict[str, Any]:
    """Return the fields of `PooledScores`, given the weights of the scenarios."""
    attempted = scores.attempts > 0
    all_passed = scores.passed == scores.attempts
    all_errors = scores.errors == scores.attempts
    passed, errors, unmeasured = (int(each.sum()) for each in (scores.passed, scores.errors, scores.unmeasured))
    scored = int(scores.attempts.sum()) - errors
    mean, interval = _mean(scores.mean, weights)
    rates = scores.passed[attempted] / scores.attempts[attempted]
    rate = fsum(rates) / len(rates) if len(rates) else None
    return {
        "scenarios": int((attempted | (scores.skipped > 0) | (scores.unmeasured > 0)).sum()),
        "scored": scored,
        "passed": passed,
        "failed": scored - passed,
        "errors": errors + unmeasured,
        "unmeasured": unmeasured,
        "skipped": int(scores.skipped.sum()),
        "stable": int((attempted & all_passed).sum()),
        "flaky": int((attempted & ~all_passed & (scores.passed > 0)).sum()),
        "failing": int((attempted & (scores.passed == 0) & ~all_errors).sum()),
        "broken": int(((attempted | (scores.unmeasured > 0)) & all_errors).sum()),
        "mean": mean,
        "mean_interval": interval,
        "mean_scored": _mean(scores.mean_scored, weights)[0],
        "pass_rate": rate,
        "pass_interval": None if rate is None else wilson_interval(_whole(rate * len(rates)), len(rates)),
        "pass_of": _pass_of(scores.attempts[attempted].tolist(), scores.passed[attempted].tolist()),
    }


def _pass_of(attempts: Sequence[int], passed: Sequence[int]) -> tuple[PassOfK, ...]:
    """Return pass^k and pass@k, given the attempts and the passes of each scenario."""
    scenarios = Counter(zip(attempts, passed, strict=True))
    total, k_max = len(attempts), min(attempts, default=0)
    return tuple(
        PassOfK(
            k=k,
            all=fsum(number * (all_pass(*counts, k) or 0.0) for counts, number in scenarios.items()) / total,
            any=fsum(number * (any_passes(*counts, k) or 0.0) for counts, number in scenarios.items()) / total,
        )
        for k in range(2, min(k_max, K_MAX) + 1)
    )


def mean_difference(before: Floats, after: Floats, weights: Floats) -> tuple[float | None, Interval | None]:
    """Return the weighted mean of after - before, and its interval over scenarios. NaN on either side is skipped."""
    return _mean(after - before, weights, -POINTS_MAX)


def _mean(values: Floats, weights: Floats, low: float = 0.0) -> tuple[float | None, Interval | None]:
    """Return the weighted mean of the values that are not NaN, and its interval."""
    used = ~np.isnan(values) & (weights > 0)
    values, weights = values[used], weights[used]
    if not len(values):
        return None, None
    return weighted_mean_interval(values, weights, low, POINTS_MAX)


def _whole(successes: float) -> float:
    """Return a sum of rates, rounded to a whole number if only a rounding error is between them."""
    nearest = round(successes)
    return nearest if abs(successes - nearest) < _TOLERANCE else successes


def scenario_verdict(attempts: int, passed: int, errors: int, unmeasured: int) -> Verdict:
    """Return the verdict on a scenario, given the counts of a `ScoreTally`."""
    if not attempts:
        return "error" if unmeasured else "skipped"
    if passed:
        return "stable" if passed == attempts else "flaky"
    return "error" if errors == attempts else "failing"


def scenario_results(
    scores: ScoreTally, weights: Floats, scenarios: Sequence[str], labels_by_id: Mapping[str, ScenarioLabels]
) -> tuple[ScenarioResult, ...]:
    """Return the result of each attempted or skipped scenario, sorted by id, without its scores."""
    results: list[ScenarioResult] = []
    columns = (column.tolist() for column in (*scores, weights))
    for scenario_id, attempts, passed, errors, skipped, unmeasured, mean, scored, weight in zip(
        scenarios, *columns, strict=True
    ):
        if attempts or skipped or unmeasured:
            labels = labels_by_id.get(scenario_id, ScenarioLabels())
            results.append(
                ScenarioResult(
                    scenario_id=scenario_id,
                    name=labels.name,
                    family=labels.family,
                    failure_type=labels.failure_type,
                    verdict=scenario_verdict(attempts, passed, errors, unmeasured),
                    weight=weight,
                    attempts=attempts + unmeasured,
                    passed=passed,
                    errors=errors + unmeasured,
                    unmeasured=unmeasured,
                    skipped=skipped,
                    pass_rate=passed / attempts if attempts else None,
                    pass_interval=wilson_interval(passed, attempts) if attempts else None,
                    mean=mean if attempts else None,
                    mean_scored=scored if attempts > errors else None,
                )
            )
    return tuple(sorted(results, key=lambda result: result.scenario_id))
