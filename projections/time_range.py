"""A range of time for filters."""

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ledger.clock import microseconds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from projections.arrays import Ints

_FIRST_US, _LAST_US = -(2**63), 2**63 - 1


class TimeRange(msgspec.Struct, frozen=True):
    """A range of time. Both ends are included; None means that the range has no such end."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def bounded(self) -> bool:
        """Whether the range has at least one end."""
        return self.since is not None or self.until is not None

    def bounds_us(self) -> tuple[int, int]:
        """Return both ends in microseconds since 1970 UTC."""
        return (
            _FIRST_US if self.since is None else microseconds(self.since),
            _LAST_US if self.until is None else microseconds(self.until),
        )

    def contains(self, time_us: "Ints") -> "npt.NDArray[np.bool_]":
        """Return a mask of the times, in microseconds since 1970 UTC, that are within the range."""
        if not self.bounded:
            import numpy as np  # noqa: PLC0415 - a command that only parses a range does not need it

            return np.ones(len(time_us), dtype=bool)
        since_us, until_us = self.bounds_us()
        return (time_us >= since_us) & (time_us <= until_us)
