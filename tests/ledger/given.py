"""Given the events of a log, when a batch is posted, then the log has these: `given(...).when(...).then(...)`."""

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Self, TypeVar

from events.envelope import Draft
from events.errors import TallystickError
from events.vocabulary import Vocabulary
from ledger.admission import (
    ExistingEvent,
    GroupAdmission,
    Lookups,
    PreparedEvent,
    StreamHead,
    assign_stream_id,
    prepare,
)
from ledger.log import Head
from ledger.sqlite.schema import COLUMNS
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.run_vocabulary import RUNS

Refusal = TypeVar("Refusal", bound=TallystickError)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Row(NamedTuple):
    """One event as the log's table holds it; the names are the columns'."""

    position: int
    source: str
    id: str
    subject: str
    streamversion: int
    type: str
    time: int
    recordedtime: int
    line: bytes


def rows_of(group: GroupAdmission) -> list[Row]:
    assert Row._fields == COLUMNS
    width = len(COLUMNS)
    assert len(group.rows) % width == 0
    return [Row(*group.rows[at : at + width]) for at in range(0, len(group.rows), width)]  # type: ignore[arg-type]


def known_of(rows: Sequence[Row]) -> Lookups:
    """What the log would answer about everything it holds."""
    return Lookups(
        {row.subject: StreamHead(row.streamversion, row.type) for row in rows},
        {
            (row.source, row.id): ExistingEvent(
                AppendedEvent(row.position, row.id, row.subject, row.streamversion, False), row.line
            )
            for row in rows
        },
    )


class Scene:
    """A log in memory, the posted batch, and its result."""

    def __init__(self, vocabulary: Vocabulary = RUNS, now: datetime = NOON, seed: int = 0) -> None:
        self.vocabulary = vocabulary
        self.now = now
        self.rng = random.Random(seed)
        self.history: list[Row] = []
        self.rows: list[Row] = []
        self.placed: list[AppendedEvent] = []
        self.refusal: TallystickError | None = None

    def group(self) -> GroupAdmission:
        """A new group on top of the history."""
        head = Head(self.history[-1].position, self.history[-1].recordedtime) if self.history else Head(0, 0)
        return GroupAdmission(self.vocabulary, head, self.now, known_of(self.history), self.rng)

    def entries(self, batch: Sequence[Draft]) -> list[PreparedEvent]:
        """The batch made ready, streams without an id named."""
        ready = [prepare(self.vocabulary, draft, index) for index, draft in enumerate(batch)]
        return [assign_stream_id(one, len(self.history) + 1, self.rng) if one.id_generated else one for one in ready]

    def at(self, now: datetime) -> Self:
        self.now = now
        return self

    def when(self, *batch: Draft) -> Self:
        """Post a batch. `then` or `refused` checks the result."""
        group = self.group()
        self.placed, self.refusal = [], None
        try:
            self.placed = group.admit(self.entries(batch))
        except TallystickError as error:
            self.refusal = error
        self.rows = rows_of(group)
        self.history += self.rows
        return self

    def then(self, *expected: tuple[str, int, str]) -> list[Row]:
        """Exactly these were written: (subject, streamversion, type)."""
        assert self.refusal is None, self.refusal
        assert [(row.subject, row.streamversion, row.type) for row in self.rows] == list(expected)
        return self.rows

    def refused(self, error: type[Refusal], match: str = "") -> Refusal:
        """Nothing was written, and this is why."""
        assert type(self.refusal) is error, self.refusal
        assert re.search(match, str(self.refusal)), self.refusal
        assert self.rows == []
        return self.refusal


def given(*history: Draft, now: datetime = NOON, vocabulary: Vocabulary = RUNS) -> Scene:
    """A log that holds these events."""
    scene = Scene(vocabulary, now)
    for draft in history:
        scene.when(draft)
        assert scene.refusal is None, scene.refusal
    return scene
