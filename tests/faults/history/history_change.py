"""A copy of a correct history and its log that a mutation changes."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from tests.faults.history.final_log import FinalLog, Timeline
from tests.faults.history.records import (
    DIGEST_BYTES,
    AnyRecord,
    AppendCall,
    AppendFailed,
    AppendInvoked,
    AppendOk,
    History,
    OutcomeUnknown,
    PageCall,
)

Item = TypeVar("Item")


class Acknowledged(NamedTuple):
    """An append and its places."""

    invoked: AppendInvoked
    answer: AppendOk


class HistoryChange:
    """A copy of a history and its final log that a mutation changes."""

    def __init__(self, records: Sequence[AnyRecord], lines: Sequence[tuple[int, bytes]], rng: random.Random) -> None:
        self.records, self.lines, self.rng = list(records), list(lines), rng
        self.history, self.log = History.of(records), FinalLog(lines)
        self.timeline = Timeline(self.history, self.log)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of some items; the history must contain what a mutation needs."""
        assert items, "the history lacks what the mutation changes"
        return self.rng.choice(items)

    def change(self, record: AnyRecord, changed: AnyRecord) -> None:
        """Put another record at the place of one."""
        (index,) = (index for index, other in enumerate(self.records) if other is record)
        self.records[index] = changed

    def answer(self, record: AppendOk, kind: type[AppendFailed | OutcomeUnknown], **fields: Any) -> None:  # noqa: ANN401
        """Answer an append with a record of another kind."""
        self.change(record, kind(process=record.process, call=record.call, at_ns=record.at_ns, **fields))

    def edit(self, at: int, **changes: object) -> bytes:
        """The line at a position with other attributes."""
        attributes: dict[str, object] = msgspec.json.decode(self.lines[at - 1][1])
        return msgspec.json.encode(attributes | changes)

    def put(self, position: int, line: bytes) -> None:
        """Replace a line."""
        self.lines[position - 1] = position, line

    def acknowledged(self, *, duplicate: bool = False) -> list[Acknowledged]:
        """Appends that the log acknowledged, either as new or as duplicates."""
        return [
            Acknowledged(call.invoked, call.answer)
            for call in self.history.appends
            if isinstance(call.answer, AppendOk) and call.answer.places[0].duplicate == duplicate
        ]

    def once(self) -> list[Acknowledged]:
        """Acknowledged appends that were attempted once."""
        attempts: dict[tuple[str, str], int] = {}
        for call in self.history.appends:
            key = call.invoked.events[0].key
            attempts[key] = attempts.get(key, 0) + 1
        return [call for call in self.acknowledged() if attempts[call.invoked.events[0].key] == 1]

    def batches(self) -> list[Acknowledged]:
        """Acknowledged appends of more than one event."""
        return [one for one in self.acknowledged() if len(one.answer.places) > 1]

    def expecting(self) -> list[Acknowledged]:
        """Acknowledged appends of one event that expected a version."""
        calls = self.acknowledged()
        return [one for one in calls if len(one.invoked.events) == 1 and one.invoked.events[0].expected is not None]

    def conflicts(self) -> list[tuple[AppendCall, AppendFailed]]:
        """Appends that were refused with a conflict."""
        return [
            (call, call.answer)
            for call in self.history.appends
            if isinstance(call.answer, AppendFailed) and call.answer.error == "StreamConflict"
        ]

    def pages(self, lines: int) -> list[PageCall]:
        """Pages that have at least so many lines."""
        return [call for call in self.history.pages if len(call.page.positions) >= lines]

    def without(self, call: PageCall, index: int) -> None:
        """Take one line out of a page."""
        page = call.page
        positions = page.positions[:index] + page.positions[index + 1 :]
        digests = page.digests[: index * DIGEST_BYTES] + page.digests[(index + 1) * DIGEST_BYTES :]
        self.change(page, replace(page, positions=positions, digests=digests))

    def place(self, call: Acknowledged, **changes: object) -> None:
        """Change the answer to the first event of an append."""
        first, *others = call.answer.places
        self.change(call.answer, replace(call.answer, places=[replace(first, **changes), *others]))
