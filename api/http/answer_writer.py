"""Write one answer to a connection, with the security headers."""

import asyncio

from api.http.security_headers import SecurityHeaders


class AnswerWriter:
    """The transport of one answer: adds the security headers.

    It writes head and body in one call if the length is known. uvicorn validates each header of each answer, and writes
    the head in a call of its own. Without this class, appends of single events took 10% more CPU time (median of 30
    alternating runs).
    """

    def __init__(self, transport: asyncio.Transport, headers: SecurityHeaders) -> None:
        self._transport = transport
        self._headers = headers
        self._head = b""
        self._started = False

    def write(self, data: bytes) -> None:
        """Write a part of the answer: its head, or bytes of its body."""
        if self._started:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(b"HTTP/1.1 1"):  # 100 Continue: the answer follows
            self._transport.write(data)
        else:
            self._started = True
            head = self._headers.add_to(data)
            if b"\r\ncontent-length: " in head:
                self._head = head
            else:
                self._transport.write(head)

    def flush(self) -> None:
        """Write a head that has no body."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Close the connection after the answer."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the connection is closed or about to close."""
        return self._transport.is_closing()
