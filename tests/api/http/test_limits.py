"""One token, or one address, cannot take the server away from the others: each limit, its answer, and its gauges."""

import socket
import time
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from api.http.app import REVOKED_CHECK_S
from api.http.routes.events import HEARTBEAT_S
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import LINES, ndjson, post, recorded
from tests.api.http.test_connection import HEAD, answer_of, rest_of
from tests.api.http.tokened import Tokened, tokened
from tests.support.server import Served, served
from tests.support.wait import wait_until

FEED = "accept: text/event-stream"
MIB = 1 << 20


def wait_for_use(running: Tokened, name: str, wanted: float) -> None:
    while running.uses(name)[1] != wanted:
        time.sleep(0.02)


def refusal_of(response: httpx.Response) -> tuple[int, str]:
    problem = response.json()
    assert int(response.headers["retry-after"]) >= 1
    assert "limit" in problem["detail"]
    return response.status_code, problem["type"].rpartition(":")[2]


@pytest.mark.slow
@pytest.mark.trial("C2")
def test_a_feed_ends_within_a_second_after_its_token_is_revoked(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db") as running, running.client("greedy") as client:
        with client.stream("GET", "/events", headers={"accept": "text/event-stream"}) as feed:
            assert feed.status_code == 200
            lines = feed.iter_lines()
            assert next(lines) == ": tallystick"
            running.tokens.revoke(running.ids["greedy"])
            assert not [line for line in lines if line], "it ends before its next sign of life"
        assert REVOKED_CHECK_S < HEARTBEAT_S / 15 == 1
        assert client.get("/events").status_code == 401


@pytest.mark.slow
@pytest.mark.trial("C2")
def test_a_feed_ends_within_a_second_after_its_token_expires(tmp_path: Path) -> None:
    for life_s in (2, 8, 32):
        ledger = tmp_path / f"{life_s}.db"
        soon = system_clock() + timedelta(seconds=life_s)
        _, secret = TokenStore(ledger).add("brief", ("read",), soon - timedelta(days=1), days=1)
        with (
            served(ledger) as server,
            httpx.Client(base_url=server.url, timeout=None, headers={"authorization": f"Bearer {secret}"}) as client,
            client.stream("GET", "/events", headers={"accept": "text/event-stream"}) as feed,
        ):
            if feed.status_code == 401 and system_clock() >= soon:
                continue  # it expired before a slow machine followed with it
            assert feed.status_code == 200
            lines = feed.iter_lines()
            assert next(lines) == ": tallystick"
            while (line := next(lines, None)) is not None:
                assert not line or system_clock() < soon, "it ends before its next sign of life"
            assert system_clock() >= soon
            return
    pytest.fail("no token lasted until the feed began")


@pytest.mark.slow
@pytest.mark.trial("C2")
def test_lines_and_bodies_under_way_end_too(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db") as running:
        with running.client("other") as client:
            for _ in range(4):
                body = ndjson(recorded(context="x" * 60_000) for _ in range(100))
                assert client.post("/events", content=body, headers=LINES).status_code == 201
        lines = running.begin("greedy", "GET", "/events", "accept: application/x-ndjson")
        assert lines.recv(12) == b"HTTP/1.1 200"
        sent = running.begin("greedy", "POST", "/events", "content-length: 100")
        running.tokens.revoke(running.ids["greedy"])
        assert answer_of(sent)[0::2] == (401, "unauthenticated")
        wait_for_use(running, "connections", 1)
        with suppress(ConnectionResetError):
            assert not rest_of(lines).endswith(b"0\r\n\r\n"), "what was cut off does not look complete"
        lines.close()
        sent.close()


@pytest.mark.slow
@pytest.mark.trial("C3")
def test_feeds_are_limited_by_token_and_in_all(tmp_path: Path) -> None:
    with (
        tokened(tmp_path / "ledger.db", "--feeds", "3", "--feeds-per-token", "2") as running,
        running.client("greedy") as greedy,
        running.client("other") as other,
        ExitStack() as held,
    ):

        def follow(agent: str) -> socket.socket:
            feed = held.enter_context(running.begin(agent, "GET", "/events", FEED))
            assert feed.recv(12) == b"HTTP/1.1 200"
            return feed

        first = follow("greedy")
        follow("greedy")
        assert running.uses("feeds-per-token") == (2, 2)
        headers = {"accept": "text/event-stream"}
        assert refusal_of(greedy.get("/events", headers=headers)) == (429, "token-limit-reached")
        follow("other")
        assert running.uses("feeds") == (3, 3)
        assert refusal_of(other.get("/events", headers=headers)) == (503, "server-limit-reached")
        assert greedy.get("/events").status_code == 200
        first.close()
        wait_for_use(running, "feeds", 2)
        follow("greedy")


@pytest.mark.slow
@pytest.mark.trial("C3")
def test_requests_of_one_token_are_limited_and_others_are_answered(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db", "--connections-per-token", "3") as running, ExitStack() as held:
        for _ in range(3):
            held.enter_context(running.begin("greedy", "POST", "/events", "content-length: 100"))
        wait_for_use(running, "connections-per-token", 3)
        with running.client("greedy") as greedy, running.client("other") as other:
            assert refusal_of(greedy.get("/events")) == (429, "token-limit-reached")
            assert refusal_of(greedy.post("/events", json=recorded())) == (429, "token-limit-reached")
            assert greedy.get("/healthz").status_code == 200
            post(other, recorded())
        held.close()
        wait_for_use(running, "connections-per-token", 0)


@pytest.mark.slow
@pytest.mark.trial("C3")
def test_health_is_answered_when_every_connection_is_taken(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db", "--connections", "4") as running, ExitStack() as held:
        for _ in range(4):
            feed = held.enter_context(running.begin("greedy", "GET", "/events", FEED))
            assert feed.recv(12) == b"HTTP/1.1 200"
        for path in ("/healthz", "/readyz", "/health"):
            answer = httpx.get(f"{running.server.url}{path}")
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        refused = httpx.get(f"{running.server.url}/events", headers={"authorization": "Bearer x"})
        assert refusal_of(refused) == (503, "too-many-connections")
        assert "4 connections are open" in refused.json()["detail"]


@pytest.mark.slow
@pytest.mark.trial("C17")
def test_the_connection_that_was_idle_longest_makes_place(tmp_path: Path) -> None:
    with (
        tokened(tmp_path / "ledger.db", "--connections", "3", "--connections-per-client", "0") as running,
        ExitStack() as held,
    ):
        feed = held.enter_context(running.begin("greedy", "GET", "/events", FEED))
        assert feed.recv(12) == b"HTTP/1.1 200"
        idle = [held.enter_context(running.connect()) for _ in range(2)]
        for connection in idle:
            connection.sendall(HEAD + b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 401")
            time.sleep(0.1)
        time.sleep(1)
        with running.client("other") as other:
            post(other, recorded())
            rest_of(idle[0])
            idle[1].sendall(HEAD + b"\r\n")
            assert b"HTTP/1.1 401" in idle[1].recv(65_536)


@pytest.mark.slow
@pytest.mark.trial("C17")
def test_connections_of_one_address_without_a_token_are_limited(tmp_path: Path) -> None:
    with (
        tokened(tmp_path / "ledger.db", "--connections-per-client", "3") as running,
        running.client("other") as other,
        ExitStack() as held,
    ):
        post(other, recorded())  # what is authenticated does not count
        silent = [held.enter_context(running.connect()) for _ in range(3)]
        for connection in silent:
            connection.sendall(HEAD + b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 401")
        with running.connect() as late:
            late.sendall(HEAD + b"\r\n")
            answer = answer_of(late)
        assert (answer.status, answer.kind) == (503, "too-many-connections")
        assert httpx.get(f"{running.server.url}/healthz").status_code == 200
        post(other, recorded())
        time.sleep(1.1)
        assert running.uses("connections-per-client")[0] == 3
        rest_of(silent[0])


@pytest.mark.slow
@pytest.mark.trial("C4")
def test_bodies_in_memory_are_limited_by_token_and_in_all(tmp_path: Path) -> None:
    with (
        tokened(tmp_path / "ledger.db", "--bodies-mib", "24", "--bodies-mib-per-token", "16") as running,
        ExitStack() as held,
    ):

        def hold(agent: str, size: int) -> socket.socket:
            body = held.enter_context(running.begin(agent, "PUT", "/evidence", f"content-length: {size + 1}"))
            body.sendall(b"x" * size)
            return body

        hold("greedy", 12 * MIB)
        wait_for_use(running, "body-bytes-per-token", 12 * MIB - 65_536)
        answer = answer_of(hold("greedy", 5 * MIB))
        assert (answer.status, answer.kind) == (429, "token-limit-reached")
        hold("other", 11 * MIB)
        wait_for_use(running, "body-bytes", 23 * MIB - 2 * 65_536)
        answer = answer_of(hold("other", 2 * MIB))
        assert (answer.status, answer.kind) == (503, "server-limit-reached")
        assert int(answer.headers["retry-after"]) >= 1
        with running.client("greedy") as greedy:
            post(greedy, recorded())
            assert greedy.put("/evidence", content=b"y" * 65_536).status_code == 201
        held.close()
        wait_for_use(running, "body-bytes", 0)


def logged_and_counted(server: Served) -> tuple[int, int]:
    """How many refusals without a token have a line of the log each, and how many are counted in others."""
    lines = [line for line in server.log() if line.get("reason") == "unauthenticated"]
    counted = [line["count"] for line in lines if line["event"] == "refusals not logged"]
    return len([line for line in lines if line["event"] == "refused"]), sum(counted)


@pytest.mark.slow
@pytest.mark.trial("C10")
def test_refusals_without_a_token_are_limited_and_their_log_is_sampled(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db", "--refusals", "2") as running:
        statuses: list[int] = []
        with running.client(None) as stranger:
            answer = stranger.get("/events")
            while answer.status_code == 401:
                statuses.append(answer.status_code)
                answer = stranger.get("/events")
            assert refusal_of(answer) == (429, "too-many-refusals")
            began = time.monotonic()
            assert stranger.get("/nowhere").status_code == 429
            assert time.monotonic() - began > 0.3, "the answer is held"
        assert len(statuses) >= 200
        with running.client("other") as other:
            post(other, recorded())
        wait_until(lambda: sum(logged_and_counted(running.server)) == len(statuses), running.server.process)
        logged, counted = logged_and_counted(running.server)
        assert logged < 200
        assert counted > 50
        metrics = httpx.get(f"{running.server.url}/metrics").text
        assert f'tallystick_http_refusals_total{{reason="unauthenticated"}} {len(statuses)}.0' in metrics


@pytest.mark.trial("C10")
def test_the_openapi_document_is_compressed_and_has_a_tag(client: httpx.Client) -> None:
    plain = client.get("/openapi.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = client.get("/openapi.json", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == plain.headers["vary"] == "accept-encoding"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    assert packed.headers["etag"] == plain.headers["etag"]
    same = client.get("/openapi.json", headers={"if-none-match": plain.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    assert client.get("/openapi.json", headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.slow
def test_a_server_that_stops_waits_neither_for_bodies_nor_for_readers(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db") as running:
        with running.client("other") as client:
            for _ in range(4):
                body = ndjson(recorded(context="x" * 60_000) for _ in range(100))
                assert client.post("/events", content=body, headers=LINES).status_code == 201
        with (
            running.begin("greedy", "GET", "/events", "accept: application/x-ndjson") as lines,
            running.begin("greedy", "POST", "/events", "content-length: 100") as body_begun,
        ):
            assert lines.recv(12) == b"HTTP/1.1 200"
            wait_for_use(running, "connections-per-token", 2)
            assert running.server.stop() == 0
            assert answer_of(body_begun)[0::2] == (503, "server-stops")


def test_the_limits_of_the_command_line_are_checked(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="connections-per-token"),
        served(tmp_path / "ledger.db", "--connections-per-token", "0"),
    ):
        pass


@pytest.mark.slow
def test_limits_are_shown_in_metrics(served_client: httpx.Client) -> None:
    text = served_client.get("/metrics").text
    names = [line.split('"')[1] for line in text.splitlines() if line.startswith("tallystick_limit{")]
    uses = [line.split('"')[1] for line in text.splitlines() if line.startswith("tallystick_limit_use{")]
    assert names == uses
    assert sorted(names) == [
        "body-bytes", "body-bytes-per-token", "connections", "connections-per-client", "connections-per-token",
        "feeds", "feeds-per-token", "queries", "refusals-per-client",
    ]  # fmt: skip
