"""Change-point detection: did the gap between outcomes and stated confidences change, and when?

The detector takes the cumulative sum of o - c (outcome minus stated confidence) over decisions, in the order in which
they were made, and subtracts the overall gap, so that a constant gap is not drift. If the sum deviates from 0 by more
than chance explains, the gap changed; the change is dated at the largest deviation. The distribution under chance is
simulated: outcomes are drawn as Bernoulli(p), where p are the stated confidences shifted by the overall gap (for a
calibrated agent p is c itself). So each number of decisions and each mix of confidences has its own threshold.
Real and simulated sums are divided by their own standard deviation of o - c, so that an agent with uninformative
confidences, whose sums vary more than Bernoulli(p), does not raise an alarm.

The sum at t, the share of decisions before, is weighted by (t(1-t))^-1/4. Of the powers 0, 1/4 and 1/2 this one dates
most shifts of .15 correctly, early or late, and repeated looks at a growing history add few false alarms.

False alarms: one look at a perfectly calibrated agent raises an alarm with probability ALARM_LEVEL. With a look every
month for a year, the probability of any alarm is at most FALSE_ALARM_RATE; with a look every week it is 4% at one
review per day and 8% at ten.
"""

from datetime import datetime
from typing import Final

import msgspec
import numpy as np

from ledger import moment_of
from projections.arrays import Floats, Ints
from projections.stats.intervals import Interval, gap_interval

SIDE_REVIEWS_MIN = 30
"""Reviews required on each side of a change."""

REVIEWS_MIN = 2 * SIDE_REVIEWS_MIN

ALARM_LEVEL = 0.005
"""A look raises an alarm if p is at most this."""

FALSE_ALARM_RATE = 0.05
"""The largest share of calibrated agents that raise any alarm in a year of monthly looks."""

BLOCKS_MAX = 500
"""Most points at which the sum is compared. In a longer history, consecutive decisions are merged into blocks."""

EXACT_MAX = 10_000
"""Up to this many decisions each outcome is drawn. With more, each block is drawn with its mean probability."""

_POWER: Final = -0.25
_HISTORIES_PER_ROUND = 100
_HISTORIES_MAX = 2_000
_DEVIATING_MAX = 20
"""If more histories deviate than this, p can no longer fall to ALARM_LEVEL."""

_SPREAD_MIN = 1e-6
_ROUNDING = 1e-12
_SEED = 20_110_607


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the gap after `index` reviewed decisions. The first decision after it was made at `time`."""

    time: datetime
    index: int
    reviewed_before: int
    reviewed_after: int
    gap_before: float
    gap_before_interval: Interval
    gap_after: float
    gap_after_interval: Interval


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a look. `p` is None with fewer than REVIEWS_MIN reviews, or if all have the same outcome.

    `reviews_needed` is the number of reviews that are still missing for a look. `change` is None without an `alarm`.
    """

    alarm: bool
    p: float | None
    level: float = ALARM_LEVEL
    false_alarm_rate: float = FALSE_ALARM_RATE
    reviewed: int
    reviews_needed: int
    change: ChangePoint | None = None


def detect_change(confidence: Floats, outcome: Floats, time_us: Ints) -> Drift:
    """Look for one change of the gap in reviewed decisions. The result is deterministic: the seed is fixed.

    Shapes: one entry per decision, in the order in which they were made; outcome is 1, .5 or 0.
    Units:  time in microseconds since 1970 UTC.
    """
    n = len(confidence)
    needed = max(0, REVIEWS_MIN - n)
    if needed or outcome.min() == outcome.max():
        return Drift(alarm=False, p=None, reviewed=n, reviews_needed=needed)
    excess = outcome - confidence
    deviation = _deviation(np.cumsum(excess), np.arange(1, n + 1), float(excess.std()))
    edges = _edges(n)
    p = _p_value(confidence, float(excess.mean()), edges, float(deviation[edges[:-1] - 1].max()))
    alarm = p <= ALARM_LEVEL
    if not alarm:
        return Drift(alarm=False, p=p, reviewed=n, reviews_needed=0)
    first, last = SIDE_REVIEWS_MIN, n - SIDE_REVIEWS_MIN
    index = first + int(deviation[first - 1 : last].argmax())
    return Drift(alarm=True, p=p, reviewed=n, reviews_needed=0, change=_change(confidence, outcome, time_us, index))


