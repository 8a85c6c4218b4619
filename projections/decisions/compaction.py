"""Compaction levels: how much of a decision the views for agents show, by its age.

A decision that is not reviewed yet, or that is marked to be preserved, stays `full` at any age. The log keeps every
decision whole: a level only says what a view shows.
"""

from bisect import bisect_right
from datetime import datetime, timedelta
from typing import Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from ledger import microseconds
from projections.arrays import Ints
from projections.decisions.decision_state import DecisionState

Level = Literal["full", "summary", "digest", "wisdom"]
LEVELS: tuple[Level, ...] = get_args(Level)

WISDOM_DAYS = 90
LEVEL_DAYS = (7, 30, WISDOM_DAYS)
"""The ages in days at which the second, third and last level begin."""

_AGES = tuple(timedelta(days=days) for days in LEVEL_DAYS)
_AGES_US = np.array([age // timedelta(microseconds=1) for age in _AGES], dtype=np.int64)


class LevelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of decisions by their level at a time."""

    levels: tuple[Level, ...]
    now: datetime

    def matches(self, numbers: Ints) -> npt.NDArray[np.bool_]:
        """Return a mask of the decisions that pass, given their levels as indices into LEVELS."""
        matches: npt.NDArray[np.bool_] = np.array([level in self.levels for level in LEVELS])[numbers]
        return matches


def level_of(state: DecisionState, now: datetime) -> Level:
    """Return the level of a decision."""
    if state.review is None or state.preserve:
        return "full"
    return LEVELS[bisect_right(_AGES, now - state.recorded_at)]


def level_numbers(time_us: Ints, exempt: npt.NDArray[np.bool_], now: datetime) -> Ints:
    """Return the levels of decisions as indices into LEVELS, given their times; `exempt` masks those that stay full."""
    numbers: Ints = np.searchsorted(_AGES_US, microseconds(now) - time_us, side="right")
    numbers[exempt] = LEVELS.index("full")
    return numbers


def count_levels(numbers: Ints) -> dict[Level, int]:
    """Count decisions by level, given their levels as indices into LEVELS."""
    return dict(zip(LEVELS, np.bincount(numbers, minlength=len(LEVELS)).tolist(), strict=True))
