"""The event store of a remote server: calls its HTTP routes as the methods of `EventStore`."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from api.auth import Unauthenticated
from api.errors import ERROR_TABLE, Problem, problem_name
from api.rate_limit import RateLimited
from api.service.decision_writer import RecordedDecision, RecordedReview
from api.service.evidence import Blob, ErasureReceipt, EvidenceContent, StoredEvidence, digest_of
from api.service.retry import retry, while_busy
from api.service.store import AppendResult
from events.decision import DecisionRecorded, DecisionReviewed
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft
from events.errors import TallystickError
from events.limits import PAGE_EVENTS_MAX
from ledger.errors import InvalidQuery, LedgerBusy, LedgerUnavailable

if TYPE_CHECKING:
    import httpx


LINES = "application/x-ndjson"

ANSWER_S = 120.0
"""Seconds to wait for the answer of a server."""

_Answer = TypeVar("_Answer")
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
        body = b"\n".join(map(_encode, drafts))
        return _decode(
            await self._request("POST", "/events", content=body, headers={"content-type": LINES}), AppendResult
        )

    async def record_decision(
        self, decision: DecisionRecorded, *, event_id: str | None, source: str | None, question: str | None
    ) -> RecordedDecision:
        body = {"data": decision, "id": event_id, "source": source, "question": question}
        return _decode(await self._post_json("/decisions", body), RecordedDecision)

    async def review_decision(
        self, review: DecisionReviewed, *, event_id: str | None, source: str | None
    ) -> RecordedReview:
        body = {"data": review, "id": event_id, "source": source, "prefix": True}
        return _decode(await self._post_json("/reviews", body), RecordedReview)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        filters = {"subject": ",".join(subjects), "type": ",".join(types)}
        parameters = {name: value for name, value in filters.items() if value}
        return (await self._request("GET", "/events", params=parameters, headers={"accept": LINES})).content

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        parameters = {"type": ",".join(types), "limit": str(PAGE_EVENTS_MAX)}
        if subjects:
            parameters["subject"] = ",".join(subjects)
        lines, after = PAGE_EVENTS_MAX, 0
        while lines == PAGE_EVENTS_MAX:
            answer = await self._request(
                "GET", "/events", params=parameters | {"after": str(after)}, headers={"accept": LINES}
            )
            page = answer.content.rstrip(b"\n")
            if page:
                after = _decode(answer, _Line, page[page.rfind(b"\n") + 1 :]).position
                yield page
            lines = page.count(b"\n") + 1 if page else 0

    @asynccontextmanager
    async def keep(self, blobs: Iterable[Blob]) -> AsyncIterator[list[Draft]]:
        for blob in blobs:
            await self.put(blob)
        yield []

    async def put(self, blob: Blob) -> StoredEvidence:
        parameters = {"digest": digest_of(blob.data)} | ({} if blob.note is None else {"note": blob.note})
        headers = {} if blob.media_type is None else {"content-type": blob.media_type}
        answer = await self._request("PUT", "/evidence", content=blob.data, params=parameters, headers=headers)
        return _decode(answer, StoredEvidence)

    async def evidence(self, digest: str) -> EvidenceContent:
        answer = await self._request("GET", f"/evidence/{quote(digest, safe='')}")
        if digest_of(answer.content) != digest:
            raise _not_tallystick(answer)
        return EvidenceContent(digest, answer.content, answer.headers["content-type"])

    async def erase(self, digest: str, reason: str | None) -> ErasureReceipt:
        parameters = {} if reason is None else {"reason": reason}
        return _decode(
            await self._request("DELETE", f"/evidence/{quote(digest, safe='')}", params=parameters), ErasureReceipt
        )

    async def get(self, path: str) -> bytes:
        """Return the body at a path. Errors: those that the server answers."""
        return (await self._request("GET", path)).content

    async def _post_json(self, path: str, body: object) -> "httpx.Response":
        return await self._request("POST", path, content=_encode(body), headers={"content-type": "application/json"})

    async def _request(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> "httpx.Response":
        """Send a request and return the answer. Repeat it while the server is busy or limits the token's rate.

        Errors: those that the server answers; LedgerUnavailable; InvalidQuery, if it is not a Tallystick server.
        """
        request = self._client.build_request(method, path, content=content, params=params, headers=headers)

        async def send(again: bool) -> "httpx.Response":
            response = await self._send(request)
            if response.status_code not in {200, 201}:
                raise decode_error(response)
            return response

        return await retry(send, while_busy)

    async def _send(self, request: "httpx.Request") -> "httpx.Response":
        import httpx

        try:
            return await self._client.send(request)
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


def decode_error(response: "httpx.Response") -> TallystickError:
    """Return the exception for the error that a server answered."""
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
        kind = _errors[problem.type.rpartition(":")[2]]
    except (*DECODE_ERRORS, KeyError):
        return _not_tallystick(response)
    error = kind.__new__(kind)
    TallystickError.__init__(error, problem.detail, problem.advice or "")
    error.__dict__.update(field=problem.field, index=problem.index)
    if isinstance(error, LedgerBusy | RateLimited):
        error.retry_after_s = int(response.headers.get("retry-after", "1"))
    if isinstance(error, Unauthenticated):
        error.advice = "Give a token with --token, or in TALLYSTICK_TOKEN; tallystick token add AGENT makes one."
    return error


def _decode(response: "httpx.Response", kind: type[_Answer], content: bytes | None = None) -> _Answer:
    try:
        return msgspec.json.decode(response.content if content is None else content, type=kind)
    except DECODE_ERRORS:
        raise _not_tallystick(response) from None


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _not_tallystick(response: "httpx.Response") -> InvalidQuery:
    detail = f"{response.url} answered {response.status_code}, but not as Tallystick does."
    return InvalidQuery("url", detail, "Check the address.")


def make_client(url: str, token: str | None) -> "httpx.AsyncClient":
    """Make an HTTP client of the server at an address. Errors: InvalidQuery."""
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery("url", f"{url!r} is not an address: {error}.", "Write http://127.0.0.1:8321.") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidQuery("url", f"{url!r} is not the address of a server.", "Write http://127.0.0.1:8321.")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=parsed, headers=headers, timeout=ANSWER_S)
