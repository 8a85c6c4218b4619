"""A range of time for filters."""

from datetime import datetime

import msgspec


class TimeRange(msgspec.Struct, frozen=True):
    """A range of time. Both ends are included; None means that the range has no such end."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def bounded(self) -> bool:
        """Whether the range has at least one end."""
        return self.since is not None or self.until is not None
