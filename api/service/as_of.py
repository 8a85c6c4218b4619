"""The position and time of an answer."""

from ledger.clock import moment_of
from ledger.log import LogReader
from tallystick.shapes.parts import AsOf


async def as_of(reader: LogReader, position: int) -> AsOf:
    """Return a position with its time. The time of the head needs no query for the position."""
    head = await reader.head()
    if position == 0:
        return AsOf(0, None)
    recorded_us = head.recorded_us if position == head.position else await reader.recorded_at(position)
    return AsOf(position, moment_of(recorded_us))
