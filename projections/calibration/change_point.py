"""Drift: whether outcomes began to fall short of, or to exceed, the stated confidences more than before; and when.

o - c is summed over decisions in the order in which they were made, less the gap they have as a whole, so that a gap
that stays is no drift. Where the sum strays further than chance takes it, the gap changed, and the furthest point dates
the change. How far chance takes it is simulated: outcomes drawn as Bernoulli(p), with p the stated confidences moved by
the whole gap (for a calibrated agent that is c itself), so that any number of decisions and any mixture of confidences
has a threshold of its own. Both sums are measured in their own standard deviation of o - c, so that an agent whose
confidences say nothing, and which spreads wider than Bernoulli(p), is not taken for one that drifts.

The sum at t, the share of decisions before, is weighted by (t(1-t))^-1/4. Of powers 0, 1/4 and 1/2, that dates most
shifts of .15 rightly wherever they are, and suffers little from repeated looks at a history that grows.

What is promised. One look at a perfectly calibrated agent raises an alarm with chance LEVEL. An agent whose history is
looked at every month for a year sees any alarm at all with chance FALSE_ALARM_RATE at most; looked at every week, with
4% at one review a day and 8% at ten.
"""

from datetime import datetime
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ledger import moment_of
from projections.arrays import Floats
from projections.stats.intervals import Interval, gap_interval

SIDE_REVIEWS_MIN = 30
"""Reviews there must be on either side of a change."""

REVIEWS_MIN = 2 * SIDE_REVIEWS_MIN

ALARM_LEVEL = 0.005
"""A look raises an alarm where p is at most this."""

FALSE_ALARM_RATE = 0.05
"""The share of calibrated agents for which a year of monthly looks raises any alarm, at most."""

BLOCKS_MAX = 500
"""Places at which the sum is compared: consecutive decisions are taken together where there are more."""

EXACT_MAX = 10_000
"""Up to so many decisions the outcome of each is drawn; beyond, those taken together are drawn alike."""

_POWER: Final = -0.25
_ROUND = 100
_HISTORIES = 2_000
_CALM = 20
_SPREAD_MIN = 1e-6
_ROUNDING = 1e-12
_SEED = 20_110_607

Integers = npt.NDArray[np.int64]


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gap changed: `index` reviewed decisions stand before; `time` is when the first one after was made."""

    time: datetime
    index: int
    reviewed_before: int
    reviewed_after: int
    gap_before: float
    gap_before_interval: Interval
    gap_after: float
    gap_after_interval: Interval


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the gap changed. `p` is None where fewer than REVIEWS_MIN are reviewed, or all turned out alike.

    `reviews_needed` is how many more reviews it takes to look. `change` is there where `alarm` is.
    """

    alarm: bool
    p: float | None
    level: float = ALARM_LEVEL
    false_alarm_rate: float = FALSE_ALARM_RATE
    reviewed: int
    reviews_needed: int
    change: ChangePoint | None = None


def detect_change(confidence: Floats, outcome: Floats, time_us: Integers) -> Drift:
    """Look for one change of the gap in reviewed decisions.

    Shapes: one entry a decision, in the order in which they were made; outcome is 1, .5 or 0.
    Units:  time in microseconds since 1970 UTC. The same decisions give the same answer.
    """
    n = len(confidence)
    needed = max(0, REVIEWS_MIN - n)
    if needed or outcome.min() == outcome.max():
        return Drift(alarm=False, p=None, reviewed=n, reviews_needed=needed)
    excess = outcome - confidence
    strayed = _strayed(np.cumsum(excess), np.arange(1, n + 1), float(excess.std()))
    edges = _edges(n)
    p = _chance(confidence, float(excess.mean()), edges, float(strayed[edges[:-1] - 1].max()))
    alarm = p <= ALARM_LEVEL
    if not alarm:
        return Drift(alarm=False, p=p, reviewed=n, reviews_needed=0)
    first, last = SIDE_REVIEWS_MIN, n - SIDE_REVIEWS_MIN
    index = first + int(strayed[first - 1 : last].argmax())
    return Drift(alarm=True, p=p, reviewed=n, reviews_needed=0, change=_change(confidence, outcome, time_us, index))


def _edges(n: int) -> Integers:
    """The numbers of decisions before each place at which the sum is compared, and n."""
    first, last = SIDE_REVIEWS_MIN, n - SIDE_REVIEWS_MIN
    step = -(-(last - first + 1) // BLOCKS_MAX)
    return np.append(np.arange(first, last + 1, step), n)


def _strayed(sums: Floats, edges: Integers, spread: "float | Floats") -> Floats:
    """How far running sums stray from the straight line to the last of them, weighted, in their spread."""
    t = edges / edges[-1]
    weight = np.append((t[:-1] * (1 - t[:-1])) ** _POWER, 0.0)
    return np.abs(sums - t * sums[..., -1:]) * weight / spread  # type: ignore[no-any-return]


def _chance(confidence: Floats, gap: float, edges: Integers, seen: float) -> float:
    """The share of simulated histories that stray at least as far as was seen, itself among them.

    It stops early where so many stray that no more of them could make it an alarm.
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
    beyond, histories = 1, 1
    while histories <= _HISTORIES and beyond <= _CALM:
        hits = _drawn(rng, sizes, chance)
        gaps = (hits.sum(axis=1) - expected[-1]) / n
        variance = (np.einsum("ij,j->i", hits, 1 - 2 * stated) + squares) / n - gaps**2
        sums = hits.cumsum(axis=1) - expected
        if len(sizes) == n:
            sums = sums[:, edges - 1]
        spread = np.sqrt(np.maximum(variance, _SPREAD_MIN**2))[:, None]
        beyond += int((_strayed(sums, edges, spread).max(axis=1) >= seen).sum())
        histories += _ROUND
    return beyond / histories


def _drawn(rng: np.random.Generator, sizes: Integers, chance: Floats) -> Floats:
    """The successes of _ROUND simulated histories, one row each, among decisions taken together or one by one."""
    if sizes.max() == 1:
        return (rng.random((_ROUND, len(sizes))) < chance).astype(np.float64)
    columns = [rng.binomial(size, p, _ROUND) for size, p in zip(sizes.tolist(), chance.tolist(), strict=True)]
    return np.stack(columns, axis=1).astype(np.float64)


def _change(confidence: Floats, outcome: Floats, time_us: Integers, index: int) -> ChangePoint:
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


def gap_with_interval(worth: float, stated: float, n: int) -> tuple[float, Interval]:
    """The gap and its interval, from sums of outcomes and of stated confidences; a gap that is rounding alone is 0."""
    gap = (worth - stated) / n
    return gap if abs(gap) > _ROUNDING else 0.0, gap_interval(worth, n, stated / n)
