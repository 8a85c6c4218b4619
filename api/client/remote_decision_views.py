"""The views of decisions and of their links, as a remote server answers them."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from api.client.remote_store import RemoteStore
from api.service.id_prefix import id_not_found
from events.payload import STORED_ID_PATTERN
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState, HistoryEntry

PREFIX = {"prefix": "true"}
"""The id may be an unambiguous beginning of it, as in the commands on a file."""

Parameters = Mapping[str, str]

_Answer = TypeVar("_Answer")
_stream_id = re.compile(STORED_ID_PATTERN, re.ASCII)


class _Entry(Struct):
    """An event in the history of a decision, whose payload is decoded by its type."""

    position: int
    streamversion: int
    type: str
    agent: str
    time: datetime
    data: Raw


class RemoteDecisionViews:
    """The views of decisions, now or as of a position or time as text. Errors: as for `RemoteViews`."""

    def __init__(self, store: RemoteStore, as_of: str | None = None) -> None:
        self._store = store
        self._as_of = {} if as_of is None else {"as_of": as_of}

    async def view(self, path: str, kind: type[_Answer], parameters: Parameters) -> _Answer:
        """Return the view at a path, decoded."""
        return await self._store.view(path, kind, {**parameters, **self._as_of})

    async def decision(self, decision_id: str) -> DecisionState:
        path = f"/decisions/{id_segment(decision_id, 'decision')}"
        body = await self._store.get(path, {**PREFIX, **self._as_of})
        fields = self._store.decode(path, body, dict[str, Raw])
        entries = self._store.decode(path, fields.pop("history", Raw(b"[]")), list[_Entry])
        state = self._store.decode(path, msgspec.json.encode(fields), DecisionState)
        return structs.replace(state, history=tuple(self._history_entry(path, entry) for entry in entries))

    def _history_entry(self, path: str, entry: _Entry) -> HistoryEntry:
        kind = VOCABULARY.event_types.get(entry.type)
        if kind is None:
            raise self._store.unexpected(path)
        return HistoryEntry(**{**structs.asdict(entry), "data": self._store.decode(path, entry.data, kind.current)})


def id_segment(given: str, noun: str) -> str:
    """Return an id, or the beginning of one, as a segment of a path. Errors: NotFound, if it cannot be an id."""
    if _stream_id.fullmatch(given) is None or not given.strip("."):
        raise id_not_found(given, noun)
    return given
