"""A server that sends what no Tallystick server does: bodies without end, bombs, rubbish, and claims."""

import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from tests.support.http_stub import bind, listening

FLOOD_BYTES = 200 << 20
"""What a server without end sends here, far more than any limit on one answer but that of streams."""

PIECE = b" " * (1 << 20)

Response = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def malicious(respond: Response) -> Iterator[str]:
    """Run a server that answers every request with a function. Return its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            self.rfile.read(length)
            with suppress(OSError):  # the client hangs up, as it should
                respond(self)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PUT(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the interface's name
            """Say nothing."""

    server = bind(Handler)
    with listening(server, threading.Event()):
        yield f"http://127.0.0.1:{server.server_port}"


def flood(handler: BaseHTTPRequestHandler) -> None:
    """Answer 200 with 200 MB."""
    _flood(handler, 200)


def flood_error(handler: BaseHTTPRequestHandler) -> None:
    """Answer 500 with 200 MB."""
    _flood(handler, 500)


def _flood(handler: BaseHTTPRequestHandler, status: int) -> None:
    handler.send_response(status)
    handler.send_header("content-length", str(FLOOD_BYTES))
    handler.end_headers()
    for _ in range(FLOOD_BYTES // len(PIECE)):
        handler.wfile.write(PIECE)


def bomb(handler: BaseHTTPRequestHandler) -> None:
    """Answer with 200 kB that gzip makes 200 MB of."""
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(PIECE) for _ in range(FLOOD_BYTES // len(PIECE))) + packer.flush()
    handler.send_response(200)
    handler.send_header("content-encoding", "gzip")
    handler.send_header("content-length", str(len(packed)))
    handler.end_headers()
    handler.wfile.write(packed)


def rubbish(handler: BaseHTTPRequestHandler) -> None:
    """Answer 200 with a page of another site."""
    reply(handler, b"<html>It works!</html>\n")


def reply(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    """Answer with a body."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
