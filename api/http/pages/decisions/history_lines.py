"""The history of a decision: each event in words, and the events as they are stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from api.http.pages.decisions.long_texts import PageText, TextBudget
from api.reports.escape import one_line
from api.service.ledger import LedgerService
from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionPreserved,
    DecisionRecordedV1,
    DecisionRetracted,
    DecisionReviewed,
    DecisionTestStated,
    DecisionThought,
)
from ledger.log import Query
from projections.decisions.decision_state import DecisionState, HistoryEntry
from projections.resolve.statement import write_test

EVENTS_SHOWN = 40
"""Events of a stream that a page lists, the latest."""

STORED_SHOWN = 10
STORED_BYTES_MAX, ALL_STORED_BYTES_MAX = 4_000, 20_000
"""Stored events that a page quotes; bytes of HTML that one of them, and all, may take."""

_VALUE_CHARS_MAX = 60


class HistoryLine(NamedTuple):
    """An event of the history: what it did, in words, and details of it."""

    entry: HistoryEntry
    what: str
    details: str


class StoredEvent(NamedTuple):
    """An event as it is stored, perhaps cut, its size in bytes, and its correlation id."""

    position: int
    text: PageText
    size: int
    correlationid: str | None


def history_lines(state: DecisionState) -> Sequence[HistoryLine]:
    """Return the latest events of a decision, which is given with its history, the oldest of them first."""
    return [HistoryLine(entry, *_say(entry.data)) for entry in state.history[-EVENTS_SHOWN:]]


def _say(data: object) -> tuple[str, str]:
    for kind, say in _WORDS.items():
        if isinstance(data, kind):
            return say(data)
    return type(data).__name__, ""


def _amended(data: DecisionAmended) -> tuple[str, str]:
    changed = [name for name in data.__struct_fields__[1:] if getattr(data, name) is not None]
    to = f"confidence {data.confidence:g}" if data.confidence is not None else None
    named = [to if name == "confidence" and to is not None else name for name in changed]
    return "amended", ", ".join(named)


_WORDS: Mapping[type, Callable[[Any], tuple[str, str]]] = {
    DecisionRecordedV1: lambda it: (
        "recorded",
        "no confidence stated" if it.confidence is None else f"confidence {it.confidence:g}",
    ),
    DecisionAmended: _amended,
    DecisionReviewed: lambda it: ("reviewed", it.outcome),
    DecisionThought: lambda it: ("thought", one_line(it.text[: _VALUE_CHARS_MAX * 2], _VALUE_CHARS_MAX)),
    DecisionAsked: lambda it: ("question stated", it.question),
    DecisionTestStated: lambda it: ("test stated", write_test(it)),
    DecisionRetracted: lambda it: ("retracted", one_line(it.reason[: _VALUE_CHARS_MAX * 2], _VALUE_CHARS_MAX)),
    DecisionPreserved: lambda it: ("preserved" if it.preserve else "no longer preserved", ""),
}
"""What an event of each type did, and details."""


class _Correlated(msgspec.Struct):
    correlationid: str | None = None


_decode = msgspec.json.Decoder(_Correlated).decode


async def read_stored(ledger: LedgerService, state: DecisionState) -> Sequence[StoredEvent]:
    """Return the latest events of a decision as they are stored, the oldest of them first."""
    last = state.history[-1].position
    query = Query(subjects=(f"decision/{state.decision_id}",), before=last + 1, limit=STORED_SHOWN, order="desc")
    page = await ledger.read(query)
    budget = TextBudget(ALL_STORED_BYTES_MAX)
    stored = [
        StoredEvent(position, budget.take(line.decode(), STORED_BYTES_MAX), len(line), _decode(line).correlationid)
        for position, line in zip(page.positions, page.lines, strict=True)
    ]
    return stored[::-1]
