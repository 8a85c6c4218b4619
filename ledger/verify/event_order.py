"""Check lines in their order: vocabulary, positions, recorded times, stream versions and lives (I1, I6).

A page of lines is decoded in one call and compared as a whole. Only a wrong page is checked line by line, to report the
wrong line.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from events.decode_error_messages import DECODE_ERRORS
from events.envelope import ZEROED_TIME, is_timestamp, zeroed
from events.registry import VOCABULARY
from ledger.verify.findings import Findings
from ledger.verify.stream_versions import StreamVersionCheck
from ledger.verify.vocabulary import VocabularyCheck


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


CLOSING = frozenset(name for name, event_type in VOCABULARY.event_types.items() if event_type.ends)
"""The types after which a stream has no event but one that reopens it."""

REOPENING = frozenset(name for name, event_type in VOCABULARY.event_types.items() if event_type.reopens)

CLOSING_FOR_GOOD = frozenset(
    name
    for name in CLOSING
    if not any(VOCABULARY.event_types[name].stream == VOCABULARY.event_types[other].stream for other in REOPENING)
)
"""The types after which a stream has no event, in a selection too: it may lack the event that reopens a stream."""

Header = TypeVar("Header", bound=LineHeader)


class OrderCheck(Generic[Header]):
    """Checks lines in the log's order, from the first: a whole log (`complete`), or a selection of its events.

    `streams` says whether each stream is complete: if so, its versions must be 1, 2, 3 ...; if not, they must increase.
    Attributes show the progress: `events` so far, `first` and `last` position, `types` with their counts.
    """

    def __init__(self, findings: Findings, form: type[Header], *, complete: bool, streams: bool) -> None:
        self.events = 0
        self.first: int | None = None
        self.last = 0
        self.types: Counter[str] = Counter()
        self._recorded = ""
        self._complete = complete
        self._lines = findings.check("lines", "lines")
        self._positions = findings.check("positions", "events")
        self._times = findings.check("recorded times", "events")
        check = findings.check("stream versions", "streams")
        self._streams = (
            StreamVersionCheck(check, CLOSING, REOPENING, complete=True)
            if streams
            else StreamVersionCheck(check, CLOSING_FOR_GOOD, complete=False)
        )
        self._vocabulary = VocabularyCheck(findings.check("vocabulary", "lines"), VOCABULARY)
        decoder = msgspec.json.Decoder(form)
        self._decode, self._decode_page = decoder.decode, decoder.decode_lines

    def check(self, lines: Sequence[bytes]) -> list[Header]:
        """Check the next lines; return their headers, without those of lines that cannot be decoded.

        In a complete log, the number of a line is used as its position, even if the line states another one.
        """
        headers, decoded, numbers = self._decode_lines(lines)
        self._lines.count += len(lines)
        self.events += len(lines)
        positions = [header.position for header in headers]
        if not self._complete:
            numbers = positions
        if positions:
            self.first = positions[0] if self.first is None else self.first
        self._check_positions(positions, numbers)
        self._check_times([header.recordedtime for header in headers], numbers)
        self._streams.add(headers, numbers)
        types = [header.type for header in headers]
        self._vocabulary.add(decoded, types, numbers)
        self.types.update(types)
        return headers

    def end(self) -> None:
        """Finish the check after the last line."""
        self._streams.end()

    def _decode_lines(self, lines: Sequence[bytes]) -> tuple[list[Header], Sequence[bytes], Sequence[int]]:
        """Return the headers of lines that have one, these lines, and the number of each among all lines, from 1."""
        first = self.events + 1
        try:
            headers = self._decode_page(b"\n".join(lines))
        except DECODE_ERRORS:
            headers = []
        if len(headers) == len(lines):
            return headers, lines, range(first, first + len(lines))
        headers, decoded, numbers = [], [], []
        for number, line in enumerate(lines, first):
            try:
                headers.append(self._decode(line))
                decoded.append(line)
                numbers.append(number)
            except DECODE_ERRORS as error:
                position = number if self._complete else None
                self._lines.fault(f"line {number:,} is not an event: {error}.", position)
        return headers, decoded, numbers

    def _check_positions(self, positions: list[int], numbers: Sequence[int]) -> None:
        self._positions.count += len(positions)
        if self._complete and positions == list(numbers):
            self.last = positions[-1] if positions else self.last
            return
        for position, number in zip(positions, numbers, strict=True):
            expected = self.last + 1
            if self._complete and position != expected:
                self._positions.fault(f"the position is {position:,}; it must be {expected:,}.", min(number, expected))
            elif position <= self.last:
                self._positions.fault(f"position {position:,} is after {self.last:,}, but not greater.", position)
            self.last = position

    def _check_times(self, times: list[str], numbers: Sequence[int]) -> None:
        self._times.count += len(times)
        ordered = [self._recorded, *times]
        if zeroed("\n".join(times)) == b"\n".join([ZEROED_TIME] * len(times)) and ordered == sorted(ordered):
            self._recorded = ordered[-1]
            return
        for time, number in zip(times, numbers, strict=True):
            if not is_timestamp(time):
                self._times.fault(f"recordedtime {time!r} is not a time as the log writes it.", number)
            elif time < self._recorded:
                self._times.fault(f"recordedtime {time} is before {self._recorded}.", number)
            self._recorded = max(self._recorded, time)
