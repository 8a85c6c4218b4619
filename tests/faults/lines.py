"""What is posted under faults, made from ids alone; and what a ledger file holds of it, as plain SQLite reads it."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from ledger.transparency.merkle import leaf_hash
from ledger.transparency.tiles import WIDTH, TreeEdge
from tests.faults.row import Figures


class Line(msgspec.Struct):
    """Of a stored line, what is looked at."""

    id: str
    type: str
    subject: str
    position: int
    streamversion: int
    recordedtime: str
    data: dict[str, object]


def event(event_id: str) -> dict[str, object]:
    """The event that an id names: KIND.STREAM.REST.

    `d` records the decision STREAM-REST, `l` one with a long text, `o` the decision STREAM; `t` adds a thought to that.
    """
    kind, stream, rest = event_id.split(".", 2)
    if kind == "t":
        return {"type": "decision.thought.v1", "data": {"decision_id": stream, "text": f"Thought {rest}"}}
    text = "Keep the queue bounded. " * (900 if kind == "l" else 1)
    named = stream if kind == "o" else f"{stream}-{rest}"
    data = {"decision_id": named, "decision": text.strip(), "confidence": 0.8}
    return {"type": "decision.recorded.v1", "data": data}


def body(ids: Collection[str]) -> bytes:
    """A batch as it is posted."""
    return b"\n".join(msgspec.json.encode({"id": event_id, **event(event_id)}) for event_id in ids)


def examine(ledger: Path, acknowledged: Mapping[str, int], posted: Collection[str]) -> Figures:
    """Compare a ledger file with what was acknowledged, by id and position, and with everything that was posted.

    Each figure is a number of events, but for tiles; all are 0 where all is well.
    """
    decode = msgspec.json.Decoder(Line).decode
    missing, versions, seen = dict(acknowledged), dict[str, int](), set[str]()
    duplicates = gaps = altered = invented = late = 0
    position, time = 0, ""
    for raw in stored(ledger):
        line = decode(raw)
        duplicates += line.id in seen
        seen.add(line.id)
        invented += line.id not in posted
        gaps += line.position != position + 1 or line.streamversion != versions.get(line.subject, 0) + 1
        position, versions[line.subject] = line.position, line.streamversion
        late += line.recordedtime < time
        time = line.recordedtime
        altered += line.id in posted and event(line.id) != {"type": line.type, "data": line.data}
        if missing.get(line.id) == line.position:
            del missing[line.id]
    return {
        "acknowledged lost": len(missing), "duplicates": duplicates, "gaps": gaps, "altered": altered,
        "invented": invented, "out of time": late, "wrong tiles": wrong_tiles(ledger),
    }  # fmt: skip


def wrong_tiles(ledger: Path) -> int:
    """How many tiles are not those of the lines, or are missing, or are too many (I7)."""
    with closing(_reading(ledger)) as connection, connection:
        connection.execute("BEGIN")
        kept = dict(connection.execute("SELECT (level << 40) + number, hashes FROM tiles"))
        edge, wrong = TreeEdge(), 0
        lines = connection.execute("SELECT line FROM events ORDER BY position")
        while leaves := [leaf_hash(line) for (line,) in lines.fetchmany(64 * WIDTH)]:
            edge, filled = edge.grow(leaves)
            wrong += sum(kept.pop((level << 40) + number, None) != hashes for level, number, hashes in filled)
        return wrong + len(kept)


def stored(ledger: Path) -> Iterator[bytes]:
    """Every line, in order."""
    with closing(_reading(ledger)) as connection:
        for (line,) in connection.execute("SELECT line FROM events ORDER BY position"):
            yield line


def _reading(ledger: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
