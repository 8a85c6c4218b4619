"""A server that lies: what a true one serves, changed on the way."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx

from tests.support.http_stub import bind, listening

Lie = Callable[[str, bytes], bytes | None]
"""The answer to a path instead of the true one; None says 404."""


@contextmanager
def lying(url: str, lie: Lie) -> Iterator[str]:
    """Run a proxy that changes a server's answers. Return the proxy's base URL."""
    client = httpx.Client(base_url=url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = client.get(self.path, headers={"accept-encoding": "identity"})
            content = lie(self.path, answer.content)
            self.send_response(404 if content is None else answer.status_code)
            self.send_header("content-length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the interface's name
            """Say nothing."""

    server = bind(Handler)
    try:
        with listening(server, threading.Event()):
            yield f"http://127.0.0.1:{server.server_port}"
    finally:
        client.close()
