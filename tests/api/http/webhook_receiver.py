"""Receivers of webhooks on real sockets: honest ones, and ones that are down, slow, lying or malicious."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import msgspec

from tests.api.http.posts import Json
from tests.support.wait import Process, wait_until

Answer = Callable[[socket.socket], None]
"""Writes an answer to a connection whose request was read."""


class Received(NamedTuple):
    """A request that arrived whole."""

    path: str
    headers: dict[str, str]
    body: bytes
    at_s: float

    @property
    def event(self) -> Json:
        event: Json = msgspec.json.decode(self.body)
        return event

    @property
    def position(self) -> int:
        position: int = self.event["position"]
        return position


def status(code: int, **headers: str) -> Answer:
    """A plain answer with a status."""

    def answer(connection: socket.socket) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"HTTP/1.1 {code} X\r\ncontent-length: 0\r\n{more}\r\n".encode())

    return answer


def drip(*parts: bytes, every_s: float = 0.05) -> Answer:
    """An answer that repeats its last part without end."""

    def answer(connection: socket.socket) -> None:
        for part in parts[:-1]:
            connection.sendall(part)
        while True:
            connection.sendall(parts[-1])
            time.sleep(every_s)

    return answer


class Receiver:
    """A receiver on loopback. It answers with `answers` in turn, then with the last of them.

    `sent` counts the bytes of the answers that fail; requests are in `received` before they are answered.
    """

    def __init__(self, *answers: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self._answers = list(answers) or [status(204)]
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/hook?key=1"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            threading.Thread(target=self._serve, args=(connection, answer), daemon=True).start()

    def _serve(self, connection: socket.socket, answer: Answer) -> None:
        with suppress(OSError), connection, self._secured(connection) as secured:
            self._read(secured)
            answer(secured)

    def _secured(self, connection: socket.socket) -> socket.socket:
        if self._tls is None:
            return connection
        connection.settimeout(120)
        secured = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            secured.do_handshake()
        except OSError:
            secured.close()
            raise
        return secured

    def _read(self, connection: socket.socket) -> None:
        text = b""
        while b"\r\n\r\n" not in text:
            if not (part := connection.recv(65_536)):
                raise OSError
            text += part
        head, _, body = text.partition(b"\r\n\r\n")
        request, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers["content-length"]):
            if not (part := connection.recv(65_536)):
                raise OSError
            body += part
        self.received.append(Received(request.split()[1], headers, body, time.monotonic()))

    def wait_for(self, count: int, sender: Process) -> Sequence[Received]:
        """The requests, once a process has sent so many."""
        wait_until(lambda: len(self.received) >= count, sender)
        return self.received

    def first_positions(self) -> list[int]:
        """The position of each event in the order in which it first arrived."""
        return list(dict.fromkeys(one.position for one in self.received))

    def stop(self) -> None:
        """Listen no longer."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def receiving(*answers: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver."""
    receiver = Receiver(*answers, port=port, tls=tls)
    try:
        yield receiver
    finally:
        receiver.stop()
