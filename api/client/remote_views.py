"""The answers of a remote server to operations."""

import re
from typing import cast

from api.client.remote_store import RemoteStore
from api.parameters import texts_of
from api.service.id_prefix import id_not_found
from api.service.operation import A, Operation, P
from events.payload import STORED_ID_PATTERN

_stream_id = re.compile(STORED_ID_PATTERN, re.ASCII)


class RemoteViews:
    """The answers of a server, now or as of a position or time as text.

    Errors: those that the server answers, and those of `RemoteStore.view`.
    """

    def __init__(self, store: RemoteStore, as_of: str | None = None) -> None:
        self._store = store
        self._as_of = {} if as_of is None else {"as_of": as_of}

    async def answer(self, operation: Operation[P, A], params: P) -> A:
        """Return the answer of an operation."""
        texts = texts_of(params)
        ids = {name: texts.pop(name, str(getattr(params, name))) for name in operation.placed}
        path = operation.path.format(
            **{name: _id_segment(text, name.removesuffix("_id")) for name, text in ids.items()}
        )
        parameters = {**texts, **self._as_of}
        if operation.answer is bytes:
            return cast("A", await self._store.get(path, parameters))
        return await self._store.view(path, operation.answer, parameters)

    async def evidence_bytes(self, digest: str) -> bytes:
        """Return the bytes of a digest."""
        return (await self._store.evidence(digest)).data

    async def past(self, position: int) -> "RemoteViews":
        """Return the answers as of a position."""
        return RemoteViews(self._store, str(position))


def _id_segment(given: str, noun: str) -> str:
    """Return an id, or the beginning of one, as a segment of a path. Errors: NotFound, if it cannot be an id."""
    if _stream_id.fullmatch(given) is None or not given.strip("."):
        raise id_not_found(given, noun)
    return given
