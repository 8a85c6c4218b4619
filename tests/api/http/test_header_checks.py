"""Headers that HTTP allows once: two of them, or none where one is required, are refused before routing."""

import socket
import time
from pathlib import Path

import pytest

from api.principal import DEFAULT_SCOPES
from api.token_store import TokenStore
from events.limits import HEAD_BYTES_MAX
from ledger.clock import system_clock
from tests.support.server import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.trial("B4")]

BODY = b'{"type":"decision.recorded.v1","data":{"decision":"x"}}'
ROUTES = (b"GET /healthz", b"GET /events", b"POST /events", b"POST /cstp", b"GET /nosuch")


def status(server: Served, line: bytes, *headers: bytes, version: bytes = b"1.1") -> int:
    """The status of the answer to a request with exactly these headers."""
    host, port = server.url.removeprefix("http://").split(":")
    lines = [line + b" HTTP/" + version, *headers, b"connection: close", b"content-length: %d" % len(BODY)]
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as file:
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + BODY)
        return int(file.readline().split()[1])


@pytest.mark.parametrize("line", ROUTES)
def test_http_1_1_needs_one_host(server: Served, line: bytes) -> None:
    assert status(server, line) == 400
    assert status(server, line, b"host: localhost", b"Host: localhost") == 400
    assert status(server, line, b"host: localhost") != 400


def test_http_1_0_needs_none(server: Served) -> None:
    assert status(server, b"GET /healthz", version=b"1.0") == 200


@pytest.mark.parametrize("line", ROUTES)
@pytest.mark.parametrize("name", [b"authorization", b"content-type", b"origin", b"ce-id"])
def test_a_header_with_one_value_is_sent_once(server: Served, line: bytes, name: bytes) -> None:
    assert status(server, line, b"host: localhost", name + b": x", name.title() + b": x") == 400


def test_other_headers_may_be_repeated(server: Served) -> None:
    assert status(server, b"GET /healthz", b"host: localhost", b"x-forwarded-for: a", b"x-forwarded-for: b") == 200


@pytest.mark.parametrize("scheme", ["bearer ", "BEARER ", "Bearer  "])
def test_the_scheme_is_written_in_any_case(tmp_path: Path, scheme: str) -> None:
    ledger = tmp_path / "ledger.db"
    _, secret = TokenStore(ledger).add("ada", DEFAULT_SCOPES, system_clock())
    with served(ledger) as server:
        header = f"authorization: {scheme}{secret}".encode()
        assert status(server, b"GET /events", b"host: localhost", header) == 200
        assert status(server, b"POST /events", b"host: localhost", header) == 201


def test_a_head_is_measured_as_a_whole(server: Served) -> None:
    """A head over the limit is refused if nearly all of it came in its first chunk, too."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as file:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: " + b"x" * (HEAD_BYTES_MAX - 1_000))
        time.sleep(0.2)
        connection.sendall(b"x" * 2_000 + b"\r\n\r\n")
        assert b" 431 " in file.readline()
