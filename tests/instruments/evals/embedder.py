"""An OpenAI-compatible embeddings endpoint on a real socket, which knows what a few words mean."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.support.http_stub import bind, listening

CONCEPTS = (
    {"memory", "oom", "ram"},
    {"killed", "ended", "stopped"},
    {"image", "picture"},
    {"pull", "fetch", "fetched"},
    {"disk", "volume"},
)


class Asked(NamedTuple):
    """One request, as it came."""

    number: int
    """1-based."""
    texts: list[str]
    model: object
    path: str
    headers: Mapping[str, str]


class Reply(NamedTuple):
    """What is sent; with `stall`, the head alone, and then one blank after the other."""

    body: bytes = b""
    status: int = 200
    stall: bool = False


Script = Callable[[Asked], Reply]


class Embedder:
    """A running endpoint: its base URL, and what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.server = bind(_handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@contextmanager
def embedder(script: Script | None = None) -> Iterator[Embedder]:
    """Run an endpoint for as long as it is needed."""
    running = Embedder(script or (lambda asked: embedded([vector(text) for text in asked.texts])))
    with listening(running.server, running.closing):
        yield running


def vector(text: str) -> list[float]:
    """Which concepts a text speaks of, and a little of nothing."""
    words = {word.strip(".,:;!?").casefold() for word in text.split()}
    return [*(1.0 if words & concept else 0.0 for concept in CONCEPTS), 0.1]


def embedded(vectors: object, **more: object) -> Reply:
    """The reply of an endpoint, the last text first."""
    found = list(enumerate(vectors)) if isinstance(vectors, list) else []
    data = [{"object": "embedding", "index": at, "embedding": value} for at, value in reversed(found)]
    return Reply(json.dumps({"object": "list", "data": data, "model": "meadow", **more}).encode())


def _handler(running: Embedder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            number = len(running.asked) + 1
            asked = Asked(number, request["input"], request["model"], self.path, headers)
            running.asked.append(asked)
            with suppress(ConnectionError):
                self._send(running.script(asked))

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply.body) + (1 << 20) * reply.stall))
            self.end_headers()
            self.wfile.write(reply.body)
            while reply.stall and not running.closing.wait(0.01):
                self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
            """A test's output is its own."""

    return Handler
