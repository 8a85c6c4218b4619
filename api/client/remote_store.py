"""The event store of a remote server: calls its HTTP routes as the methods of `EventStore`."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import structs

from api.client.server_connection import ServerConnection, not_tallystick
from api.errors import UnexpectedAnswer
from api.service.decision_writer import DecisionRequest, RecordedDecision
from api.service.evidence import Blob, ErasureReceipt, EvidenceContent, StoredEvidence, digest_of
from api.service.store import Submission
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft, encode_draft, timestamp
from events.limits import (
    BATCH_EVENTS_MAX,
    EVENT_ID_CHARS_MAX,
    EVIDENCE_BYTES_MAX,
    NOTE_BYTES_MAX,
    PAGE_EVENTS_MAX,
    RECEIPT_BYTES_MAX,
)
from ledger.clock import moment_of
from ledger.errors import BadNote, LedgerUnavailable
from ledger.log import LogPage, Query
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import SignedCheckpoint
from tallystick.errors import UnexpectedAnswer as MessageTooLong
from tallystick.request_flow import ANSWER_BYTES_MAX, Request, Response
from tallystick.shapes.appended import AppendResult
from tallystick.shapes.tests import ResolvedTests

EVENTS = "/events"
LINES = "application/x-ndjson"

APPENDED_BYTES_MAX = BATCH_EVENTS_MAX * (EVENT_ID_CHARS_MAX * 6 + 1_024)
"""The answer to an append: the id, stream and position of each event of a batch."""

RECORD_BYTES_MAX = 1024 * 1024
"""The answer to one decision, review, or piece of evidence."""

_Answer = TypeVar("_Answer")
_Data = TypeVar("_Data")
_encode = msgspec.json.Encoder().encode


class _EventPage(msgspec.Struct):
    """A page of stored lines; `next` is the position to continue after, None on the last page."""

    events: list[msgspec.Raw]
    next: int | None
    head: int


class _Position(msgspec.Struct):
    position: int


class RemoteStore:
    """The event store of a server. Errors: those that the server answers; LedgerUnavailable; UnexpectedAnswer."""

    def __init__(self, server: ServerConnection) -> None:
        self._server = server

    async def append(self, drafts: list[Draft]) -> AppendResult:
        body = b"\n".join(map(encode_draft, drafts))
        answer = await self._request("POST", EVENTS, APPENDED_BYTES_MAX, body=body, headers={"content-type": LINES})
        return _decode(answer, AppendResult)

    async def record_decision(self, request: DecisionRequest, *, source: str | None) -> RecordedDecision:
        data, event_id, question, embedding = request.decision, request.event_id, request.question, request.embedding
        body: dict[str, object] = {"data": data, "id": event_id, "source": source, "question": question}
        if request.test is not None:
            body["test"] = request.test
        if embedding is not None:
            body |= {"embedding": embedding.numbers, "embedding_model": embedding.model}
        return await self.post("/decisions", body, RecordedDecision)

    async def submit(
        self, kind: Submission[_Data, _Answer], data: _Data, *, event_id: str | None, source: str | None
    ) -> _Answer:
        return await self.post(kind.path, {"data": data, "id": event_id, "source": source, "prefix": True}, kind.answer)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        return b"\n".join([page async for page in self.pages(types, subjects)])

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        async for page in self.scan(Query(types=tuple(types), subjects=tuple(subjects), limit=PAGE_EVENTS_MAX)):
            yield page.ndjson

    async def head_position(self) -> int:
        """Return the position of the newest event; 0 if there is none."""
        return (await self._read(Query(limit=1)))[1]

    async def agents(self) -> set[str]:
        """Return the agents that have recorded decisions."""
        from api.service.status import LedgerStatus

        return {each.agent for each in (await self.view("/status", LedgerStatus)).agents}

    async def read(self, query: Query) -> LogPage:
        """Read a page of events."""
        return (await self._read(query))[0]

    async def scan(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield every selected event that is committed now, page by page."""
        page, head = await self._read(query)
        query = structs.replace(query, before=min(query.before or head + 1, head + 1))
        while page.positions:
            yield page
            if not page.more:
                return
            edge = {"before" if query.order == "desc" else "after": page.positions[-1]}
            query = structs.replace(query, **edge)
            page, _ = await self._read(query)

    async def follow(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield events as they are committed, after a cursor, until the server ends the feed (LedgerUnavailable)."""
        import httpx

        from tallystick.event_stream import MEDIA_TYPE, MessageParser

        after, reason, parser = query.after, "the server ended it", MessageParser()
        try:
            async with self._server.stream(EVENTS, _parameters(query, limited=False), MEDIA_TYPE) as response:
                if not response.headers.get("content-type", "").startswith(MEDIA_TYPE):
                    raise self.unexpected(EVENTS)
                async for piece in response.aiter_raw():
                    if page := self._page(list(parser.feed(piece)), more=False):
                        after = page.positions[-1]
                        yield page
        except MessageTooLong:
            raise self.unexpected(EVENTS) from None
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
        detail = f"The feed of {self._server.url} broke off after position {after}: {reason}."
        raise LedgerUnavailable(detail, f"Run it again with --after {after}.")

    async def _read(self, query: Query) -> tuple[LogPage, int]:
        """Return a page of events and the newest position."""
        answer = await self.view(EVENTS, _EventPage, _parameters(query, limited=True))
        page = self._page([bytes(line) for line in answer.events], more=answer.next is not None)
        if page is None:
            return LogPage(b"", [], more=False), answer.head
        low, high = sorted((page.positions[0], page.positions[-1]))
        before = query.before or answer.head + 1
        if len(page.positions) > query.limit or not query.after < low <= high < before:
            raise self.unexpected(EVENTS)
        return page, answer.head

    def _page(self, lines: list[bytes], *, more: bool) -> LogPage | None:
        """Return the page of some lines; None without lines."""
        positions = [self.decode(EVENTS, line, _Position).position for line in lines]
        return LogPage(b"\n".join(lines), positions, more=more) if lines else None

    @asynccontextmanager
    async def keep(self, blobs: Iterable[Blob]) -> AsyncIterator[list[Draft]]:
        for blob in blobs:
            await self.put(blob)
        yield []

    async def put(self, blob: Blob) -> StoredEvidence:
        parameters = {"digest": digest_of(blob.data)} | ({} if blob.note is None else {"note": blob.note})
        headers = {} if blob.media_type is None else {"content-type": blob.media_type}
        answer = await self._request(
            "PUT", "/evidence", RECORD_BYTES_MAX, body=blob.data, query=parameters, headers=headers
        )
        return _decode(answer, StoredEvidence)

    async def evidence(self, digest: str) -> EvidenceContent:
        answer = await self._request("GET", f"/evidence/{quote(digest, safe='')}", EVIDENCE_BYTES_MAX)
        if digest_of(answer.body) != digest or "content-type" not in answer.headers:
            raise not_tallystick(answer.url, answer.status)
        return EvidenceContent(digest, answer.body, answer.headers["content-type"])

    async def erase(self, digest: str, reason: str | None) -> ErasureReceipt:
        path = f"/evidence/{quote(digest, safe='')}"
        parameters = {} if reason is None else {"reason": reason}
        return _decode(await self._request("DELETE", path, RECORD_BYTES_MAX, query=dict(parameters)), ErasureReceipt)

    async def resolve(self, *, dry_run: bool) -> ResolvedTests:
        query = {"dry_run": "true"} if dry_run else {}
        return _decode(await self._request("POST", "/tests/resolve", ANSWER_BYTES_MAX, query=query), ResolvedTests)

    async def view(self, path: str, kind: type[_Answer], parameters: Mapping[str, str] | None = None) -> _Answer:
        """Return the view at a path. Errors: those that the server answers; UnexpectedAnswer."""
        return self.decode(path, await self.get(path, parameters), kind)

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        """Return the body of the view at a path. Errors: as `view`."""
        return (await self._request("GET", path, ANSWER_BYTES_MAX, query=dict(parameters or {}))).body

    def decode(self, path: str, body: bytes | msgspec.Raw, kind: type[_Answer]) -> _Answer:
        """Decode the body of the view at a path, or a part of it. Errors: UnexpectedAnswer."""
        try:
            return msgspec.json.decode(body, type=kind)
        except DECODE_ERRORS:
            raise self.unexpected(path) from None

    def unexpected(self, path: str) -> UnexpectedAnswer:
        """Return the error for a view that a Tallystick server does not give."""
        return not_tallystick(f"{self._server.url}{path}", 200)

    async def post(
        self,
        path: str,
        body: object,
        kind: type[_Answer],
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Answer:
        """Post JSON to a path and decode the answer. Errors: as `view`."""
        sent = {"content-type": "application/json", **(headers or {})}
        answer = await self._request(
            "POST", path, RECORD_BYTES_MAX, body=_encode(body), query=dict(params or {}), headers=sent
        )
        return _decode(answer, kind)

    async def delete(self, path: str, parameters: Mapping[str, str], kind: type[_Answer]) -> _Answer:
        """Delete what is at a path and decode the answer. Errors: as `view`."""
        return _decode(await self._request("DELETE", path, RECORD_BYTES_MAX, query=dict(parameters)), kind)

    async def checkpoint(self) -> SignedCheckpoint:
        """Return the newest checkpoint; its signature is not verified. Errors: as `view`."""
        answer = await self._request("GET", "/checkpoint", NOTE_BYTES_MAX)
        try:
            return SignedCheckpoint.parse(answer.body)
        except BadNote:
            raise not_tallystick(answer.url, answer.status) from None

    async def receipt(self, position: int) -> Receipt:
        """Return the receipt of a position; its signature is not verified. Errors: as `view`."""
        answer = await self._request("GET", f"/events/{position}/receipt", RECEIPT_BYTES_MAX)
        try:
            receipt = Receipt.parse(answer.body)
        except BadNote:
            raise not_tallystick(answer.url, answer.status) from None
        if receipt.position != position or receipt.line is None or not receipt.includes(receipt.line):
            raise not_tallystick(answer.url, answer.status)
        return receipt

    async def _request(self, method: str, path: str, bytes_max: int, **more: Any) -> Response:  # noqa: ANN401
        """Send a request with the fields of `Request` in `more`, of which it has no headers by default."""
        request = Request(method=method, path=path, answer_bytes_max=bytes_max, **{"headers": {}, **more})
        return await self._server.send(request)


def _decode(answer: Response, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except DECODE_ERRORS:
        raise not_tallystick(answer.url, answer.status) from None


def _parameters(query: Query, *, limited: bool) -> dict[str, str]:
    """Return the parameters of the route of events for a query."""
    parameters = {
        "after": str(query.after) if query.after else None,
        "before": None if query.before is None else str(query.before),
        "limit": str(query.limit) if limited else None,
        "order": None if query.order == "asc" else query.order,
        "type": ",".join(query.types) or None,
        "subject": ",".join(query.subjects) or None,
        "source": query.source,
        "correlationid": query.correlationid,
        "since": None if query.since_us is None else timestamp(moment_of(query.since_us)),
        "until": None if query.until_us is None else timestamp(moment_of(query.until_us)),
    }
    return {name: value for name, value in parameters.items() if value is not None}
