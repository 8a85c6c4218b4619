"""Lines in their order: positions, times and streams as a log must have them (I1, I6), and what each line says.

A page of lines is decoded in one call and compared as a whole. Only a page that is not as it must be is looked at line
by line, to say which one is wrong.
"""

from collections import Counter
from collections.abc import Sequence as Lines
from typing import Generic, TypeVar

import msgspec

from events.decode_errors import UNDECODABLE
from ledger.verify.findings import Findings
from ledger.verify.stream_versions import StreamVersionCheck

TIME = b"0000-00-00T00:00:00.000000Z"
"""A time as `envelope.timestamp` makes it, each digit a zero."""

ZEROED = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))
"""Turns every digit into a zero: a fifth of the time that a regular expression takes for the same."""


class LineHeader(msgspec.Struct, gc=False):
    """What every verification needs of a line."""

    position: int
    subject: str
    streamversion: int
    recordedtime: str
    type: str


class LineHeaders(LineHeader, gc=False):
    """What has columns of its own in a ledger file and in tables."""

    source: str
    id: str
    time: str


Form = TypeVar("Form", bound=LineHeader)


class OrderCheck(Generic[Form]):
    """A run of lines from the first on: all of a log (`complete`), or some of it in its order.

    `streams` says whether each stream is there whole: of its lines the versions are then 1, 2, 3 ...; otherwise they
    rise. Attributes tell where it is: `events` so far, `first` and `last` position, `types` counted.
    """

    def __init__(self, account: Findings, form: type[Form], *, complete: bool, streams: bool) -> None:
        self.events = 0
        self.first: int | None = None
        self.last = 0
        self.types: Counter[str] = Counter()
        self._recorded = ""
        self._complete = complete
        self._lines = account.check("lines", "lines")
        self._positions = account.check("positions", "events")
        self._times = account.check("recorded times", "events")
        self._streams = StreamVersionCheck(account.check("stream versions", "streams"), whole=streams)
        decoder = msgspec.json.Decoder(form)
        self._decode, self._decode_page = decoder.decode, decoder.decode_lines

    def take(self, lines: Lines[bytes]) -> list[Form]:
        """Check the lines that follow; what they say. It is shorter than they are where a line says nothing.

        In a complete run an event is at the position at which it stands, whatever it says its position is.
        """
        found, places = self._decoded(lines)
        self._lines.count += len(lines)
        self.events += len(lines)
        positions = [said.position for said in found]
        if not self._complete:
            places = positions
        if positions:
            self.first = positions[0] if self.first is None else self.first
        self._check_positions(positions, places)
        self._check_times([said.recordedtime for said in found], places)
        self._streams.take(found, places)
        self.types.update([said.type for said in found])
        return found

    def end(self) -> None:
        """All lines were taken."""
        self._streams.end()

    def _decoded(self, lines: Lines[bytes]) -> tuple[list[Form], Lines[int]]:
        """What lines say, and at which of all lines, from 1, each of them stands."""
        first = self.events + 1
        try:
            found = self._decode_page(b"\n".join(lines))
        except UNDECODABLE:
            found = []
        if len(found) == len(lines):
            return found, range(first, first + len(lines))
        found, places = [], []
        for place, line in enumerate(lines, first):
            try:
                found.append(self._decode(line))
                places.append(place)
            except UNDECODABLE as error:
                where = place if self._complete else None
                self._lines.fault(f"line {place:,} is not an event: {error}.", where)
        return found, places

    def _check_positions(self, positions: list[int], places: Lines[int]) -> None:
        self._positions.count += len(positions)
        if self._complete and positions == list(places):
            self.last = positions[-1] if positions else self.last
            return
        for position, place in zip(positions, places, strict=True):
            expected = self.last + 1
            if self._complete and position != expected:
                self._positions.fault(f"position {position:,} stands where {expected:,} must.", min(place, expected))
            elif position <= self.last:
                self._positions.fault(f"position {position:,} stands behind {self.last:,}.", position)
            self.last = position

    def _check_times(self, times: list[str], places: Lines[int]) -> None:
        self._times.count += len(times)
        ordered = [self._recorded, *times]
        if _zeroed("\n".join(times)) == b"\n".join([TIME] * len(times)) and ordered == sorted(ordered):
            self._recorded = ordered[-1]
            return
        for time, place in zip(times, places, strict=True):
            if _zeroed(time) != TIME:
                self._times.fault(f"recordedtime {time!r} is not a time as the log writes it.", place)
            elif time < self._recorded:
                self._times.fault(f"recordedtime {time} is before {self._recorded}.", place)
            self._recorded = max(self._recorded, time)


def _zeroed(text: str) -> bytes:
    return text.encode(errors="replace").translate(ZEROED)
