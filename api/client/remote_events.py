"""The events of a remote server: pages, scans and feeds, with the methods that `LedgerService` has for them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NoReturn

import httpx
import msgspec
from msgspec import structs

from api.client.remote_store import RemoteStore, decode_error, make_client
from api.client.server_answer import PROBLEM_BYTES_MAX, read_answer, require_plain
from api.service.status import LedgerStatus
from events.envelope import timestamp
from events.limits import LINE_BYTES_MAX
from ledger.clock import moment_of
from ledger.errors import LedgerUnavailable
from ledger.log import LogPage, Query

PATH = "/events"
FEED = "text/event-stream"
MESSAGE_BYTES_MAX = 2 * LINE_BYTES_MAX
"""A message of a feed is not longer: a line, its position and its type."""


class _EventPage(msgspec.Struct):
    """A page of stored lines; `next` is the position to continue after, None on the last page."""

    events: list[msgspec.Raw]
    next: int | None
    head: int


class _Position(msgspec.Struct):
    position: int


@asynccontextmanager
async def open_remote_events(url: str, token: str | None) -> "AsyncIterator[RemoteEvents]":
    """Open the events of the server at an address. Errors: InvalidQuery."""
    async with make_client(url, token) as client:
        yield RemoteEvents(client, url)


class RemoteEvents:
    """The events of a server. Errors: those that the server answers; LedgerUnavailable; InvalidQuery."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url
        self._store = RemoteStore(client, url)

    async def head_position(self) -> int:
        """Return the position of the newest event; 0 if there is none."""
        return (await self._read(Query(limit=1)))[1]

    async def agents(self) -> set[str]:
        """Return the agents that have recorded decisions."""
        return {each.agent for each in (await self._store.view("/status", LedgerStatus)).agents}

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
        after = query.after
        try:
            async with self._client.stream(
                "GET", PATH, params=_parameters(query, limited=False), headers={"accept": FEED}
            ) as response:
                require_plain(response)
                if response.status_code != 200:
                    raise decode_error(await read_answer(response, PROBLEM_BYTES_MAX))
                if not response.headers.get("content-type", "").startswith(FEED):
                    raise self._store.unexpected(PATH)
                async for lines in _messages(response):
                    if len(lines[-1]) > MESSAGE_BYTES_MAX:
                        raise self._store.unexpected(PATH)
                    if page := self._page(lines[:-1], more=False):
                        after = page.positions[-1]
                        yield page
        except httpx.TransportError as error:
            self._ended(after, str(error) or type(error).__name__, error)
        self._ended(after, "the server ended it")

    async def _read(self, query: Query) -> tuple[LogPage, int]:
        """Return a page of events and the newest position."""
        answer = await self._store.view(PATH, _EventPage, _parameters(query, limited=True))
        page = self._page([bytes(line) for line in answer.events], more=answer.next is not None)
        if page is None:
            return LogPage(b"", [], more=False), answer.head
        low, high = sorted((page.positions[0], page.positions[-1]))
        before = query.before or answer.head + 1
        if len(page.positions) > query.limit or not query.after < low <= high < before:
            raise self._store.unexpected(PATH)
        return page, answer.head

    def _page(self, lines: list[bytes], *, more: bool) -> LogPage | None:
        """Return the page of some lines; None without lines."""
        positions = [self._store.decode(PATH, line, _Position).position for line in lines]
        return LogPage(b"\n".join(lines), positions, more=more) if lines else None

    def _ended(self, after: int, reason: str, cause: Exception | None = None) -> NoReturn:
        detail = f"The feed of {self._url} broke off after position {after}: {reason}."
        raise LedgerUnavailable(detail, f"Run it again with --after {after}.") from cause


async def _messages(response: httpx.Response) -> AsyncIterator[list[bytes]]:
    """Yield the data of the messages that each part of a feed completes, and at the end the incomplete rest."""
    rest = b""
    async for piece in response.aiter_raw():
        *lines, rest = (rest + piece).split(b"\n")
        yield [*_data(lines), rest]


def _data(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the data of messages. A stored line contains no line feed, so that each message has one line of data."""
    return (line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: "))


def _parameters(query: Query, *, limited: bool) -> dict[str, str]:
    """Return the parameters of the route for a query."""
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
