"""Where the command line writes: the ledger file itself, or a server that holds it."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from api.access import OWNER, Unauthenticated
from api.custody import Blob, Erased, Kept, Piece, digest_of
from api.operations import House
from api.pace import RateLimited
from api.printing import progress
from api.problems import TABLE, Problem, slug
from events.envelope import Draft
from events.errors import TallystickError
from events.limits import PAGE_EVENTS_MAX
from events.refusal import UNDECODABLE
from ledger import Query
from ledger.errors import InvalidQuery, LedgerBusy, LedgerUnavailable, NotFound

if TYPE_CHECKING:
    import httpx

FOLD_EVENTS_MIN = 10_000
"""After so many events appended to a file the views are folded and kept: else every reader would fold them again."""

TRIES = 10
"""How often a server that is busy is asked, waiting as long as it says, before the append is given up."""

LINES = "application/x-ndjson"

ANSWER_S = 120.0
"""How long a server may take for one batch."""

_Answer = TypeVar("_Answer")
_encode = msgspec.json.Encoder().encode
_errors = {slug(error.__name__): error for error in TABLE}


class Answer(msgspec.Struct, frozen=True):
    """What became of a batch: how many events, how many of them were there before, lowest and highest position."""

    first: int
    last: int
    count: int
    duplicates: int


class _Line(msgspec.Struct):
    """Of a stored line, what tells where the next page begins."""

    position: int


class Sink(Protocol):
    """Something that appends batches."""

    async def append(self, drafts: list[Draft]) -> Answer:
        """Append a batch atomically. Errors: those of `House.record`."""
        ...

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        """The stored events of at most ITEMS_MAX streams, or of all, as NDJSON; of some types where named.

        Errors: those of `House.read`.
        """
        ...

    def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        """Every stored event of some types, and of some streams where these are named, as pages of NDJSON.

        Errors: those of `House.read`.
        """
        ...

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        """Hold bytes for a batch; within, the drafts to append with it. Errors: those of `Custody.keep`.

        A server records them at once, so that there are no drafts then.
        """
        ...

    async def put(self, blob: Blob) -> Kept:
        """Keep bytes. Errors: those of `Custody.put`."""
        ...

    async def evidence(self, digest: str) -> Piece:
        """The bytes of a digest. Errors: those of `Custody.get`."""
        ...

    async def erase(self, digest: str, reason: str | None) -> Erased:
        """Erase the bytes of a digest. Errors: those of `Custody.erase`."""
        ...


class FileSink:
    """The ledger file, which no other process writes."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.appended = 0

    async def append(self, drafts: list[Draft]) -> Answer:
        placed = await self.house.record(drafts, OWNER)
        positions = [event.position for event in placed]
        duplicates = sum(event.duplicate for event in placed)
        self.appended += len(placed) - duplicates
        return Answer(min(positions), max(positions), len(placed), duplicates)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        query = Query(subjects=tuple(subjects), types=tuple(types), limit=PAGE_EVENTS_MAX)
        return b"\n".join([page.ndjson async for page in self.house.scan(query)])

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        async for page in self.house.scan(Query(types=tuple(types), subjects=tuple(subjects), limit=PAGE_EVENTS_MAX)):
            yield page.ndjson

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        return self.house.evidence.keep(blobs)

    async def put(self, blob: Blob) -> Kept:
        return await self.house.evidence.put(blob, OWNER)

    async def evidence(self, digest: str) -> Piece:
        return await self.house.evidence.get(digest, OWNER)

    async def erase(self, digest: str, reason: str | None) -> Erased:
        return await self.house.evidence.erase(digest, reason, OWNER)


class NoLedger:
    """A ledger file that is not there yet, where nothing is to be written."""

    async def append(self, drafts: list[Draft]) -> Answer:
        raise AssertionError(f"{len(drafts)} events were to be appended to no ledger")

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        return b""

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        none: tuple[bytes, ...] = ()
        for page in none:
            yield page

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        raise AssertionError(f"{len(list(blobs))} blobs were to be kept beside no ledger")

    async def put(self, blob: Blob) -> Kept:
        raise AssertionError(f"{len(blob.data)} bytes were to be kept beside no ledger")

    async def evidence(self, digest: str) -> Piece:
        raise NotFound(f"There is no evidence {digest}, and no ledger.", "Name one with --ledger.")

    async def erase(self, digest: str, reason: str | None) -> Erased:
        raise AssertionError(f"{digest} was to be erased beside no ledger: {reason}")


