"""What the scores of attempts come to, by scenario and over scenarios: one arithmetic for runs, lists and boards.

Scenarios are what is sampled, and attempts at one are repetitions of it: figures over a suite are of the scenarios'
means. A weight says how much a scenario counts in them.
"""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.evaluation.view_types import ScenarioResult, Verdict
from projections.stats.intervals import Floats, Interval, weighted_mean_interval, wilson_interval

FAILED, PASSED, ERROR, SKIPPED = range(4)
"""What came of an attempt: scored without passing, passed, an error, skipped."""

POINTS_MAX = 100.0

Numbers = npt.NDArray[np.int64]


class ScenarioLabels(NamedTuple):
    """What a scenario's own events say of it."""

    name: str | None = None
    family: str | None = None
    failure_type: str | None = None


class ScoreTally(NamedTuple):
    """By scenario: its attempts that were scored or in error, those of them that passed and that were in error.

    Beside them those skipped, the mean of the points, NaN without attempts, and of those scored, NaN without any.
    """

    attempts: Numbers
    passed: Numbers
    errors: Numbers
    skipped: Numbers
    mean: Floats
    mean_scored: Floats


def tally_scores(scenario: npt.NDArray[Any], outcome: npt.NDArray[Any], points: Floats, size: int) -> ScoreTally:
    """What attempts at the scenarios 0..size-1 came to. `points` counts of those scored alone."""
    counts = np.bincount(scenario.astype(np.int64) * 4 + outcome, minlength=4 * size).reshape(size, 4)
    scored = outcome <= PASSED
    sums = np.bincount(scenario[scored], weights=points[scored], minlength=size)
    attempts = counts[:, FAILED] + counts[:, PASSED] + counts[:, ERROR]
    answered = attempts - counts[:, ERROR]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, mean_scored = sums / attempts, sums / answered
    return ScoreTally(attempts, counts[:, PASSED], counts[:, ERROR], counts[:, SKIPPED], mean, mean_scored)


def scenario_weights(scenario: npt.NDArray[Any], stated: Floats, size: int) -> Floats:
    """The weight of each scenario: the last that its scores state, 1 where none does. NaN is none."""
    weights, there = np.ones(size), ~np.isnan(stated)
    weights[scenario[there]] = stated[there]
    return weights


def pool_scores(found: ScoreTally, weights: Floats) -> dict[str, Any]:
    """The fields of `Pooled`. `weights` are those of the scenarios."""
    tried = found.attempts > 0
    whole = found.passed == found.attempts
    barred = found.errors == found.attempts
    passed, errors = int(found.passed.sum()), int(found.errors.sum())
    scored = int(found.attempts.sum()) - errors
    mean, interval = _mean(found.mean, weights)
    rates = found.passed[tried] / found.attempts[tried]
    rate = fsum(rates) / len(rates) if len(rates) else None
    return {
        "scenarios": int((tried | (found.skipped > 0)).sum()),
        "scored": scored,
        "passed": passed,
        "failed": scored - passed,
        "errors": errors,
        "skipped": int(found.skipped.sum()),
        "stable": int((tried & whole).sum()),
        "flaky": int((tried & ~whole & (found.passed > 0)).sum()),
        "failing": int((tried & (found.passed == 0) & ~barred).sum()),
        "broken": int((tried & barred).sum()),
        "mean": mean,
        "mean_interval": interval,
        "mean_scored": _mean(found.mean_scored, weights)[0],
        "pass_rate": rate,
        "pass_interval": None if rate is None else wilson_interval(_whole(rate * len(rates)), len(rates)),
    }


def mean_difference(before: Floats, after: Floats, weights: Floats) -> tuple[float | None, Interval | None]:
    """The mean of differences by weight, with its interval over scenarios; NaN on either side is left out."""
    return _mean(after - before, weights, -POINTS_MAX)


def _mean(values: Floats, weights: Floats, low: float = 0.0) -> tuple[float | None, Interval | None]:
    """The mean by weight of the values that there are, and its interval."""
    there = ~np.isnan(values) & (weights > 0)
    values, weights = values[there], weights[there]
    if not len(values):
        return None, None
    return weighted_mean_interval(values, weights, low, POINTS_MAX)


def _whole(successes: float) -> float:
    """A count as such, where it was missed by a rounding."""
    nearest = round(successes)
    return nearest if abs(successes - nearest) < 1e-9 else successes


def scenario_verdict(attempts: int, passed: int, errors: int) -> Verdict:
    """Of one scenario."""
    if not attempts:
        return "skipped"
    if passed:
        return "stable" if passed == attempts else "flaky"
    return "error" if errors == attempts else "failing"


def scenario_results(
    found: ScoreTally, weights: Floats, scenarios: Sequence[str], known: Mapping[str, ScenarioLabels]
) -> tuple[ScenarioResult, ...]:
    """Each scenario that was tried or skipped, by its id, without rows."""
    made = []
    columns = (column.tolist() for column in (*found, weights))
    for scenario_id, attempts, passed, errors, skipped, mean, scored, weight in zip(scenarios, *columns, strict=True):
        if attempts or skipped:
            about = known.get(scenario_id, ScenarioLabels())
            made.append(
                ScenarioResult(
                    scenario_id=scenario_id,
                    name=about.name,
                    family=about.family,
                    failure_type=about.failure_type,
                    verdict=scenario_verdict(attempts, passed, errors),
                    weight=weight,
                    attempts=attempts,
                    passed=passed,
                    errors=errors,
                    skipped=skipped,
                    pass_rate=passed / attempts if attempts else None,
                    pass_interval=wilson_interval(passed, attempts) if attempts else None,
                    mean=mean if attempts else None,
                    mean_scored=scored if attempts > errors else None,
                )
            )
    return tuple(sorted(made, key=lambda one: one.scenario_id))
