"""Make large ledgers of decisions fast: lines as an append would have written them, through the rebuild of a ledger.

An append admits, syncs and answers each batch. A ledger of twenty million events needs none of that: its lines are made
in order, written by `LedgerRebuild`, which verifies the file before it appears, and so are valid by its own rules.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.ledgers import AGENTS, CATEGORIES, OUTCOMES, PROJECTS, STAKES
from events.decision import DecisionRecorded, DecisionReviewed
from events.envelope import Line, encode_line, timestamp
from events.payload import Payload
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from ledger.verify import LineHeaders
from ledger.verify.ledger_rebuild import LedgerRebuild

GROUP = 1_000
"""Events that share a recorded time, as those of one group commit do."""

REVIEW_LAG = 100
"""Decisions without a review at any time: a review follows its decision after so many others."""

SPAN = timedelta(days=730)
"""The time over which the decisions are spread, up to now."""

CLUSTER_DECISIONS = 2_500
"""Decisions of a cluster: enough for a hundredth page of twenty."""

FEATURES = ("checkout", "search", "billing", "sign-in")
MODELS = ("model-large-1", "model-small-1", "model-small-2")
TAGS = ("urgent", "customer", "experiment", "legacy", "cost")
TAGSETS = tuple((one, other) for one in TAGS for other in TAGS if one < other)


class NewEvent(NamedTuple):
    """An event of a history: its agent, its type, its stream with the version, and its data."""

    source: str
    type: str
    subject: str
    version: int
    data: Payload


def make_decisions(path: Path, decisions: int, *, seed: int = 7) -> None:
    """Make a ledger of decisions over two years, each followed by its review about a hundred decisions later."""
    rng = random.Random(seed)
    started = datetime.now(UTC) - SPAN
    edge = TreeEdge()
    with LedgerRebuild.begin(path) as rebuild:
        for group in _groups(decision_history(0, decisions, rng)):
            moment = started + SPAN * (edge.size / (2 * decisions))
            headers, lines = _stored(group, edge.size, moment, rng)
            edge, _ = edge.grow(leaf_hashes(lines))
            rebuild.add(lines, headers)
        rebuild.verify(edge.root())
        rebuild.open()


def decision_history(first: int, decisions: int, rng: random.Random) -> Iterator[NewEvent]:
    """Yield decisions with numbers from `first`, and the review of each."""
    for number in range(first, first + decisions + REVIEW_LAG):
        if number < first + decisions:
            yield _decision(number, rng)
        if number >= first + REVIEW_LAG:
            yield _review(number - REVIEW_LAG, rng)


def burst_bodies(first: int, events: int, *, seed: int = 11) -> list[bytes]:
    """Return new decisions and their reviews as NDJSON, as clients post them, in bodies of a thousand events."""
    history = decision_history(first, events // 2, random.Random(seed))
    return [
        b"\n".join(msgspec.json.encode({"type": e.type, "source": e.source, "data": e.data}) for e in group)
        for group in _groups(history)
    ]


def _groups(history: Iterator[NewEvent]) -> Iterator[list[NewEvent]]:
    group: list[NewEvent] = []
    for event in history:
        group.append(event)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def _decision(number: int, rng: random.Random) -> NewEvent:
    bits = rng.getrandbits(64)
    stream_id = f"{number:08x}"
    data = DecisionRecorded(
        decision_id=stream_id,
        decision=f"Use the connection pool of the gateway for service {number}",
        confidence=(10 + bits % 10) / 20,
        category=CATEGORIES[(bits >> 8) % len(CATEGORIES)],
        stakes=STAKES[(bits >> 16) % len(STAKES)],  # type: ignore[arg-type]
        project=PROJECTS[(bits >> 24) % len(PROJECTS)],
        feature=FEATURES[(bits >> 32) % len(FEATURES)],
        tags=TAGSETS[(bits >> 40) % len(TAGSETS)],
        model=MODELS[(bits >> 48) % len(MODELS)],
        cluster=f"session-{number // CLUSTER_DECISIONS}",
    )
    return NewEvent(_agent(number), "decision.recorded.v2", f"decision/{stream_id}", 1, data)


def _review(number: int, rng: random.Random) -> NewEvent:
    stream_id = f"{number:08x}"
    data = DecisionReviewed(decision_id=stream_id, outcome=OUTCOMES[rng.getrandbits(16) % len(OUTCOMES)])  # type: ignore[arg-type]
    return NewEvent(_agent(number), "decision.reviewed.v1", f"decision/{stream_id}", 2, data)


def _agent(number: int) -> str:
    return f"/agents/agent-{(number * 0x9E3779B1 >> 16) % AGENTS}"


def _stored(
    group: Sequence[NewEvent], after: int, moment: datetime, rng: random.Random
) -> tuple[list[LineHeaders], list[bytes]]:
    """Return the headers and lines of the events after a position, with ids as the ledger makes them (UUIDv7)."""
    recorded, ms = timestamp(moment), int(moment.timestamp() * 1000)
    id_time = f"{ms >> 16:08x}-{ms & 0xFFFF:04x}"
    headers, lines = [], []
    for position, event in enumerate(group, after + 1):
        tail = f"{rng.getrandbits(62) | 1 << 63:016x}"
        event_id = f"{id_time}-7{position & 0xFFF:03x}-{tail[:4]}-{tail[4:]}"
        headers.append(
            LineHeaders(
                position=position, subject=event.subject, streamversion=event.version, recordedtime=recorded,
                type=event.type, source=event.source, id=event_id, time=recorded,
            )
        )  # fmt: skip
        lines.append(
            encode_line(
                Line(
                    specversion="1.0", id=event_id, source=event.source, type=event.type, subject=event.subject,
                    time=recorded, recordedtime=recorded, position=position, streamversion=event.version,
                    data=event.data,
                )
            )
        )  # fmt: skip
    return headers, lines
