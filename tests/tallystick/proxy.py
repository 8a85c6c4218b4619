"""A proxy on a real socket that loses, delays and refuses what a test tells it to."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, NamedTuple

import httpx

from tests.support.http_stub import bind, listening

Fault = Literal[
    "none", "lose request", "lose answer", "busy", "busy for an hour", "too fast", "bad gateway", "nonsense", "html"
]


class Seen(NamedTuple):
    """A request that arrived."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]


class Proxy:
    """A running proxy: its address, the faults that are still to come, and the requests that came."""

    def __init__(self, server: ThreadingHTTPServer, faults: deque[Fault], seen: list[Seen]) -> None:
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.faults = faults
        self.seen = seen


@contextmanager
def proxying(upstream: str, faults: Sequence[Fault] = ()) -> Iterator[Proxy]:
    """Forward requests to a server; each fault befalls one of them, in this order."""
    left, seen = deque(faults), list[Seen]()
    with httpx.Client() as http:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                seen.append(Seen(self.command, self.path, body, {name.lower(): v for name, v in self.headers.items()}))
                fault = left.popleft() if left else None
                if fault == "lose request":
                    self.close_connection = True
                elif fault in _ANSWERS:
                    self.answer(*_ANSWERS[fault])
                else:
                    kept = {name: value for name, value in self.headers.items() if name.lower() in _PASSED}
                    got = http.request(self.command, upstream + self.path, content=body, headers=kept)
                    if fault == "lose answer":
                        self.close_connection = True
                    else:
                        self.answer(got.status_code, got.headers.get("content-type", ""), got.content, {})

            do_GET = do_POST = handle_any  # noqa: N815 - named by http.server

            def answer(self, status: int, media: str, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {**headers, "content-type": media, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
                """Say nothing."""

        server = bind(Handler)
        with listening(server, threading.Event()):
            yield Proxy(server, left, seen)


_PASSED = frozenset({"content-type", "authorization", "accept"})
_BUSY = (
    b'{"type":"urn:tallystick:problem:ledger-busy","title":"Ledger busy","status":503,"detail":"The queue is full."}'
)
_FAST = b'{"type":"urn:tallystick:problem:rate-limited","title":"Too many requests","status":429,"detail":"Too fast."}'
_PROBLEM = "application/problem+json"
_ANSWERS: dict[Fault | None, tuple[int, str, bytes, dict[str, str]]] = {
    "busy": (503, _PROBLEM, _BUSY, {"retry-after": "0"}),
    "busy for an hour": (503, _PROBLEM, _BUSY, {"retry-after": "3600"}),
    "too fast": (429, _PROBLEM, _FAST, {"retry-after": "1"}),
    "bad gateway": (502, "text/html", b"<h1>Bad gateway</h1>", {}),
    "nonsense": (200, "application/json", b'{"hello": "world"}', {}),
    "html": (404, "text/html", b"<h1>Not here</h1>", {}),
}
