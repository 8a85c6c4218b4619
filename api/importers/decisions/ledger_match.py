"""Find the decisions of a file's rows among all decisions of a ledger, by id and by content."""

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from api.importers.decisions.row_comparison import RETRACTED
from api.importers.decisions.rows import IdentifiedRow, identity_digest
from api.service.store import EventStore
from events.decision import DecisionRecorded
from events.envelope import agent_of
from events.registry import VOCABULARY

RECORDED = VOCABULARY.names_of(DecisionRecorded)


class _Data(msgspec.Struct):
    decision_id: str
    decision: str = ""


class _StoredDecision(msgspec.Struct):
    """The attributes of a stored event that show which decision it is."""

    type: str
    id: str
    source: str
    time: str
    recordedtime: str
    data: _Data

    @property
    def key(self) -> int:
        """The key of a row with the same agent, decision and time. A time that was not stated is the recorded one."""
        time = None if self.time == self.recordedtime else datetime.fromisoformat(self.time)
        return int.from_bytes(identity_digest(agent_of(self.source), self.data.decision, time)[:8])


class Matches(NamedTuple):
    """The decisions of rows, by the index of the row: one, or several between which nothing decides."""

    found: dict[int, str]
    ambiguous: dict[int, list[str]]


_decode = msgspec.json.Decoder(_StoredDecision).decode_lines


async def _stored_decisions(store: EventStore) -> AsyncIterator[_StoredDecision]:
    types = [*RECORDED, RETRACTED]
    async for page in store.pages(types):
        for decision in _decode(page):
            yield decision


async def has_decisions(store: EventStore) -> bool:
    """Whether a ledger has any decision."""
    async for _ in _stored_decisions(store):
        return True
    return False


async def match_rows(store: EventStore, rows: Iterable[IdentifiedRow]) -> Matches:
    """Find the decisions of rows: by the id of the row, then, if it states none, by its content.

    Decisions with the content of several rows are given to them in order. Retracted decisions are only used where no
    other is found.
    """
    by_key: dict[int, list[str]] = {}
    ids: set[str] = set()
    retracted: set[str] = set()
    async for decision in _stored_decisions(store):
        if decision.type == RETRACTED:
            retracted.add(decision.data.decision_id)
        else:
            ids.add(decision.data.decision_id)
            by_key.setdefault(decision.key, []).append(decision.data.decision_id)
    current = ids - retracted
    found: dict[int, str] = {}
    ended: dict[int, str] = {}
    unknown: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        if row.decision_id in current:
            found[index] = row.decision_id
            continue
        if row.decision_id in retracted:
            ended[index] = row.decision_id
        if row.row.id is None:
            unknown.setdefault(row.key, []).append(index)
    ambiguous = _match_contents(found, unknown, by_key, current)
    return Matches({index: name for index, name in ended.items() if index not in ambiguous} | found, ambiguous)


def _match_contents(
    found: dict[int, str], unknown: Mapping[int, list[int]], by_key: Mapping[int, list[str]], current: set[str]
) -> dict[int, list[str]]:
    """Add matches by content, among the decisions that no row has by an id; return the ambiguous ones."""
    free = current - set(found.values())
    ambiguous: dict[int, list[str]] = {}
    for key, indexes in unknown.items():
        candidates = [name for name in by_key.get(key, ()) if name in free]
        if len(candidates) > len(indexes):
            ambiguous.update(dict.fromkeys(indexes, candidates))
        else:
            found.update(zip(indexes, candidates, strict=False))
    return ambiguous