def _edges(n: int) -> Ints:
    """Return the number of decisions before each point at which the sum is compared, and n."""
    first, last = SIDE_REVIEWS_MIN, n - SIDE_REVIEWS_MIN
    step = -(-(last - first + 1) // BLOCKS_MAX)
    return np.append(np.arange(first, last + 1, step), n)


def _deviation(sums: Floats, edges: Ints, spread: "float | Floats") -> Floats:
    """Return the weighted distance of cumulative sums from the line to their last value, divided by `spread`."""
    t = edges / edges[-1]
    weight = np.append((t[:-1] * (1 - t[:-1])) ** _POWER, 0.0)
    return np.abs(sums - t * sums[..., -1:]) * weight / spread  # type: ignore[no-any-return]


def _p_value(confidence: Floats, gap: float, edges: Ints, observed: float) -> float:
    """Return the share of histories that deviate at least as far as the observed one, which is among them.

    Stop early if so many simulated histories deviate that an alarm is impossible.
    """
    rng = np.random.Generator(np.random.SFC64(_SEED))
    chance = np.clip(confidence + gap, 0.0, 1.0)
    n = len(chance)
    if n > EXACT_MAX:
        starts = np.append(0, edges[:-1])
        sizes = edges - starts
        stated = np.add.reduceat(confidence, starts) / sizes
        chance = np.clip(np.add.reduceat(chance, starts) / sizes, 0.0, 1.0)
    else:
        sizes, stated = np.ones(n, dtype=np.int64), confidence
    expected, squares = np.cumsum(sizes * stated), float((sizes * stated**2).sum())
    deviating, histories = 1, 1
    while histories <= _HISTORIES_MAX and deviating <= _DEVIATING_MAX:
        hits = _draw_successes(rng, sizes, chance)
        gaps = (hits.sum(axis=1) - expected[-1]) / n
        variance = (np.einsum("ij,j->i", hits, 1 - 2 * stated) + squares) / n - gaps**2
        sums = hits.cumsum(axis=1) - expected
        if len(sizes) == n:
            sums = sums[:, edges - 1]
        spread = np.sqrt(np.maximum(variance, _SPREAD_MIN**2))[:, None]
        deviating += int((_deviation(sums, edges, spread).max(axis=1) >= observed).sum())
        histories += _HISTORIES_PER_ROUND
    return deviating / histories


def _draw_successes(rng: np.random.Generator, sizes: Ints, chance: Floats) -> Floats:
    """Draw _HISTORIES_PER_ROUND simulated histories, one per row: the number of successes in each block or decision."""
    if sizes.max() == 1:
        return (rng.random((_HISTORIES_PER_ROUND, len(sizes))) < chance).astype(np.float64)
    blocks = zip(sizes.tolist(), chance.tolist(), strict=True)
    columns = [rng.binomial(size, p, _HISTORIES_PER_ROUND) for size, p in blocks]
    return np.stack(columns, axis=1).astype(np.float64)


def _change(confidence: Floats, outcome: Floats, time_us: Ints, index: int) -> ChangePoint:
    n = len(confidence)
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
    )


def gap_with_interval(outcome_sum: float, stated_sum: float, n: int) -> tuple[float, Interval]:
    """Return the gap and its interval, given the sums of outcomes and of stated confidences. Rounding errors are 0."""
    gap = (outcome_sum - stated_sum) / n
    return gap if abs(gap) > _ROUNDING else 0.0, gap_interval(outcome_sum, n, stated_sum / n)
