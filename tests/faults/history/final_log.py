"""The log as it is in the end: its lines by position, id and stream, and what is known of when each was committed."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, Protocol

import msgspec

from ledger.log import Head, LogPage, Query
from tests.faults.history.records import DIGEST_BYTES, AppendOk, ClientEvent, History

PAGE_EVENTS = 1_000

Kind = Literal["page", "head", "any"]


class Violation(NamedTuple):
    """A rule that does not hold: its number, what is wrong, the position, and the names of the calls."""

    rule: int
    detail: str
    position: int | None = None
    calls: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = "" if self.position is None else f" at position {self.position}"
        return f"rule {self.rule}{place}: {self.detail}" + (f" ({', '.join(self.calls)})" if self.calls else "")


class FinalLine(msgspec.Struct, frozen=True):
    """The attributes of a stored line that the rules compare."""

    id: str
    source: str
    type: str
    subject: str
    recordedtime: str
    position: int
    streamversion: int
    data: msgspec.Raw

    @property
    def key(self) -> tuple[str, str]:
        """Source and id."""
        return self.source, self.id

    def holds(self, event: ClientEvent) -> bool:
        """Whether the line has the content that a client posted, byte-equal but for a name that the log made."""
        if (self.source, self.id, self.type) != (event.source, event.id, event.type):
            return False
        if event.generated:
            stored = msgspec.json.decode(self.data)
            name = stored.pop(event.generated, None)
            return self.subject.endswith(f"/{name}") and stored == msgspec.json.decode(event.data)
        return bytes(self.data) == bytes(event.data) and event.subject in ("", self.subject)


class FinalLog:
    """The lines in their order. `faulty` has the violations of lines that are not stored events."""

    def __init__(self, lines: Iterable[tuple[int, bytes]]) -> None:
        decode = msgspec.json.Decoder(FinalLine).decode
        self.raw: list[bytes] = []
        self.lines: dict[int, FinalLine] = {}
        self.by_key: dict[tuple[str, str], list[int]] = {}
        self.streams: dict[str, list[int]] = {}
        self.digests: dict[int, bytes] = {}
        self.faulty: list[Violation] = []
        joined = bytearray()
        for position, raw in lines:
            digest = sha256(raw).digest()
            self.raw.append(raw)
            self.digests[position] = digest
            joined += digest
            try:
                line = decode(raw)
            except msgspec.DecodeError as error:
                self.faulty.append(Violation(9, f"the line is not a stored event: {error}", position))
                continue
            if position in self.lines:
                self.faulty.append(Violation(9, "the log has two lines", position))
            self.lines[position] = line
            self.by_key.setdefault(line.key, []).append(position)
            self.streams.setdefault(line.subject, []).append(position)
        self.newest = max(self.digests, default=0)
        contiguous = list(self.digests) == list(range(1, self.newest + 1))
        self._joined = bytes(joined) if contiguous else b""

    def has_page(self, positions: Sequence[int], digests: bytes) -> bool:
        """Whether consecutive positions have lines with these digests, compared at once; False if it is not known."""
        if not positions or positions[-1] - positions[0] != len(positions) - 1:
            return not positions
        first = (positions[0] - 1) * DIGEST_BYTES
        return self._joined[first : first + len(digests)] == digests


class Timeline:
    """What the history tells of when each line was committed.

    Lines are committed in the order of their positions: a line is committed before a moment if it, or one after it, was
    acknowledged or read before. It is not committed before a client first posted it, or one before it.
    """

    def __init__(self, history: History, log: FinalLog) -> None:
        self.first_posted: dict[tuple[str, str], int] = {}
        for call in history.appends:
            for event in call.invoked.events:
                at_ns = self.first_posted.get(event.key, call.invoked.at_ns)
                self.first_posted[event.key] = min(at_ns, call.invoked.at_ns)
        starts = (self._started(log, position) for position in range(1, log.newest + 1))
        self._possible = [0, *accumulate(starts, max)]
        answers = [
            (call.answer.at_ns, call.invoked.node, max(place.position for place in call.answer.places))
            for call in history.appends
            if isinstance(call.answer, AppendOk) and call.answer.places
        ]
        pages = [(page.at_ns, asked.node, max(page.positions)) for asked, page in history.pages if page.positions]
        heads = [(answer.at_ns, asked.node, answer.position) for asked, answer in history.heads]
        points = {"page": answers + pages, "head": answers + heads, "any": answers + pages + heads}
        nodes = {node for _, node, _ in points["any"]}
        self._frontiers = {
            (kind, node): _Frontier(
                [(at_ns, last) for at_ns, at, last in some if node in (None, at) and last <= log.newest]
            )
            for kind, some in points.items()
            for node in (None, *nodes)
        }

    def _started(self, log: FinalLog, position: int) -> int:
        line = log.lines.get(position)
        return self.first_posted.get(line.key, 0) if line else 0

    def known_before(self, at_ns: int, kind: Kind = "any", node: str | None = None) -> int:
        """The newest position that was surely committed before a moment; with a node, as its clients knew.

        For a read, `kind` limits it to what was acknowledged, or answered by reads of that kind: a process may show a
        line in a page before its own head includes it.
        """
        frontier = self._frontiers.get((kind, node))
        return frontier.before(at_ns) if frontier else 0

    def possible_from(self, position: int) -> int:
        """The moment before which the line at a position was surely not committed."""
        return self._possible[position]


class _Frontier:
    """Positions that only grow, by time."""

    def __init__(self, points: Sequence[tuple[int, int]]) -> None:
        points = sorted(points)
        self._times = [at_ns for at_ns, _ in points]
        self._positions = [0, *accumulate((position for _, position in points), max)]

    def before(self, at_ns: int) -> int:
        return self._positions[bisect_left(self._times, at_ns)]


class LogPages(Protocol):
    """The part of a log that histories are read with."""

    async def head(self) -> Head: ...

    async def read(self, query: Query) -> LogPage: ...

    def follow(self, query: Query) -> AsyncIterator[LogPage]: ...


async def final_lines(log: LogPages) -> list[tuple[int, bytes]]:
    """Every line with its position, once nothing is appended any more."""
    lines: list[tuple[int, bytes]] = []
    more = True
    while more:
        page = await log.read(Query(after=lines[-1][0] if lines else 0, limit=PAGE_EVENTS))
        lines += zip(page.positions, page.lines, strict=True)
        more = page.more
    return lines


def order_of_lines(log: FinalLog) -> Iterable[Violation]:
    """(9) I1 and I6: positions and stream versions are contiguous from 1, and recordedtime never decreases."""
    yield from log.faulty
    for last, position in pairwise([0, *log.digests]):
        if position != last + 1:
            yield Violation(9, f"the line follows position {last}", position)
    versions: dict[str, int] = {}
    recorded = ""
    for position, line in log.lines.items():
        if line.position != position:
            yield Violation(9, f"the line states position {line.position}", position)
        if line.streamversion != versions.get(line.subject, 0) + 1:
            detail = f"{line.subject} has version {line.streamversion} after {versions.get(line.subject, 0)}"
            yield Violation(9, detail, position)
        if line.recordedtime < recorded:
            yield Violation(9, f"recordedtime {line.recordedtime} follows {recorded}", position)
        versions[line.subject], recorded = line.streamversion, line.recordedtime
