"""Change-point detection: did the gap between outcomes and stated confidences change, and when?

The detector takes the cumulative sum of o - c (outcome minus stated confidence) over decisions, in the order in which
they were made, and subtracts the gap of each agent and category, so that neither a constant gap nor another mixture of
categories is drift. If the sum deviates from 0 by more than chance explains, the gap changed; the change is dated where
it fits best. The distribution under chance is simulated: outcomes are drawn as Bernoulli(p), where p are the stated
confidences shifted by the gap of their agent and category. So each number of decisions and each mix of confidences has
its own threshold. Real and simulated sums are divided by the long-run standard deviation of o - c, so that an agent
whose successes and failures come in runs does not raise an alarm (projections/stats/shift_search.py).

The sum at t, the share of information before, is weighted by (t(1-t))^-1/4. Of the powers 0, 1/4 and 1/2 this one dates
most shifts of .15 correctly, early or late, and repeated looks at a growing history add few false alarms.

False alarms: one look at an agent that did not change raises an alarm with probability `level`. With a look every
day, week or month for a year, the probability of any alarm is at most FALSE_ALARM_RATE.

Decisions of one moment, as rows imported without times, are not divided, and a moment with many of all reviews is left
out (review_moments.py). Nor are decisions of one named cluster divided, nor those of clusters that overlap in time: a
task that fails at all its decisions is not a change. Each side of a change has SIDE_CLUSTERS_MIN clusters.
"""

import numpy as np
import numpy.typing as npt
from msgspec import structs

from ledger.clock import moment_of
from projections.arrays import AnyInts, Floats, Ints
from projections.calibration.model_changes import DatedChange, describe_models
from projections.calibration.model_groups import ResolveModel
from projections.calibration.review_moments import MOMENTS_MIN, find_dated, number_moments
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.stats.intervals import gap_interval
from projections.stats.shift_interval import find_interval, long_run_variance
from projections.stats.shift_search import Shift, ShiftLayout
from projections.stats.shift_simulation import simulate_deviations
from tallystick.shapes.history import ALARM_LEVEL, ChangePoint, Drift, GapShift
from tallystick.shapes.parts import Interval

SIDE_REVIEWS_MIN = 30
"""Reviews required on each side of a change."""

SIDE_CLUSTERS_MIN = 5
"""Effective clusters required on each side of a change, where decisions name any (projections/stats/clustered_mean.py).

If half of an agent's decisions are in clusters of 20 alike, weekly looks then raise an alarm in 2% to 5% of years;
with 3 clusters on each side in 7%.
"""

REVIEWS_MIN = 2 * SIDE_REVIEWS_MIN


FULL_LEVEL_REVIEWS = 450
"""With fewer reviews the level falls with the square of their number: dependence is hard to see in few reviews."""


STRATA_MAX = 2_000
"""Most agents and categories: those with the most reviews. The reviews of others are left out."""


_DEVIATING_AT_LEVEL = 4
"""As many histories are simulated as are needed for this many to deviate further than a history at the level."""

_DEVIATING_MAX = 20
"""If more histories deviate than this, p can no longer fall to the level."""

_NORMAL_QUANTILE = 1.959963984540054
_ROUNDING = 1e-12


def detect_drift(history: ReviewedDecisions, resolve: ResolveModel | None = None) -> Drift:
    """Look for one change of the gap within each agent and category of a history.

    With `resolve`, the result names the models of the decisions. Decisions that are not settled are not examined.
    """
    if history.settled is not None:
        rest = structs.replace(history.take(np.flatnonzero(history.settled)), settled=None)
        return structs.replace(detect_drift(rest, resolve), unsettled=len(history.settled) - len(rest.time_us))
    numbers: dict[tuple[str, str | None], int] = {}
    group_stratum = np.array(
        [numbers.setdefault((source, category), len(numbers)) for source, category, *_ in history.groups],
        dtype=np.int32,
    )
    stratum = group_stratum[history.group] if len(history.group) else None
    drift = detect_change(history.confidence, history.outcome_value, history.time_us, stratum, history.cluster)
    if resolve is None or stratum is None or drift.reviews_needed:
        return drift
    examined = _find_examined(number_moments(history.time_us), stratum)
    del stratum
    change = drift.change
    dated = None if change is None else DatedChange(change.index, change.time, change.earliest, change.latest)
    return structs.replace(drift, models=describe_models(history, examined, resolve, dated))


