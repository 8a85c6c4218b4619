"""The first and last time of each group of rows, so that a range of time loads only the groups that it touches."""

from array import array
from typing import NamedTuple, Self

import msgspec
import numpy as np

from projections.arrays import Ints
from projections.columns import as_array


class GroupTimes(NamedTuple):
    """The first and last time of each group of rows at one moment, in microseconds since 1970 UTC."""

    first_us: Ints
    last_us: Ints


class TimeBounds:
    """The first and last time of each group of rows, which grow as rows are added."""

    def __init__(self) -> None:
        self._first_us = array("q")
        self._last_us = array("q")

    def add(self, row: int, time_us: Ints, group_rows: int) -> None:
        """Note the times of rows that are added from a row number on."""
        done = 0
        while done < len(time_us):
            group, at = divmod(row + done, group_rows)
            part = time_us[done : done + group_rows - at]
            first, last = int(part.min()), int(part.max())
            if at:
                first, last = min(first, self._first_us.pop()), max(last, self._last_us.pop())
            assert group == len(self._first_us), "rows that are not added in turn"
            self._first_us.append(first)
            self._last_us.append(last)
            done += len(part)

    def of(self, group: int) -> tuple[int, int]:
        """Return the first and last time of a group."""
        return self._first_us[group], self._last_us[group]

    def now(self) -> GroupTimes:
        """Return the times as they are now."""
        return GroupTimes(as_array(self._first_us, np.int64).copy(), as_array(self._last_us, np.int64).copy())

    def copy(self) -> Self:
        """Return the times, to which later rows are not added."""
        new = type(self)()
        new._first_us, new._last_us = self._first_us[:], self._last_us[:]
        return new

    def parts(self) -> "TimeParts":
        """Return the times as they are encoded."""
        return TimeParts(self._first_us.tobytes(), self._last_us.tobytes())

    @classmethod
    def from_parts(cls, parts: "TimeParts") -> Self:
        """Return the times that `parts` were made of."""
        new = cls()
        new._first_us.frombytes(parts.first_us)
        new._last_us.frombytes(parts.last_us)
        return new


class TimeParts(msgspec.Struct, array_like=True):
    """What is stored of the times of groups of rows."""

    first_us: bytes
    last_us: bytes
