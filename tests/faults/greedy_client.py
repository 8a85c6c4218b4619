"""A client that takes all it can with one token, as fast as it can.

`python -m tests.faults.greedy_client URL TOKEN KIND`: a process of its own, so that it takes no time from those who
measure.
"""

import asyncio
import random
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

FEEDS = 1_000
FILES = 4_096
BODIES = 40
QUERIES = 12
BODY_BYTES = 16 * 1024 * 1024
PIECE = b"x" * 65_536
HOLD_S = 5.0
LEAVE_S = 0.5
GONE = (OSError, EOFError)


class Greedy:
    """What one client does, again and again, each time on a new connection."""

    def __init__(self, url: str, token: str) -> None:
        address = urlsplit(url)
        self._host, self._port, self._token = address.hostname, address.port, token

    async def repeat(self, once: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(self._host, self._port)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            try:
                await once(reader, writer)
            except GONE:
                pass
            finally:
                writer.transport.abort()
                if reader.exception() is None:
                    reader.feed_eof()

    def head(self, method: str, path: str, *headers: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"authorization: Bearer {self._token}", *headers]
        return "\r\n".join([*lines, "", ""]).encode()

    async def feeds(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open a feed and keep it; ask again on the same connection while it is refused."""
        while True:
            writer.write(self.head("GET", "/events", "accept: text/event-stream"))
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " in answer[:16]:
                while await reader.read(65_536):
                    pass
                return
            length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)

    async def bodies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send all of a large body but its end."""
        writer.write(self.head("PUT", "/evidence", f"content-length: {BODY_BYTES}"))
        answer = asyncio.ensure_future(answered(reader))
        for _ in range(BODY_BYTES // len(PIECE) - 1):
            writer.write(PIECE)
            await writer.drain()
            if answer.done():
                return
        await asyncio.wait([answer], timeout=HOLD_S)

    async def queries(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Request a long view, and leave."""
        offset = random.randrange(100_000)  # so that no answer is cached
        writer.write(self.head("GET", f"/calibration?group_by=feature&detail=curves&min_decisions=1&offset={offset}"))
        await asyncio.wait([asyncio.ensure_future(answered(reader))], timeout=LEAVE_S)


async def answered(reader: asyncio.StreamReader) -> None:
    """Wait until something is answered, or the connection is gone."""
    with suppress(*GONE):
        await reader.read(1)


async def main(url: str, token: str, kind: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES if hard == resource.RLIM_INFINITY else min(FILES, hard), hard))
    greedy = Greedy(url, token)
    kinds = {"feeds": (greedy.feeds, FEEDS), "bodies": (greedy.bodies, BODIES), "queries": (greedy.queries, QUERIES)}
    once, clients = kinds[kind]
    await asyncio.gather(*(greedy.repeat(once) for _ in range(clients)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