def detect_change(
    confidence: Floats, outcome: Floats, time_us: Ints, stratum: AnyInts | None = None, cluster: AnyInts | None = None
) -> Drift:
    """Look for one change of the gap in reviewed decisions. The result is deterministic: the seed is fixed.

    Shapes: one entry per decision, in the order in which they were made; outcome is 1, .5 or 0. stratum is the number
    of each decision's agent and category; None if there is only one. cluster is the number of its cluster (-1: none).
    Units:  time in microseconds since 1970 UTC.
    """
    n = len(confidence)
    if n < REVIEWS_MIN:
        return Drift(alarm=False, p=None, reviewed=n, reviews_needed=REVIEWS_MIN - n)
    stratum = np.zeros(n, dtype=np.int8) if stratum is None else stratum
    moment = number_moments(time_us)
    examined = _find_examined(moment, stratum)
    used = int(np.count_nonzero(examined))
    if used < n:
        moment, stratum = moment[examined], stratum[examined]
        confidence, outcome, time_us = confidence[examined], outcome[examined], time_us[examined]
        cluster = None if cluster is None else cluster[examined]
    ends, side_min = _ends_of_runs(moment), SIDE_REVIEWS_MIN
    del moment, examined
    if used < REVIEWS_MIN or len(ends) < MOMENTS_MIN:
        return Drift(alarm=False, p=None, reviewed=n, reviews_needed=0, reason="too few times", left_out=n - used)
    if cluster is not None and cluster.max() >= 0:
        ends = ends[~_divides(cluster, ends)]
        side_min = max(side_min, _side_of_clusters(ends))
        if not (np.minimum(ends, used - ends) >= side_min).any():
            return Drift(
                alarm=False, p=None, reviewed=n, reviews_needed=0, reason="too few clusters", left_out=n - used
            )
    present = np.bincount(stratum) > 0
    strata = int(np.count_nonzero(present))
    layout = ShiftLayout((np.cumsum(present) - 1).astype(np.int32)[stratum], ends, side_min)
    del stratum, ends
    found = _search(confidence, outcome, time_us, layout)
    return structs.replace(found, reviewed=n, strata=strata, left_out=n - used)


def _find_examined(moment: AnyInts, stratum: AnyInts) -> npt.NDArray[np.bool_]:
    """Return which decisions are of usable moments and belong to the STRATA_MAX strata with the most reviews."""
    sizes = np.bincount(stratum)
    kept = np.zeros(len(sizes), dtype=bool)
    kept[np.argsort(-sizes, kind="stable")[:STRATA_MAX]] = True
    found = find_dated(moment)
    found &= kept[stratum]
    return found


def _ends_of_runs(values: AnyInts) -> npt.NDArray[np.int32]:
    """Return the place after each run of equal values."""
    ends = np.flatnonzero(values[1:] != values[:-1]).astype(np.int32)
    ends += 1
    return np.append(ends, np.int32(len(values))) if len(values) else ends


def _divides(cluster: AnyInts, ends: AnyInts) -> npt.NDArray[np.bool_]:
    """Return before which places, of some, a named cluster has begun that has not ended."""
    named = np.flatnonzero(cluster >= 0)
    first, last = (rows[np.unique(cluster[rows], return_index=True)[1]] for rows in (named, named[::-1]))
    begun, ended = (np.bincount(rows + 1, minlength=len(cluster) + 1) for rows in (first, last))
    divides: npt.NDArray[np.bool_] = np.cumsum(begun - ended)[ends] > 0
    return divides


