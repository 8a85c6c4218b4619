"""When a decision counts: once it is due, whether it was reviewed before or not.

Failures are often known at once, successes only at the end. Reviews that are counted as they come then begin with the
failures: a calibrated agent looks overconfident, at nearly every look. So a decision counts from the date by which its
review is due (`review_by`); until then a review that it has is early. Whether and when a decision counts does not
depend on its outcome.

Without a date, a decision is due a horizon after it was made. The horizon of an agent and category is the time by which
nearly all of its reviews have come, learnt from decisions that are twice as old. Where it is not known, or nearly
every decision is reviewed, every review counts; but then a verdict is sure only if it holds whatever the outcomes are
that may still come (`open`).
"""

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Ints, RowNumbers
from projections.calibration.cells import Cells
from projections.column_table import ColumnTable
from projections.outcome_codes import OUTCOME_VALUES, RETRACTED

MISSING_SHARE_MAX: Final = 0.01
"""With at most this share of decisions without a review no horizon is needed."""

EXCESS_MAX: Final = 0.02
"""The largest difference of the shares that lack a review, of decisions of some age and older ones, or two errors."""

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


class UndatedDecisions(NamedTuple):
    """Decisions without `review_by`, as arrays of equal length.

    `group` is the number of agent and category, `made_us` when they were made, `delay_us` the time until the first
    review (0: there is none), `good` whether the outcome is better than a failure. Times are in microseconds.
    """

    group: RowNumbers
    made_us: Ints
    delay_us: Ints
    good: npt.NDArray[np.bool_]


class Horizons(NamedTuple):
    """The horizon of each agent and category, in microseconds; `open` where none is known: outcomes may come.

    Undated decisions that are younger than `settled_us` lack a review more often than older ones. Their reviews show a
    change of the gap that is none.
    """

    horizon_us: Ints
    open: npt.NDArray[np.bool_]
    settled_us: Ints


class Maturity:
    """When decisions are due, at one moment. Threads share it.

    `recorded` has the column `time_us`, `counted` has `cell`, `outcome`, `due_us` (0: not stated) and `delay_us`, the
    time until the first review of an undated decision (0: there is none). `now_us` is the time of the last event.
    """

    def __init__(self, recorded: ColumnTable, counted: ColumnTable, cells: Cells, now_us: int) -> None:
        self._recorded, self._counted, self._cells = recorded, counted, cells
        self.now_us = now_us

    def due_us(self, group: int, places: AnyInts | slice) -> Ints:
        """Return when some decisions of a group of rows are due."""
        stated: Ints = self._counted.chunk("due_us", group)[places]
        horizon_us = self.horizons.horizon_us
        if not horizon_us.any():
            return stated
        made_us = self._recorded.chunk("time_us", group)[: len(self._counted.chunk("cell", group))][places]
        horizon_us = horizon_us[self._pairs[self._counted.chunk("cell", group)[places]]]
        return np.where(stated != 0, stated, made_us + horizon_us)

    @property
    def version(self) -> int:
        """A number that is another one after horizons changed."""
        horizon_us, is_open, _ = self.horizons
        return 0 if is_open.all() else hash((horizon_us.tobytes(), is_open.tobytes()))

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Whether outcomes of a cell's undated decisions without a review may still come."""
        return np.asarray(self.horizons.open)[self._pairs]

    def is_settled(self, cell: AnyInts, made_us: Ints, stated_us: Ints) -> npt.NDArray[np.bool_]:
        """Return whether decisions have a date, or lack a review as often as older ones do."""
        settled_us = self.horizons.settled_us[self._pairs[cell]]
        return np.asarray((stated_us != 0) | (made_us <= self.now_us - settled_us))

    @cached_property
    def _pairs(self) -> RowNumbers:
        """The number of agent and category of each cell."""
        agent, category = self._cells.columns[:2]
        of_group = np.unique(np.stack([agent, category]), axis=1, return_inverse=True)[1].ravel()
        found: RowNumbers = of_group[self._cells.group]
        return found

    @cached_property
    def horizons(self) -> Horizons:
        """The horizons of agents and categories."""
        pairs = self._pairs
        sizes = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
        parts: list[list[npt.NDArray[Any]]] = []
        for group in range(self._counted.groups):
            cell, outcome, due_us = (self._counted.chunk(name, group) for name in ("cell", "outcome", "due_us"))
            pair = pairs[cell]
            kept: npt.NDArray[np.bool_] = outcome != RETRACTED
            sizes += np.bincount(pair[kept], minlength=len(sizes))
            rows = np.flatnonzero(kept & (due_us == 0))
            delay_us = self._counted.chunk("delay_us", group)[rows]
            made_us = self._recorded.chunk("time_us", group)[: len(cell)][rows]
            parts.append([pair[rows], made_us, delay_us, OUTCOME_VALUES[outcome[rows]] > 0])
        if not parts:
            return Horizons(np.zeros(0, np.int64), np.zeros(0, dtype=bool), np.zeros(0, np.int64))
        undated = UndatedDecisions(*map(np.concatenate, zip(*parts, strict=True)))
        return learn_horizons(undated, sizes, self.now_us)


