"""Send the requests of a scene to a server of its own, and record the answers.

The server is a process on a real socket. Its wall clock is stopped (`tests/faults/shim.c`) and moves by a second before
each request, and its key is the same in every recording: so times, hashes, roots and signatures are the same too.
"""

import json
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec

from tests.faults.shim import FOR_EVER, Shim
from tests.recorded.answer import RecordedAnswer, recorded_answer, request_id_of
from tests.recorded.history import START
from tests.recorded.old_ledger import NAME, beside
from tests.recorded.request import Request
from tests.recorded.texts import strings_of
from tests.support.server import POLL_S, Served

KEY = Path(__file__).with_name("test.key")
"""The key that signs the checkpoints of every scene. It was made for these tests and protects nothing."""

TIMEOUT_S = 60.0
"""How long the recorder waits for an answer of a server that hangs."""


class Session(NamedTuple):
    """Requests to one server, in order."""

    requests: Sequence[Request]
    options: tuple[str, ...] = ()
    """Options of `serve`."""
    prepare: Callable[[Path], None] = lambda ledger: None
    """Called with the ledger's path before the server starts."""
    code: int = 0
    """The exit code of the server."""


def record(name: str, session: Session, folder: Path) -> list[RecordedAnswer]:
    """Return the answers to a session, over a ledger in an empty folder."""
    shim = Shim(folder / "disk", folder / "shim")
    shim.stop_clock(START)
    ledger = folder / "disk" / NAME
    beside(ledger, "key").write_bytes(KEY.read_bytes())
    beside(ledger, "key").chmod(0o600)
    session.prepare(ledger)
    no_programs = {"PATH": str(folder)}  # without Go, so that answers in Go are unscored on every machine
    server = Served(ledger, *session.options, environment={**shim.environment, **no_programs})
    try:
        with httpx.Client(base_url=server.url, timeout=TIMEOUT_S, headers={"accept": "*/*"}) as client:
            return _answers(name, session, client, shim)
    finally:
        code = server.stop()
        assert code == session.code, server.errors.read_text(encoding="utf-8")


def _answers(scene: str, session: Session, client: httpx.Client, shim: Shim) -> list[RecordedAnswer]:
    now, ids, sent = START, dict[str, str](), set[str]()
    answers = []
    for step, listed in enumerate(session.requests, 1):
        request = _filled(listed, ids)
        now += timedelta(seconds=1 + request.later_s)
        shim.stop_clock(now)
        if request.disk_fails:
            shim.fail("sync", 1, FOR_EVER)
        if request.signed:
            _wait_for_signature(client, request)
        sent |= _texts(request)
        response = _answer(client, request, request_id_of(listed))
        for name, path in request.keeps:
            ids[name] = _found(response.content, path)
        answers.append(recorded_answer(scene, step, listed, response, ids, sent))
    return answers


def _filled(request: Request, ids: dict[str, str]) -> Request:
    """Return a request with the ids that the server made in place of their names."""
    target, body = request.target, request.body
    for name, found in ids.items():
        target = target.replace(f"{{{{{name}}}}}", found)
        body = body and body.replace(f"{{{{{name}}}}}".encode(), found.encode())
    return request._replace(target=target, body=body)


def _answer(client: httpx.Client, request: Request, request_id: str) -> httpx.Response:
    headers = [*request.headers, *([("x-request-id", request_id)] if request.named else [])]
    built = client.build_request(request.method, request.target, content=request.body, headers=headers)
    response = client.send(built, stream=True)
    if request.feed_events:
        return _first_events(response, request.feed_events)
    response.read()
    return response


def _first_events(response: httpx.Response, events: int) -> httpx.Response:
    """Read a feed up to some events, and close the connection. A feed begins with a comment."""
    body = b""
    for piece in response.iter_raw():
        body += piece
        if body.count(b"\n\n") > events:
            break
    response.close()
    first = b"".join(block + b"\n\n" for block in body.split(b"\n\n")[: events + 1])
    return httpx.Response(response.status_code, headers=response.headers, content=first)


def _wait_for_signature(client: httpx.Client, request: Request) -> None:
    """Wait until the newest checkpoint covers the head: the server signs once a second."""
    authorization = {name: value for name, value in request.headers if name == "authorization"}
    head = client.get("/readyz").json()["head"]
    while client.get("/checkpoint", headers=authorization).text.splitlines()[1] != str(head):
        time.sleep(POLL_S)


def _texts(request: Request) -> set[str]:
    """Return every text that a request states: in its JSON, its NDJSON or its query. An empty one does not count."""
    found = {value for _, value in parse_qsl(urlsplit(request.target).query)}
    body = request.body or b""
    for part in (body, *body.splitlines()):
        try:
            found |= strings_of(json.loads(part))
        except (ValueError, RecursionError):
            continue
    return found - {""}


def _found(body: bytes, path: str) -> str:
    """Return the id at a dotted path of a JSON answer."""
    value = msgspec.json.decode(body)
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    assert isinstance(value, str), value
    return value
