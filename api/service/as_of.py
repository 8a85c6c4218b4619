"""The position and time of an answer."""

from datetime import datetime

import msgspec

from ledger import LogReader, moment_of


class AsOf(msgspec.Struct, frozen=True):
    """A position, and the time when it was recorded (None before the first event)."""

    position: int
    time: datetime | None


async def as_of(reader: LogReader, position: int) -> AsOf:
    """Return a position with its time. The time of the head needs no query for the position."""
    head = await reader.head()
    if position == 0:
        return AsOf(0, None)
    recorded_us = head.recorded_us if position == head.position else await reader.recorded_at(position)
    return AsOf(position, moment_of(recorded_us))