def learn_horizons(undated: UndatedDecisions, sizes: Ints, now_us: int) -> Horizons:
    """Return the horizons, given the number of all decisions of each group."""
    groups = len(sizes)
    reviewed = undated.delay_us > 0
    missing = np.bincount(undated.group[~reviewed], minlength=groups)
    reviews = np.bincount(undated.group[reviewed], minlength=groups)
    is_open = np.ones(groups, dtype=bool)
    horizon_us = np.zeros(groups, dtype=np.int64)
    learnt = np.flatnonzero((missing > MISSING_SHARE_MAX * sizes) & (reviews >= REVIEWS_MIN))
    for start in range(0, len(learnt), _GROUPS_AT_ONCE):
        some = learnt[start : start + _GROUPS_AT_ONCE]
        place = np.full(groups, -1, dtype=np.intp)
        place[some] = np.arange(len(some))
        rows = np.flatnonzero(reviewed & (place[undated.group] >= 0))
        age_us = np.maximum(now_us - undated.made_us[rows], 0)
        kind = 2 * place[undated.group[rows]] + undated.good[rows]
        came = _count(kind, _step_below(age_us), _step_above(undated.delay_us[rows]), 2 * len(some))
        steps = _learn(came.reshape(-1, 2, _STEPS, _STEPS))
        found = steps >= 0
        horizon_us[some[found]] = _SECOND_US << steps[found]
        is_open[some[found]] = False
    return Horizons(horizon_us, is_open, np.where(is_open, _settle(undated, groups, now_us), 0))


def _settle(undated: UndatedDecisions, groups: int, now_us: int) -> Ints:
    """Return from which age on undated decisions of each group lack a review as often as older ones do; or NEVER_US."""
    number = undated.group * _STEPS + _step_below(np.maximum(now_us - undated.made_us, 0))
    n, missing = (
        np.bincount(number, weights, groups * _STEPS).reshape(groups, _STEPS)
        for weights in (None, undated.delay_us == 0)
    )
    settled_us = np.full(groups, NEVER_US)
    settled_us[missing.sum(axis=1) == 0] = 0
    older, lacking, ended = np.zeros(groups), np.zeros(groups), np.zeros(groups, dtype=bool)
    for step in reversed(range(_STEPS)):
        share, of_step = lacking / np.maximum(older, 1), np.maximum(n[:, step], 1)
        error = np.sqrt(np.maximum(share * (1 - share), MISSING_SHARE_MAX) * (1 / of_step + 1 / np.maximum(older, 1)))
        excess = missing[:, step] / of_step - share
        ended |= (older >= REVIEWS_MIN) & (excess > np.maximum(EXCESS_MAX, 2 * error))
        older, lacking = older + n[:, step], lacking + missing[:, step]
        known = ~ended & (older >= REVIEWS_MIN)
        settled_us[known] = np.minimum(settled_us[known], _SECOND_US << step if step else 0)
    return settled_us


def _count(group: RowNumbers, age: RowNumbers, delay: RowNumbers, groups: int) -> Ints:
    """Count reviews by group, step of age and step of delay."""
    numbers = (group * _STEPS + age) * _STEPS + delay
    return np.bincount(numbers, minlength=groups * _STEPS * _STEPS).reshape(groups, _STEPS, _STEPS)


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


def _step_below(time_us: Ints) -> RowNumbers:
    """Return the number of the longest horizon that a time is not below; 0 for less than a second."""
    steps = np.log2(np.maximum(time_us, _SECOND_US) / _SECOND_US)
    return np.minimum(np.floor(steps), _STEPS - 1).astype(np.intp)


def _step_above(time_us: Ints) -> RowNumbers:
    """Return the number of the shortest horizon that a time is not above."""
    steps = np.log2(np.maximum(time_us, _SECOND_US) / _SECOND_US)
    return np.minimum(np.ceil(steps), _STEPS - 1).astype(np.intp)
