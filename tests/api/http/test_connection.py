"""Clients that send too much, too slowly, or never read: each is answered where it can be, and ended."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import httpx
import msgspec
import pytest

from api.http.telemetry import NO_STORE
from events.limits import (
    BODY_BYTES_MAX,
    BODY_BYTES_PER_S_MIN,
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    PIPELINED_MAX,
    URL_BYTES_MAX,
)
from tests.api.http import short_limits as hurry
from tests.api.http.posts import (
    JSON,
    LINES,
    head,
    ndjson,
    recorded,
)
from tests.support.server import Served, served

CONNECTIONS = 6
HEAD = b"GET /events HTTP/1.1\r\nhost: localhost\r\n"
POST = b"POST /events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


class Answer(NamedTuple):
    """What came back until the server closed: the status, the headers, and the problem's kind."""

    status: int
    headers: dict[str, str]
    kind: str


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    ledger = tmp_path_factory.mktemp("hasty") / "ledger.db"
    with served(ledger, "--connections", str(CONNECTIONS), module=hurry.__name__) as server:
        yield server


@pytest.fixture
def hurried(hasty: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=hasty.url, timeout=None, headers={"connection": "close"}) as client:
        yield client


@contextmanager
def connected(server: Served) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    with connection.makefile("rb") as file:
        return file.read()


def answer_of(connection: socket.socket) -> Answer:
    """What the server says until it closes."""
    top, _, body = rest_of(connection).partition(b"\r\n\r\n")
    status, *lines = top.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    kind = msgspec.json.decode(body[: int(headers["content-length"])])["type"].rpartition(":")[2]
    return Answer(int(status.split()[1]), headers, kind)


def take(lines: BinaryIO) -> bytes:
    """The next line of a feed that must not end."""
    line = lines.readline()
    assert line, "the feed was ended"
    return line


