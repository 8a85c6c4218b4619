"""An OpenAI-compatible chat endpoint on a real socket, with a pool of models behind it that do as a test says."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal, NamedTuple

from tests.support.http_stub import bind, listening

DRIP_S = 0.01

MODELS = ("Aster 4", "Borage-mini-2", "Campion 7b", "Dodder-large", "Elder 1.5")
CODE = "func keep(n int) int {\n\tif n < 0 {\n\t\treturn 0\n\t}\n\treturn n\n}\n"


class Asked(NamedTuple):
    """One request, as it came."""

    number: int
    """1-based."""
    prompt: str
    model: object
    path: str
    headers: Mapping[str, str]
    fields: Mapping[str, Any] = {}
    """The other fields of the request."""


class Reply(NamedTuple):
    """What is sent: whole, byte by byte without end, cut off in the middle, or not at all."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    how: Literal["whole", "drip", "cut", "stall"] = "whole"


Script = Callable[[Asked], Reply]


class Simulated:
    """A running endpoint: its base URL, and what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self.server = bind(_handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def wait_for(self, number: int, asking: subprocess.Popen[bytes]) -> None:
        """Until it was asked so many times, or the process that asks it has ended."""
        with self.changed:
            while len(self.asked) < number and asking.poll() is None:
                self.changed.wait(0.1)

    def take(
        self, prompt: str, model: object, path: str, headers: Mapping[str, str], fields: Mapping[str, Any]
    ) -> Asked:
        with self.changed:
            asked = Asked(len(self.asked) + 1, prompt, model, path, headers, fields)
            self.asked.append(asked)
            self.changed.notify_all()
        return asked


@contextmanager
def simulated(script: Script) -> Iterator[Simulated]:
    """Run an endpoint for as long as it is needed."""
    router = Simulated(script)
    with listening(router.server, router.closing):
        yield router


def _handler(router: Simulated) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            (message,) = request.pop("messages")
            asked = router.take(message["content"], request.pop("model", None), self.path, headers, request)
            reply = router.script(asked)
            with suppress(ConnectionError):
                self._send(reply)

        def _send(self, reply: Reply) -> None:
            self.close_connection = reply.how != "whole"
            if reply.how == "stall":
                router.closing.wait()
                return
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            size = len(reply.body) + (1 << 20) * (reply.how != "whole")
            self.send_header("content-length", str(size))
            self.end_headers()
            self.wfile.write(reply.body)
            while reply.how == "drip" and not router.closing.wait(DRIP_S):
                self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
            """A test's output is its own."""

    return Handler


def said(model: str, text: str | None = None, provider: str = "Meadow") -> str:
    """An answer of a model: who it is, and code."""
    identity = json.dumps({"model_name": model, "provider": provider})
    return f"{identity}\n\n```go\n{CODE if text is None else text}```\n"


def completed(content: object, model: object = "meadow/aster-4-0711", tokens: object = 321, **more: object) -> Reply:
    """The reply of an endpoint whose model answered."""
    message = {"role": "assistant", "content": content, **more}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 21, "total_tokens": tokens},
    }
    return Reply(json.dumps(body).encode())


def error(status: int, message: str, **headers: str) -> Reply:
    """The reply of an endpoint that refuses."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    return Reply(body, status, headers)


def pool(models: Sequence[str] = MODELS) -> Script:
    """Models that honour exclusions: the first that is not named answers, and where all are, one refuses."""

    def script(asked: Asked) -> Reply:
        chosen = next((model for model in models if model not in asked.prompt), None)
        return completed("EXCLUDED" if chosen is None else said(chosen), f"meadow/{chosen}")

    return script


def in_turn(*replies: Reply) -> Script:
    """These replies, one a request; the last again and again."""
    return lambda asked: replies[min(asked.number, len(replies)) - 1]
