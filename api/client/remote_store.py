"""The event store of a remote server: calls its HTTP routes as the methods of `EventStore`."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from api.client.server_answer import IDENTITY, ServerAnswer, fetch, not_tallystick
from api.errors import ERROR_TABLE, Problem, UnexpectedAnswer, problem_name
from api.principal import Unauthenticated
from api.rate_limit import RateLimited
from api.service.decision_writer import RecordedDecision
from api.service.evidence import Blob, ErasureReceipt, EvidenceContent, StoredEvidence, digest_of
from api.service.retrieval import SuppliedEmbedding
from api.service.retry import retry, while_busy
from api.service.store import Submission
from events.decision import DecisionRecorded
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft, encode_draft
from events.errors import TallystickError
from events.limits import (
    BATCH_EVENTS_MAX,
    EVENT_ID_CHARS_MAX,
    EVIDENCE_BYTES_MAX,
    LINE_BYTES_MAX,
    NOTE_BYTES_MAX,
    PAGE_EVENTS_MAX,
    RECEIPT_BYTES_MAX,
)
from ledger.errors import BadNote, InvalidQuery, LedgerBusy, LedgerUnavailable
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import SignedCheckpoint
from tallystick.shapes.appended import AppendResult

if TYPE_CHECKING:
    import httpx


LINES = "application/x-ndjson"

ANSWER_S = 120.0
"""Seconds to wait for the answer of a server."""

APPENDED_BYTES_MAX = BATCH_EVENTS_MAX * (EVENT_ID_CHARS_MAX * 6 + 1_024)
"""The answer to an append: the id, stream and position of each event of a batch."""

RECORD_BYTES_MAX = 1024 * 1024
"""The answer to one decision, review, or piece of evidence."""

PAGE_BYTES_MAX = PAGE_EVENTS_MAX * (LINE_BYTES_MAX + 1)
"""One page of events."""

STREAMS_BYTES_MAX = 4 * PAGE_BYTES_MAX
"""All events of some streams, which are read together: 256 MB."""

VIEW_BYTES_MAX = 64 * 1024 * 1024
"""One view."""

_Answer = TypeVar("_Answer")
_Data = TypeVar("_Data")
_encode = msgspec.json.Encoder().encode
_errors = {problem_name(error.__name__): error for error in ERROR_TABLE}


class _Line(msgspec.Struct):
    """The position of a stored line. The next page begins after the last one."""

    position: int


class RemoteStore:
    """The event store of a server."""

    def __init__(self, client: "httpx.AsyncClient", url: str) -> None:
        self._client = client
        self._url = url

    async def append(self, drafts: list[Draft]) -> AppendResult:
        body = b"\n".join(map(encode_draft, drafts))
        answer = await self._request(
            "POST", "/events", APPENDED_BYTES_MAX, content=body, headers={"content-type": LINES}
        )
        return _decode(answer, AppendResult)

    async def record_decision(
        self,
        decision: DecisionRecorded,
        *,
        event_id: str | None,
        source: str | None,
        question: str | None,
        embedding: SuppliedEmbedding | None = None,
    ) -> RecordedDecision:
        body: dict[str, object] = {"data": decision, "id": event_id, "source": source, "question": question}
        if embedding is not None:
            body |= {"embedding": embedding.numbers, "embedding_model": embedding.model}
        return _decode(await self._post_json("/decisions", body), RecordedDecision)

    async def submit(
        self, kind: Submission[_Data, _Answer], data: _Data, *, event_id: str | None, source: str | None
    ) -> _Answer:
        return await self.post(kind.path, {"data": data, "id": event_id, "source": source, "prefix": True}, kind.answer)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        filters = {"subject": ",".join(subjects), "type": ",".join(types)}
        parameters = {name: value for name, value in filters.items() if value}
        answer = await self._request("GET", "/events", STREAMS_BYTES_MAX, params=parameters, headers={"accept": LINES})
        return answer.content

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        parameters = {"type": ",".join(types), "limit": str(PAGE_EVENTS_MAX)}
        if subjects:
            parameters["subject"] = ",".join(subjects)
        lines, after = PAGE_EVENTS_MAX, 0
        while lines == PAGE_EVENTS_MAX:
            answer = await self._request(
                "GET", "/events", PAGE_BYTES_MAX, params=parameters | {"after": str(after)}, headers={"accept": LINES}
            )
            page = answer.content.rstrip(b"\n")
            lines = page.count(b"\n") + 1 if page else 0
            if page:
                before, after = after, _decode(answer, _Line, page[page.rfind(b"\n") + 1 :]).position
                if after <= before or lines > PAGE_EVENTS_MAX:
                    raise not_tallystick(answer.url, answer.status)
                yield page

    @asynccontextmanager
    async def keep(self, blobs: Iterable[Blob]) -> AsyncIterator[list[Draft]]:
        for blob in blobs:
            await self.put(blob)
        yield []

    async def put(self, blob: Blob) -> StoredEvidence:
        parameters = {"digest": digest_of(blob.data)} | ({} if blob.note is None else {"note": blob.note})
        headers = {} if blob.media_type is None else {"content-type": blob.media_type}
        answer = await self._request(
            "PUT", "/evidence", RECORD_BYTES_MAX, content=blob.data, params=parameters, headers=headers
        )
        return _decode(answer, StoredEvidence)

    async def evidence(self, digest: str) -> EvidenceContent:
        answer = await self._request("GET", f"/evidence/{quote(digest, safe='')}", EVIDENCE_BYTES_MAX)
        if digest_of(answer.content) != digest or "content-type" not in answer.headers:
            raise not_tallystick(answer.url, answer.status)
        return EvidenceContent(digest, answer.content, answer.headers["content-type"])

    async def erase(self, digest: str, reason: str | None) -> ErasureReceipt:
        path = f"/evidence/{quote(digest, safe='')}"
        parameters = {} if reason is None else {"reason": reason}
        return _decode(await self._request("DELETE", path, RECORD_BYTES_MAX, params=parameters), ErasureReceipt)

    async def view(self, path: str, kind: type[_Answer], parameters: Mapping[str, str] | None = None) -> _Answer:
        """Return the view at a path. Errors: those that the server answers; UnexpectedAnswer."""
        return self.decode(path, await self.get(path, parameters), kind)

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        """Return the body of the view at a path. Errors: as `view`."""
        return (await self._request("GET", path, VIEW_BYTES_MAX, params=dict(parameters or {}))).content

    def decode(self, path: str, body: bytes | msgspec.Raw, kind: type[_Answer]) -> _Answer:
        """Decode the body of the view at a path, or a part of it. Errors: UnexpectedAnswer."""
        try:
            return msgspec.json.decode(body, type=kind)
        except DECODE_ERRORS:
            raise self.unexpected(path) from None

    def unexpected(self, path: str) -> UnexpectedAnswer:
        """Return the error for a view that a Tallystick server does not give."""
        return not_tallystick(f"{self._url}{path}", 200)

    async def post(self, path: str, body: object, kind: type[_Answer]) -> _Answer:
        """Post JSON to a path and decode the answer. Errors: as `view`."""
        return _decode(await self._post_json(path, body), kind)

    async def delete(self, path: str, parameters: Mapping[str, str], kind: type[_Answer]) -> _Answer:
        """Delete what is at a path and decode the answer. Errors: as `view`."""
        return _decode(await self._request("DELETE", path, RECORD_BYTES_MAX, params=dict(parameters)), kind)

    async def checkpoint(self) -> SignedCheckpoint:
        """Return the newest checkpoint; its signature is not verified. Errors: as `view`."""
        answer = await self._request("GET", "/checkpoint", NOTE_BYTES_MAX)
        try:
            return SignedCheckpoint.parse(answer.content)
        except BadNote:
            raise not_tallystick(answer.url, answer.status) from None

    async def receipt(self, position: int) -> Receipt:
        """Return the receipt of a position; its signature is not verified. Errors: as `view`."""
        answer = await self._request("GET", f"/events/{position}/receipt", RECEIPT_BYTES_MAX)
        try:
            receipt = Receipt.parse(answer.content)
        except BadNote:
            raise not_tallystick(answer.url, answer.status) from None
        if receipt.position != position or receipt.line is None or not receipt.includes(receipt.line):
            raise not_tallystick(answer.url, answer.status)
        return receipt

    async def _post_json(self, path: str, body: object) -> ServerAnswer:
        headers = {"content-type": "application/json"}
        return await self._request("POST", path, RECORD_BYTES_MAX, content=_encode(body), headers=headers)

    async def _request(
        self,
        method: str,
        path: str,
        bytes_max: int,
        *,
        content: bytes | None = None,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> ServerAnswer:
        """Send a request and return the answer. Repeat it while the server is busy or limits the token's rate.

        Errors: those that the server answers; LedgerUnavailable; UnexpectedAnswer, if it is not a Tallystick server.
        """
        request = self._client.build_request(method, path, content=content, params=params, headers=headers)

        async def send(again: bool) -> ServerAnswer:
            answer = await self._send(request, bytes_max)
            if answer.status not in {200, 201}:
                raise decode_error(answer)
            return answer

        return await retry(send, while_busy)

    async def _send(self, request: "httpx.Request", bytes_max: int) -> ServerAnswer:
        import httpx

        try:
            return await fetch(self._client, request, bytes_max)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            advice = (
                "Name the certificate of its issuer in SSL_CERT_FILE." if untrusted else "Is the server running there?"
            )
            raise LedgerUnavailable(f"{self._url} cannot be reached: {_reason(error)}.", advice) from error
        except httpx.TransportError as error:
            raise LedgerUnavailable(
                f"{self._url} broke off: {_reason(error)}; whether this batch was written is unknown.",
                "Run it again: events with ids are not written twice.",
            ) from error


def decode_error(answer: ServerAnswer) -> TallystickError:
    """Return the exception for the error that a server answered."""
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
        kind = _errors[problem.type.rpartition(":")[2]]
    except (*DECODE_ERRORS, KeyError):
        return not_tallystick(answer.url, answer.status)
    error = kind.__new__(kind)
    TallystickError.__init__(error, problem.detail, problem.advice or "")
    # `written` stays open: the advice of the server says it already
    error.__dict__.update(field=problem.field, index=problem.index, written=None)
    if isinstance(error, LedgerBusy | RateLimited):
        error.retry_after_s = answer.retry_after_s()
    if isinstance(error, Unauthenticated):
        error.advice = "Give a token with --token, or in TALLYSTICK_TOKEN; tallystick token add AGENT makes one."
    return error


def _decode(answer: ServerAnswer, kind: type[_Answer], content: bytes | None = None) -> _Answer:
    try:
        return msgspec.json.decode(answer.content if content is None else content, type=kind)
    except DECODE_ERRORS:
        raise not_tallystick(answer.url, answer.status) from None


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def make_client(url: str, token: str | None) -> "httpx.AsyncClient":
    """Make an HTTP client of the server at an address. Errors: InvalidQuery."""
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery("url", f"{url!r} is not an address: {error}.", "Write http://127.0.0.1:8321.") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidQuery("url", f"{url!r} is not the address of a server.", "Write http://127.0.0.1:8321.")
    headers = IDENTITY | ({"authorization": f"Bearer {token}"} if token else {})
    return httpx.AsyncClient(base_url=parsed, headers=headers, timeout=ANSWER_S)
