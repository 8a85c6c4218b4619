"""When a decision counts: once it is due, whether it was reviewed before or not.

Failures are often known at once, successes only at the end. Reviews that are counted as they come then begin with the
failures: a calibrated agent looks overconfident, at nearly every look. So a decision counts from the date by which its
review is due (`review_by`); until then a review that it has is early. Whether and when a decision counts does not
depend on its outcome.

Without a date, a decision is due a horizon after it was made. The horizon of an agent and category is the time by which
nearly all of its reviews have come, learnt from decisions that are twice as old. Where it is not known, or nearly
every decision is reviewed, every review counts; but then a verdict is sure only if it holds whatever the outcomes are
that may still come (`open`).

The numbers of reviews from which horizons are learnt are kept for each group of rows, until one of its decisions
changes or reaches another step of age (`DelayCounts`).
"""

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Ints, RowNumbers, count_each
from projections.calibration.cells import Cells
from projections.calibration.kept_groups import Column, KeptGroups, state_of
from projections.column_table import ColumnTable
from projections.outcome_codes import OUTCOME_VALUES, RETRACTED

MISSING_SHARE_MAX: Final = 0.01
"""With at most this share of decisions without a review no horizon is needed."""

EXCESS_MAX: Final = 0.02
"""Decisions of an age are settled if the share that lacks a review is at most this, or two standard errors, above that
of older ones."""

NEVER_US: Final = 2**62

LATE_SHARE_MAX: Final = 0.1
"""The largest share of reviews that come in the time after the horizon, as long as it: a bound that holds in 90%."""

REVIEWS_MIN: Final = 30
"""The fewest reviews of old decisions from which a horizon is learnt."""

_LEAST_BOUND, _BOUND_SLOPE = 2.3, 1.3
"""The upper 90% bound of the mean of a Poisson number n is about n + 2.3 + 1.3 sqrt(n)."""

_SECOND_US: Final = 1_000_000
_STEPS: Final = 32
"""Horizons are 1, 2, 4, ... seconds: up to 68 years."""

_GROUPS_AT_ONCE: Final = 1_024

_DATED, _MISSING = 2 * _STEPS * _STEPS, 2 * _STEPS * _STEPS + 1
_WIDTH: Final = _MISSING + _STEPS
"""The counts of an agent and category: of undated decisions with a review by success, step of age and step of delay;
then of dated decisions, and of undated ones without a review by step of age."""

_NUMBERED: Final = ("cell", "outcome", "due_us", "delay_us")
_GOOD: Final = np.append(OUTCOME_VALUES > 0, False)  # RETRACTED is after the outcomes


class Horizons(NamedTuple):
    """The horizon of each agent and category, in microseconds; `open` where none is known: outcomes may come.

    Undated decisions that are younger than `settled_us` lack a review more often than older ones. Their reviews may
    look like a change of the gap, so drift leaves them out.
    """

    horizon_us: Ints
    open: npt.NDArray[np.bool_]
    settled_us: Ints


