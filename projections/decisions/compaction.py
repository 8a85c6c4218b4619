"""Compaction levels: how much of a decision the views for agents show, by its age.

A decision that is not reviewed yet, or that is marked to be preserved, stays `full` at any age. The log keeps every
decision whole: a level only says what a view shows.
"""

from bisect import bisect_right
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from ledger.clock import microseconds
from projections.decisions.decision_state import DecisionState

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from projections.arrays import Ints

Level = Literal["full", "summary", "digest", "wisdom"]
LEVELS: tuple[Level, ...] = get_args(Level)

WISDOM_DAYS = 90
LEVEL_DAYS = (7, 30, WISDOM_DAYS)
"""The ages in days at which the second, third and last level begin."""

_AGES = tuple(timedelta(days=days) for days in LEVEL_DAYS)
_AGES_US = [age // timedelta(microseconds=1) for age in _AGES]


class LevelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of decisions by their level at a time."""

    levels: tuple[Level, ...]
    now: datetime

    def matches(self, numbers: "Ints") -> "npt.NDArray[np.bool_]":
        """Return a mask of the decisions that pass, given their levels as indices into LEVELS."""
        import numpy as np  # noqa: PLC0415 - a command that only names a level does not need it

        matches: npt.NDArray[np.bool_] = np.array([level in self.levels for level in LEVELS])[numbers]
        return matches


def level_of(state: DecisionState, now: datetime) -> Level:
    """Return the level of a decision."""
    if state.review is None or state.preserve:
        return "full"
    return LEVELS[bisect_right(_AGES, now - state.recorded_at)]


def level_numbers(time_us: "Ints", exempt: "npt.NDArray[np.bool_]", now: datetime) -> "Ints":
    """Return the levels of decisions as indices into LEVELS, given their times; `exempt` masks those that stay full."""
    import numpy as np  # noqa: PLC0415 - as above

    numbers: Ints = np.searchsorted(np.array(_AGES_US, dtype=np.int64), microseconds(now) - time_us, side="right")
    numbers[exempt] = LEVELS.index("full")
    return numbers
