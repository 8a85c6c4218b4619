"""Server-sent events: following, resuming, filtering, and the end when the server stops."""

import http.client
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest

from tests.api.http.posts import (
    fresh,
    head,
    post,
    recorded,
    reviewed,
    thought,
)
from tests.support.server import Served, served

pytestmark = pytest.mark.slow


class Message(NamedTuple):
    """One server-sent event."""

    id: int
    event: str
    data: bytes


def messages(response: httpx.Response) -> Iterator[Message]:
    """The events of a feed; comments are passed over."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line and fields:
            yield Message(int(fields["id"]), fields["event"], fields["data"].encode())
            fields = {}


@pytest.fixture(scope="module")
def client(served_client: httpx.Client) -> httpx.Client:
    """A client of a server process: an answer without an end needs a socket."""
    return served_client


@contextmanager
def feed(client: httpx.Client, last: int | None = None, **parameters: str | int) -> Iterator[Iterator[Message]]:
    headers = {"accept": "text/event-stream"} | ({} if last is None else {"last-event-id": str(last)})
    with client.stream("GET", "/events", headers=headers, params=parameters) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        yield messages(response)


def take(feed: Iterator[Message], count: int) -> list[Message]:
    return [next(feed) for _ in range(count)]


def test_a_feed_gives_what_is_there_and_what_comes(client: httpx.Client) -> None:
    name = fresh()
    first = post(client, [recorded(name), thought(name)])["first"]
    with feed(client, after=first - 1) as following:
        there = take(following, 2)
        coming = post(client, reviewed(name))["position"]
        there += take(following, 1)
    assert [message.id for message in there] == [first, first + 1, coming]
    assert [message.event for message in there] == [
        "decision.recorded.v1", "decision.thought.v1", "decision.reviewed.v1",
    ]  # fmt: skip
    for message in there:
        assert message.data == client.get(f"/events/{message.id}").content


def test_a_feed_is_resumed_by_the_last_id(client: httpx.Client) -> None:
    first = post(client, [recorded() for _ in range(250)])["first"]
    with feed(client, after=first - 1) as following:
        seen = [message.id for message in take(following, 120)]
    with feed(client, last=seen[-1], after=first - 1) as following:
        seen += [message.id for message in take(following, 130)]
    assert seen == list(range(first, first + 250))


def test_a_feed_may_begin_at_the_head(client: httpx.Client) -> None:
    post(client, recorded())
    with feed(client, after=head(client)) as following:
        position = post(client, recorded())["position"]
        assert next(following).id == position


def test_a_feed_is_filtered(client: httpx.Client) -> None:
    name = fresh()
    first = post(client, recorded())["position"]
    with feed(client, after=first, subject=f"decision/{name}", type="decision.thought.v1") as following:
        post(client, [recorded(name), recorded(), thought(name, "one")])
        post(client, recorded())
        post(client, thought(name, "two"))
        found = take(following, 2)
    assert [msgspec.json.decode(message.data)["data"]["text"] for message in found] == ["one", "two"]


def test_many_followers_see_the_same(client: httpx.Client) -> None:
    first = post(client, recorded())["position"]
    with ExitStack() as stack:
        followers = [stack.enter_context(feed(client, after=first)) for _ in range(8)]
        for _ in range(3):
            post(client, [recorded(), recorded()])
        found = [take(follower, 6) for follower in followers]
    assert all(one == found[0] for one in found)
    assert [message.id for message in found[0]] == list(range(first + 1, first + 7))


def test_a_follower_that_leaves_disturbs_nobody(server: Served, client: httpx.Client) -> None:
    first = post(client, recorded())["position"]
    with feed(client, after=first) as staying:
        with feed(client, after=first):
            pass
        position = post(client, recorded())["position"]
        assert next(staying).id == position
    assert "fault" not in [line["event"] for line in server.log()]


def test_a_stop_ends_the_feeds(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        with feed(client) as one, feed(client) as other:
            position = post(client, recorded())["position"]
            assert next(one).id == position
            server.process.terminate()
            assert [message.id for message in other] == [position]
            assert list(one) == []
        assert server.stop() == 0
        assert [line["event"] for line in server.log()][-2:] == ["stopping", "stopped"]


def test_a_post_under_way_is_answered_when_the_server_stops(tmp_path: Path) -> None:
    ledger, name = tmp_path / "ledger.db", fresh()
    body = msgspec.json.encode(recorded(name))
    with served(ledger) as server:
        with begun(server.url, len(body)) as connection:
            connection.sendall(body[:10])
            server.process.terminate()
            server.wait_for("stopping")
            connection.sendall(body[10:])
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status == 201
            placed = msgspec.json.decode(response.read())
        assert server.stop() == 0
    with served(ledger) as server:
        assert httpx.get(f"{server.url}/streams/{placed['subject']}").json()["events"][0]["position"] == 1


def test_a_second_interrupt_waits_for_nobody(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server:
        with begun(server.url, 100) as connection:
            connection.sendall(b"{")
            os.kill(server.process.pid, signal.SIGINT)
            server.wait_for("stopping")
            os.kill(server.process.pid, signal.SIGINT)
            assert server.process.wait() == 0
        said = [line["event"] for line in server.log()]
        assert said[-1] == "stopped"
        assert not {"library", "fault"} & {*said}


@contextmanager
def begun(url: str, size: int) -> Iterator[socket.socket]:
    """A connection on which a POST has begun: its headers are read, and its body is waited for."""
    host, port = url.removeprefix("http://").split(":")
    request = f"POST /events HTTP/1.1\r\nhost: {host}\r\ncontent-length: {size}\r\nexpect: 100-continue\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(request.encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            part = connection.recv(4096)
            assert part, answer
            answer += part
        assert answer.startswith(b"HTTP/1.1 100 ")
        yield connection


def test_a_client_that_leaves_half_way_is_no_fault(server: Served, client: httpx.Client) -> None:
    before = head(client)
    with begun(server.url, 1000) as connection:
        connection.sendall(b"{")
    server.wait_for("request", status=499)
    assert head(client) == before
    assert "fault" not in [line["event"] for line in server.log()]
