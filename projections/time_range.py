"""Ranges of time."""

from datetime import datetime

import msgspec


class TimeRange(msgspec.Struct, frozen=True):
    """A range of time, both ends included; None is open."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def bounded(self) -> bool:
        return self.since is not None or self.until is not None
