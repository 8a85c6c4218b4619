"""One HTTP/1.1 connection to a server, bare: cheap enough for thousands of posts, and cut off at any byte."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from tallystick.shapes.appended import AppendedEvent

GONE = (OSError, EOFError)
"""What reading and writing raise where the other side is gone."""


class Answer(NamedTuple):
    """A status, and the body."""

    status: int
    body: bytes


class Reported(msgspec.Struct):
    """The answer to an append: the position of each event."""

    events: list[AppendedEvent]

    @classmethod
    def of(cls, answer: Answer) -> "list[AppendedEvent]":
        """Return the positions of an append's events. A refusal fails the test."""
        assert answer.status in (200, 201), (answer.status, answer.body)
        return msgspec.json.decode(answer.body, type=cls).events


class Wire:
    """A connection on which requests are sent and answers are read, one after another. Errors: GONE."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Self]:
        """A connection, which is closed at the end."""
        place = urlsplit(url)
        wire = cls(*await asyncio.open_connection(place.hostname, place.port))
        try:
            yield wire
        finally:
            wire.close()
            with suppress(*GONE):
                await wire._writer.wait_closed()

    async def post(self, body: bytes) -> Answer:
        """Append lines of NDJSON."""
        return await self.ask(request("POST", "/events", body))

    async def ask(self, said: bytes) -> Answer:
        await self.send(said)
        return await self.answer()

    async def send(self, said: bytes) -> None:
        self._writer.write(said)
        await self._writer.drain()

    async def answer(self) -> Answer:
        head = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head[1:-2])
        return Answer(int(head[0].split()[1]), await self._reader.readexactly(int(fields[b"content-length"])))

    async def part(self, size_bytes: int) -> None:
        """Read no more of an answer than this."""
        await self._reader.read(size_bytes)

    def close(self, *, rudely: bool = False) -> None:
        """Give up: by a FIN, or by a reset that tells the other side at once."""
        if rudely:
            held: socket.socket = self._writer.get_extra_info("socket")
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.close()


def request(method: str, path: str, body: bytes = b"", media_type: str = "application/x-ndjson") -> bytes:
    """A request as it goes over the wire."""
    said = f"host: localhost\r\ncontent-type: {media_type}\r\ncontent-length: {len(body)}\r\n\r\n"
    return f"{method} {path} HTTP/1.1\r\n{said}".encode() + body