def _side_of_clusters(ends: AnyInts) -> int:
    """Return how many values each side needs to have SIDE_CLUSTERS_MIN effective clusters, which end at `ends`."""
    sizes, found = np.diff(ends, prepend=0).astype(np.float64), 0
    for side in (sizes, sizes[::-1]):
        total = np.cumsum(side)
        few = total[total**2 < SIDE_CLUSTERS_MIN * np.cumsum(side**2)]
        found = max(found, 1 + int(few.max(initial=0)))
    return found


def _search(confidence: Floats, outcome: Floats, time_us: Ints, layout: ShiftLayout) -> Drift:
    """Look for a change in the decisions of a layout."""
    if outcome.min() == outcome.max():
        return Drift(alarm=False, p=None, reviewed=0, reviews_needed=0, reason="all outcomes alike")
    if not len(layout.candidates):
        return Drift(alarm=False, p=None, reviewed=0, reviews_needed=0, reason="no category before and after")
    excess = outcome - confidence
    centred = layout.centred(excess)
    sums = layout.sums(centred)
    observed = layout.deviation(sums[None, layout.points], np.array([centred @ centred]))
    excess += confidence
    excess -= centred
    del centred
    rounds = simulate_deviations(layout, confidence, np.clip(excess, 0.0, 1.0, out=excess))
    del excess
    level = ALARM_LEVEL * min(1.0, len(outcome) / FULL_LEVEL_REVIEWS) ** 2
    deviating, histories, independent, largest = 1, 1, 0.0, 0.0
    strayed: list[Floats] = []
    for simulated in rounds:
        if not independent:
            independent = float(simulated.windows.mean())
            largest = float(observed.scaled(independent)[0])
        strayed.append(simulated.scaled(independent))
        deviating += int((strayed[-1] >= largest).sum())
        histories += len(strayed[-1])
        if histories > _DEVIATING_AT_LEVEL / level or deviating > _DEVIATING_MAX:
            break
    p = deviating / histories
    if p > level:
        return Drift(alarm=False, p=p, level=level, reviewed=0, reviews_needed=0)
    limit = float(np.sort(np.concatenate(strayed))[-int(level * histories)] * observed.long_run(independent)[0])
    variance = long_run_variance(layout, observed, independent)
    earliest, latest = find_interval(layout, sums, variance, limit)
    change = _change(confidence, outcome, time_us, layout.locate(sums, variance), (earliest, latest))
    return Drift(alarm=True, p=p, level=level, reviewed=0, reviews_needed=0, change=change)


def _change(confidence: Floats, outcome: Floats, time_us: Ints, shift: Shift, likely: tuple[int, int]) -> ChangePoint:
    n = len(confidence)
    index, half = shift.end, _NORMAL_QUANTILE * shift.error
    before = gap_with_interval(float(outcome[:index].sum()), float(confidence[:index].sum()), index)
    after = gap_with_interval(float(outcome[index:].sum()), float(confidence[index:].sum()), n - index)
    return ChangePoint(
        time=moment_of(int(time_us[index])),
        index=index,
        reviewed_before=index,
        reviewed_after=n - index,
        gap_before=before[0],
        gap_before_interval=before[1],
        gap_after=after[0],
        gap_after_interval=after[1],
        earliest=moment_of(int(time_us[likely[0]])),
        latest=moment_of(int(time_us[likely[1]])),
        shift=GapShift(amount=shift.amount, interval=Interval(shift.amount - half, shift.amount + half)),
    )


def gap_with_interval(outcome_sum: float, stated_sum: float, n: int) -> tuple[float, Interval]:
    """Return the gap and its interval, given the sums of outcomes and of stated confidences. Rounding errors are 0."""
    gap = (outcome_sum - stated_sum) / n
    return gap if abs(gap) > _ROUNDING else 0.0, gap_interval(outcome_sum, n, stated_sum / n)
