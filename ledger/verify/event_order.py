"""Check lines in their order: positions, recorded times and stream versions (I1, I6); and decode their headers.

A page of lines is decoded in one call and compared as a whole. Only a wrong page is checked line by line, to report the
wrong line.
"""

from collections import Counter
from collections.abc import Sequence as Lines
from typing import Generic, TypeVar

import msgspec

from events.decode_errors import UNDECODABLE
from ledger.verify.findings import Findings
from ledger.verify.stream_versions import StreamVersionCheck

TIME = b"0000-00-00T00:00:00.000000Z"
"""A time as `envelope.timestamp` makes it, with zeros for all digits."""

ZEROED = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))
"""Translation of every digit to a zero: takes a fifth of the time of a regular expression."""


class LineHeader(msgspec.Struct, gc=False):
    """The attributes of a line that every verification needs."""

    position: int
    subject: str
    streamversion: int
    recordedtime: str
    type: str


class LineHeaders(LineHeader, gc=False):
    """The attributes of a line that also have columns in a ledger file and in exported tables."""

    source: str
    id: str
    time: str


Form = TypeVar("Form", bound=LineHeader)


class OrderCheck(Generic[Form]):
    """Checks lines from the first on: those of a whole log (`complete`), or a selection in the log's order.

    `streams` says whether each stream is complete: its versions must then be 1, 2, 3 ...; otherwise they must increase.
    Attributes show the progress: `events` so far, `first` and `last` position, `types` with their counts.
    """

    def __init__(self, findings: Findings, form: type[Form], *, complete: bool, streams: bool) -> None:
        self.events = 0
        self.first: int | None = None
        self.last = 0
        self.types: Counter[str] = Counter()
        self._recorded = ""
        self._complete = complete
        self._lines = findings.check("lines", "lines")
        self._positions = findings.check("positions", "events")
        self._times = findings.check("recorded times", "events")
        self._streams = StreamVersionCheck(findings.check("stream versions", "streams"), whole=streams)
        decoder = msgspec.json.Decoder(form)
        self._decode, self._decode_page = decoder.decode, decoder.decode_lines

    def check(self, lines: Lines[bytes]) -> list[Form]:
        """Check the next lines; return their headers, without those of lines that cannot be decoded.

        In a complete log, the place of a line counts as its position, even if the line states another one.
        """
        headers, places = self._decode_lines(lines)
        self._lines.count += len(lines)
        self.events += len(lines)
        positions = [header.position for header in headers]
        if not self._complete:
            places = positions
        if positions:
            self.first = positions[0] if self.first is None else self.first
        self._check_positions(positions, places)
        self._check_times([header.recordedtime for header in headers], places)
        self._streams.add(headers, places)
        self.types.update([header.type for header in headers])
        return headers

    def end(self) -> None:
        """Finish the check after the last line."""
        self._streams.end()

    def _decode_lines(self, lines: Lines[bytes]) -> tuple[list[Form], Lines[int]]:
        """Return the headers of lines, and the place of each among all lines, from 1."""
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
                self._positions.fault(f"the position is {position:,}; it must be {expected:,}.", min(place, expected))
            elif position <= self.last:
                self._positions.fault(f"position {position:,} is after {self.last:,}, but not greater.", position)
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