def send_for_ever(connection: socket.socket, piece: bytes) -> None:
    """Send a piece again and again until nobody takes it, or someone said that it is enough."""
    connection.setblocking(False)
    sent = 0
    while sent < 4 * BODY_BYTES_MAX:
        try:
            sent += connection.send(piece)
        except BlockingIOError:
            pass
        except OSError:
            break
        try:
            if connection.recv(1, socket.MSG_PEEK):
                break
        except OSError:
            pass
    connection.setblocking(True)
    assert sent < 2 * BODY_BYTES_MAX, "it was taken in without end"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "status", "kind"),
    [
        (HEAD + b"x-long: " + b"x" * HEAD_BYTES_MAX + b"\r\n\r\n", 431, "head-too-large"),
        (HEAD + b"a: b\r\n" * HEADERS_MAX + b"\r\n", 431, "head-too-large"),
        (b"GET /" + b"a" * URL_BYTES_MAX + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", 414, "address-too-long"),
        (b"HELO there\r\n\r\n", 400, "malformed-input"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "malformed-input"),
        (POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", 400, "malformed-input"),
        (POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400, "malformed-input"),
        (POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n", 400, "malformed-input"),
        ((HEAD + b"\r\n") * (PIPELINED_MAX + 3), 400, "malformed-input"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_refused_at_once(server: Served, sent: bytes, status: int, kind: str) -> None:
    with connected(server) as connection:
        connection.sendall(sent)
        answer = answer_of(connection)
    assert (answer.status, answer.kind) == (status, kind)
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers[NO_STORE[0].decode()] == "no-store"
    line = server.wait_for("refused", request_id=answer.headers["x-request-id"])
    assert (line["reason"], line["client"], line["status"]) == (kind, "127.0.0.1", status)


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        HEAD + b"x-long: ",
        POST + b"transfer-encoding: chunked\r\n\r\n0\r\nx-trailer: ",
        POST + b"transfer-encoding: chunked\r\n\r\n1;",
    ],
    ids=["head", "trailer", "chunk extension"],
)
def test_what_has_no_end_is_refused_before_it_is_all_taken(server: Served, begun: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(begun)
        send_for_ever(connection, b"x" * 65_536)
        assert answer_of(connection)[0::2] == (431, "head-too-large")


def test_what_is_just_not_too_much_is_answered(client: httpx.Client) -> None:
    assert client.get("/events", headers={"x-long": "x" * (HEAD_BYTES_MAX - 2_000)}).status_code == 200
    assert (
        client.get("/events", headers=[(f"x-{number}", "x") for number in range(HEADERS_MAX - 10)]).status_code == 200
    )
    assert client.get("/" + "a" * (URL_BYTES_MAX - 100)).status_code == 404


@pytest.mark.slow
def test_requests_sent_at_once_are_answered_in_their_order(server: Served) -> None:
    with connected(server) as connection:
        asked = [b"GET /events/%d HTTP/1.1\r\nhost: localhost\r\n" % number for number in range(1, PIPELINED_MAX + 1)]
        connection.sendall(b"\r\n".join(asked) + b"connection: close\r\n\r\n")
        assert rest_of(connection).count(b"HTTP/1.1 ") == PIPELINED_MAX


@pytest.mark.slow
def test_an_answer_is_one_piece_and_what_comes_before_it_has_no_headers_of_it(server: Served) -> None:
    body = msgspec.json.encode(recorded())
    with connected(server) as connection:
        connection.sendall(POST + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body))
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        head, _, answer = connection.recv(1 << 16).partition(b"\r\n\r\n")
        assert b"x-content-type-options: nosniff" in head.split(b"\r\n")
        assert msgspec.json.decode(answer)["streamversion"] == 1
        connection.sendall(b"HEAD /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).endswith(b"\r\n\r\n")


@pytest.mark.slow
def test_trailers_are_no_headers(server: Served, served_client: httpx.Client) -> None:
    body = msgspec.json.encode(recorded())
    with connected(server) as connection:
        chunked = b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(body), body)
        connection.sendall(POST + chunked + b"authorization: Bearer x\r\nce-type: nope\r\n\r\n")
        assert b"HTTP/1.1 201 " in rest_of(connection)


@pytest.mark.slow
def test_who_is_refused_before_its_body_may_send_it_and_go_on(server: Served) -> None:
    """During a check of deadlines: data that arrives then does not end the connection."""
    with connected(server) as connection:
        connection.sendall(POST + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 415 ")
        time.sleep(1.2)
        connection.sendall(b"{}" + HEAD + b"\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow
def test_a_body_that_is_refused_is_not_all_read(server: Served) -> None:
    with connected(server) as connection:
        connection.sendall(POST + b"content-length: 99999999999\r\n\r\n")
        connection.recv(1, socket.MSG_PEEK)
        said = b""
        while b"\r\n\r\n" not in said:
            part = connection.recv(65_536)
            assert part, said
            said += part
        assert said.startswith(b"HTTP/1.1 413 ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begun", "piece", "kind"),
    [
        (HEAD, b"x", "too-slow"),
        (HEAD + b"x-slow: ", b"x", "too-slow"),
        (POST + b"content-length: 9999\r\n\r\n", b"{", "too-slow"),
        (POST + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n", "too-slow"),
    ],
    ids=["head", "header", "body", "chunks"],
)
def test_who_trickles_is_cut_off(hasty: Served, hurried: httpx.Client, begun: bytes, piece: bytes, kind: str) -> None:
    before = head(hurried)
    with connected(hasty) as connection:
        connection.sendall(begun)
        connection.settimeout(0.05)
        while True:
            try:
                connection.sendall(piece)
                assert connection.recv(1, socket.MSG_PEEK)
                break
            except TimeoutError:
                continue
        connection.settimeout(None)
        answer = answer_of(connection)
    assert (answer.status, answer.kind) == (408, kind)
    assert hasty.wait_for("refused", request_id=answer.headers["x-request-id"])["reason"] == kind
    assert head(hurried) == before


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"", b"\r\n"])
def test_who_says_nothing_is_let_go_without_a_word(hasty: Served, said: bytes) -> None:
    with connected(hasty) as connection:
        connection.sendall(said)
        assert rest_of(connection) == b""


@pytest.mark.slow
def test_who_was_refused_and_goes_on_sending_is_cut_off(hasty: Served) -> None:
    with connected(hasty) as connection:
        connection.sendall(POST + b"content-encoding: gzip\r\ncontent-length: 99999999999\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 415"
        ended = False
        while not ended:
            try:
                connection.sendall(b"x" * 4_096)
            except OSError:
                ended = True


@pytest.mark.slow
def test_who_does_not_read_is_cut_off_and_a_feed_that_reads_is_not(hasty: Served, hurried: httpx.Client) -> None:
    events = [recorded(context="x" * 60_000) for _ in range(240)]
    with connected(hasty) as feed:
        feed.sendall(HEAD + b"accept: text/event-stream\r\n\r\n")
        assert hurried.post("/events", content=ndjson(events), headers=LINES).status_code == 201
        seen = 0
        with feed.makefile("rb") as lines, connected(hasty) as reader:
            reader.sendall(HEAD + b"accept: application/x-ndjson\r\n\r\n")
            while seen < 240:
                seen += take(lines).startswith(b"id: ")
            hasty.wait_for("refused", reason="stalled-reader")
            assert hurried.post("/events", json=recorded()).status_code == 201
            while seen < 241:
                seen += take(lines).startswith(b"id: ")


@pytest.mark.slow
def test_no_more_connections_are_taken_than_may_be(hasty: Served, hurried: httpx.Client) -> None:
    feed = HEAD + b"accept: text/event-stream\r\n\r\n"
    held = []
    for _ in range(CONNECTIONS):
        held.append(socket.create_connection(("127.0.0.1", int(hasty.url.rpartition(":")[2]))))
        held[-1].sendall(feed)
        assert held[-1].recv(12) == b"HTTP/1.1 200"
    with connected(hasty) as late:
        late.sendall(HEAD + b"\r\n")
        answer = answer_of(late)
    assert (answer.status, answer.kind, answer.headers["retry-after"]) == (503, "too-many-connections", "5")
    for connection in held:
        connection.close()
    while True:
        try:
            if hurried.get("/healthz", headers=JSON).status_code == 200:
                break
        except httpx.TransportError:
            assert hasty.process.poll() is None


def test_the_slowest_body_that_may_be_has_an_end() -> None:
    assert BODY_BYTES_MAX / BODY_BYTES_PER_S_MIN <= 1_200