class ServerSink:
    """A server's routes."""

    def __init__(self, client: "httpx.AsyncClient", url: str) -> None:
        self._client = client
        self._url = url

    async def append(self, drafts: list[Draft]) -> Answer:
        body = b"\n".join(map(_encode, drafts))
        return _decode(await self._ask("POST", "/events", content=body, headers={"content-type": LINES}), Answer)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        chosen = {"subject": ",".join(subjects), "type": ",".join(types)}
        parameters = {name: value for name, value in chosen.items() if value}
        return (await self._ask("GET", "/events", params=parameters, headers={"accept": LINES})).content

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        wanted = {"type": ",".join(types), "limit": str(PAGE_EVENTS_MAX)}
        if subjects:
            wanted["subject"] = ",".join(subjects)
        lines, after = PAGE_EVENTS_MAX, 0
        while lines == PAGE_EVENTS_MAX:
            answer = await self._ask("GET", "/events", params=wanted | {"after": str(after)}, headers={"accept": LINES})
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

    async def put(self, blob: Blob) -> Kept:
        parameters = {"digest": digest_of(blob.data)} | ({} if blob.note is None else {"note": blob.note})
        headers = {} if blob.media_type is None else {"content-type": blob.media_type}
        answer = await self._ask("PUT", "/evidence", content=blob.data, params=parameters, headers=headers)
        return _decode(answer, Kept)

    async def evidence(self, digest: str) -> Piece:
        answer = await self._ask("GET", f"/evidence/{quote(digest, safe='')}")
        if digest_of(answer.content) != digest:
            raise _no_tallystick(answer)
        return Piece(digest, answer.content, answer.headers["content-type"])

    async def erase(self, digest: str, reason: str | None) -> Erased:
        parameters = {} if reason is None else {"reason": reason}
        return _decode(await self._ask("DELETE", f"/evidence/{quote(digest, safe='')}", params=parameters), Erased)

    async def get(self, path: str) -> bytes:
        """What stands at a path. Errors: the server's own, as if raised here."""
        return (await self._ask("GET", path)).content

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> "httpx.Response":
        """What a server answers, asked again while it is busy or the token too fast.

        Errors: the server's own, as if raised here.
        """
        request = self._client.build_request(method, path, content=content, params=params, headers=headers)
        for left in range(TRIES - 1, -1, -1):
            response = await self._send(request)
            if response.status_code in {200, 201}:
                return response
            error = error_of(response)
            if not isinstance(error, LedgerBusy | RateLimited) or left == 0:
                raise error
            await asyncio.sleep(int(response.headers.get("retry-after", "1")))
        raise AssertionError("the last try answers or raises")

    async def _send(self, request: "httpx.Request") -> "httpx.Response":
        import httpx  # noqa: PLC0415 - a fifth of what a verb loads, and only who writes through a server needs it

        try:
            return await self._client.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            advice = (
                "Name who signed its certificate in SSL_CERT_FILE." if untrusted else "Is the server running there?"
            )
            raise LedgerUnavailable(f"{self._url} cannot be reached: {_said(error)}.", advice) from error
        except httpx.TransportError as error:
            raise LedgerUnavailable(
                f"{self._url} broke off: {_said(error)}; whether this batch was written is unknown.",
                "Run it again: events that carry ids are not written twice.",
            ) from error


def error_of(response: "httpx.Response") -> TallystickError:
    """The error that a server answered with."""
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
        kind = _errors[problem.type.rpartition(":")[2]]
    except (*UNDECODABLE, KeyError):
        return _no_tallystick(response)
    error = kind.__new__(kind)
    TallystickError.__init__(error, problem.detail, problem.advice or "")
    error.__dict__.update(field=problem.field, index=problem.index)
    if isinstance(error, Unauthenticated):
        error.advice = "Give a token with --token, or in TALLYSTICK_TOKEN; tallystick token add AGENT makes one."
    return error


def _decode(response: "httpx.Response", kind: type[_Answer], content: bytes | None = None) -> _Answer:
    try:
        return msgspec.json.decode(response.content if content is None else content, type=kind)
    except UNDECODABLE:
        raise _no_tallystick(response) from None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _no_tallystick(response: "httpx.Response") -> InvalidQuery:
    detail = f"{response.url} answered {response.status_code}, but not as Tallystick does."
    return InvalidQuery("url", detail, "Check the address.")


@asynccontextmanager
async def sink(ledger: Path, url: str | None, token: str | None, *, writable: bool = True) -> AsyncIterator[Sink]:
    """Somewhere to write, or only to read: the server at `url` where one is named, the file where not.

    Errors: LedgerLocked, LedgerUnusable, InvalidQuery.
    """
    if url is not None:
        async with server(url, token) as there:
            yield there
        return
    if not writable and not ledger.exists():
        yield NoLedger()
        return
    house = await House.open(ledger, writable=writable, views=False)
    try:
        file = FileSink(house)
        yield file
        if file.appended >= FOLD_EVENTS_MIN:
            with progress("folding", "events") as report:
                await house.fold(report)
    finally:
        await house.close()


@asynccontextmanager
async def server(url: str, token: str | None) -> AsyncIterator[ServerSink]:
    """The server at an address. Errors: InvalidQuery."""
    async with client_of(url, token) as client:
        yield ServerSink(client, url)


def client_of(url: str, token: str | None) -> "httpx.AsyncClient":
    """A client of the server at an address. Errors: InvalidQuery."""
    import httpx  # noqa: PLC0415 - as above

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery("url", f"{url!r} is no address: {error}.", "Write http://127.0.0.1:8321.") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidQuery("url", f"{url!r} is not the address of a server.", "Write http://127.0.0.1:8321.")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=parsed, headers=headers, timeout=ANSWER_S)