class Maturity:
    """When decisions are due, at one moment. Threads share it.

    `recorded` has the column `time_us`, `counted` has `cell`, `outcome`, `due_us` (0: not stated) and `delay_us`, the
    time until the first review (0: there is none). `now_us` is the latest time of an event of a decision.
    """

    def __init__(
        self,
        recorded: ColumnTable,
        counted: ColumnTable,
        cells: Cells,
        now_us: int,
        delays: "DelayCounts | None" = None,
    ) -> None:
        self._recorded, self._counted, self._cells = recorded, counted, cells
        self._delays = DelayCounts() if delays is None else delays
        self.now_us = now_us

    def due_us(self, group: int, places: AnyInts | slice) -> Ints:
        """Return when some decisions of a group of rows are due."""
        stated: Ints = self._counted.chunk("due_us", group)[places]
        horizon_us = self.horizons.horizon_us
        if not horizon_us.any():
            return stated
        made_us = self._recorded.chunk("time_us", group)[: len(self._counted.chunk("cell", group))][places]
        horizon_us = horizon_us[self._cells.agent_category[self._counted.chunk("cell", group)[places]]]
        return np.where(stated != 0, stated, made_us + horizon_us)

    @cached_property
    def version(self) -> int:
        """A number that is another one after horizons changed."""
        horizon_us, is_open, _ = self.horizons
        known = np.flatnonzero(~is_open)  # further agents and categories without a horizon change nothing
        if not len(known):
            return 0
        return int.from_bytes(blake2b(known.tobytes() + horizon_us[known].tobytes(), digest_size=7).digest())

    @cached_property
    def open(self) -> npt.NDArray[np.bool_]:
        """Whether outcomes of a cell's undated decisions without a review may still come."""
        return np.asarray(self.horizons.open)[self._cells.agent_category]

    def is_settled(self, cell: AnyInts, made_us: Ints, stated_us: Ints) -> npt.NDArray[np.bool_]:
        """Return whether decisions have a date, or lack a review as often as older ones do."""
        settled_us = self.horizons.settled_us[self._cells.agent_category[cell]]
        return np.asarray((stated_us != 0) | (made_us <= self.now_us - settled_us))

    @cached_property
    def horizons(self) -> Horizons:
        """The horizons of agents and categories."""
        numbers, counts = self._delays.count(self._recorded, self._counted, self._cells, self.now_us)
        return learn_horizons(numbers, counts, int(self._cells.agent_category.max(initial=-1)) + 1)


class NumberedDelays(NamedTuple):
    """Numbers of agent and category, age and delay, and how many decisions of a group of rows have each."""

    numbers: Ints
    counts: Ints


class DelayCounts:
    """Kept counts of groups of rows by agent and category, and of their reviews by age and delay. Threads share it."""

    def __init__(self) -> None:
        self.kept = KeptGroups(NumberedDelays, np.int64, np.int64)

    def count(self, recorded: ColumnTable, counted: ColumnTable, cells: Cells, now_us: int) -> tuple[Ints, Ints]:
        """Return numbers (number of agent and category * _WIDTH + its count), and how many decisions have each."""
        found = [NumberedDelays(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for group in range(counted.groups):
            state = state_of(delay_columns(counted), group)
            held = self.kept.get(group, state, now_us)
            if held is None:
                until_us, number = _number_delays(recorded, counted, group, cells.agent_category, now_us)
                held = self.kept.put(group, state, now_us, until_us, NumberedDelays(*count_each(number)))
            assert held.read is not None, "it is always kept"
            found.append(held.read())
        numbers, counts = map(np.concatenate, zip(*found, strict=True))
        return numbers, counts


def delay_columns(counted: ColumnTable) -> Sequence[Column]:
    """Return the columns from which delays are counted."""
    return [(counted, name) for name in _NUMBERED]


def _number_delays(
    recorded: ColumnTable, counted: ColumnTable, group: int, pairs: RowNumbers, now_us: int
) -> tuple[int, Ints]:
    """Return when the next decision of a group of rows reaches another age, and the number of each one's count."""
    cell, outcome, due_us, delay_us = (counted.chunk(name, group) for name in _NUMBERED)
    made_us = recorded.chunk("time_us", group)[: len(cell)]
    age = np.minimum(np.maximum(_step(now_us - made_us) - 1, 0), _STEPS - 1)
    delay = np.minimum(_step(delay_us - 1), _STEPS - 1)
    kind = np.where(delay_us > 0, (_GOOD[outcome] * _STEPS + age) * _STEPS + delay, _MISSING + age)
    kind, counts = np.where(due_us != 0, _DATED, kind), outcome != RETRACTED
    older_us = (made_us + (_SECOND_US << (age + 1)))[counts & (kind != _DATED)]
    return int(older_us.min(initial=NEVER_US)), (pairs[cell] * _WIDTH + kind)[counts]


def learn_horizons(numbers: Ints, counts: Ints, groups: int) -> Horizons:
    """Return the horizons of a number of groups of decisions, given the counts that `DelayCounts` keeps."""
    group, kind = np.divmod(numbers, _WIDTH)
    sizes = np.bincount(group, counts, groups)
    missing = np.bincount(group[kind >= _MISSING], counts[kind >= _MISSING], groups)
    reviews = sizes - missing - np.bincount(group[kind == _DATED], counts[kind == _DATED], groups)
    is_open = np.ones(groups, dtype=bool)
    horizon_us = np.zeros(groups, dtype=np.int64)
    learnt = np.flatnonzero((missing > MISSING_SHARE_MAX * sizes) & (reviews >= REVIEWS_MIN))
    for start in range(0, len(learnt), _GROUPS_AT_ONCE):
        some = learnt[start : start + _GROUPS_AT_ONCE]
        place = np.full(groups, -1, dtype=np.intp)
        place[some] = np.arange(len(some))
        rows = np.flatnonzero((place[group] >= 0) & (kind < _DATED))
        came = np.bincount(place[group[rows]] * _DATED + kind[rows], counts[rows], len(some) * _DATED)
        steps = _learn(came.reshape(-1, 2, _STEPS, _STEPS))
        found = steps >= 0
        horizon_us[some[found]] = _SECOND_US << steps[found]
        is_open[some[found]] = False
    return Horizons(horizon_us, is_open, np.where(is_open, _settle(group, kind, counts, groups), 0))


def _settle(group: Ints, kind: Ints, counts: Ints, groups: int) -> Ints:
    """Return from which age on undated decisions of each group lack a review as often as older ones do; or NEVER_US."""
    rows = np.flatnonzero(kind != _DATED)
    lacks = kind[rows] >= _MISSING
    age = np.where(lacks, kind[rows] - _MISSING, kind[rows] // _STEPS % _STEPS)
    n, missing = (
        np.bincount(group[rows] * _STEPS + age, weights, groups * _STEPS).reshape(groups, _STEPS)
        for weights in (counts[rows], counts[rows] * lacks)
    )
    settled_us = np.full(groups, NEVER_US)
    settled_us[missing.sum(axis=1) == 0] = 0
    older, lacking, ended = np.zeros(groups), np.zeros(groups), np.zeros(groups, dtype=bool)
    for step in reversed(range(_STEPS)):
        share, of_step = lacking / np.maximum(older, 1), np.maximum(n[:, step], 1)
        error = np.sqrt(np.maximum(share * (1 - share), MISSING_SHARE_MAX) * (1 / of_step + 1 / np.maximum(older, 1)))
        excess = missing[:, step] / of_step - share
        # from the oldest on, until an age lacks more reviews: a younger one that happens to have them does not count
        ended |= (older >= REVIEWS_MIN) & (excess > np.maximum(EXCESS_MAX, 2 * error))
        older, lacking = older + n[:, step], lacking + missing[:, step]
        known = ~ended & (older >= REVIEWS_MIN)
        settled_us[known] = np.minimum(settled_us[known], _SECOND_US << step if step else 0)
    return settled_us


def _learn(came: Ints) -> RowNumbers:
    """Return the step of the shortest horizon of each group; -1 if none is known.

    Of decisions that are twice as old as it, at least REVIEWS_MIN are reviewed within that time, and surely few of them
    in its second half: of those with a good outcome, and of the others, since either may come late.
    """
    of_older = np.cumsum(came[:, :, ::-1], axis=2)[:, :, ::-1]  # by the least step of age
    within = np.cumsum(of_older, axis=3)  # by the largest step of delay
    steps = np.arange(_STEPS - 1)
    half, whole = within[:, :, steps + 1, steps], within[:, :, steps + 1, steps + 1]
    late = whole - half
    at_most = late + _LEAST_BOUND + _BOUND_SLOPE * np.sqrt(late)
    absent = ~np.asarray(came.any(axis=(2, 3)))
    prompt = (at_most <= LATE_SHARE_MAX * whole) | absent[:, :, np.newaxis]
    fits = prompt.all(axis=1) & (whole.sum(axis=1) >= REVIEWS_MIN)
    return np.where(fits.any(axis=1), fits.argmax(axis=1), -1)


def _step(time_us: Ints) -> Ints:
    """Return the number of the shortest horizon that a time is below."""
    return np.clip(np.frexp(time_us / _SECOND_US)[1], 0, _STEPS).astype(np.int64)
