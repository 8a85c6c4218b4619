"""Following the log: each event once and in order, over damaged pieces and over restarts of the server."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing, closing
from itertools import islice, pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick import AsyncClient, Client, ConnectionFailed, InvalidQuery, UnexpectedAnswer
from tallystick.event_stream import EventStream, MessageParser
from tests.support.server import Served, serving
from tests.tallystick.ports import free_port
from tests.tallystick.proxy import proxying

DATA = st.binary().map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))


@given(st.lists(st.tuples(DATA, st.booleans())), st.lists(st.integers(0, 400)), st.sampled_from([b"\n", b"\r\n"]))
def test_messages_are_the_same_however_they_are_cut(
    messages: list[tuple[bytes, bool]], cuts: list[int], end: bytes
) -> None:
    stream = b""
    for data, commented in messages:
        stream += (b": alive" + end + end) if commented else b""
        stream += b"id: 7" + end + b"event: x" + end + b"data: " + data + end + end
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    parser = MessageParser()
    pieces = [stream[low:high] for low, high in pairwise(edges)]
    assert [data for piece in pieces for data in parser.feed(piece)] == [data for data, _ in messages]


@given(st.lists(st.lists(st.integers(1, 30), max_size=8), max_size=6))
def test_events_come_once_whatever_is_sent_again(connections: list[list[int]]) -> None:
    """Each connection sends some positions, in whatever order: what was given before is not given again."""
    stream, given_out = EventStream({}, 1.0), list[int]()
    for positions in connections:
        request = stream.request()
        assert request.headers["last-event-id"] == str(given_out[-1] if given_out else 0)
        chunk = b"".join(b"data: " + _line(position) + b"\n\n" for position in positions)
        given_out += [event.position for event in stream.receive(chunk)]
    assert given_out == sorted(set(given_out))


def _line(position: int) -> bytes:
    return msgspec.json.encode({
        "specversion": "1.0", "id": str(position), "source": "/agents/a", "type": "t", "subject": "s/1",
        "time": "2026-01-01T00:00:00Z", "recordedtime": "2026-01-01T00:00:00Z", "position": position,
        "streamversion": 1, "data": {},
    })  # fmt: skip


@pytest.mark.slow
def test_old_events_come_first_and_new_ones_as_they_are_committed(client: Client) -> None:
    client.record("Old")
    with closing(client.follow(agent=client.agent)) as events:
        assert next(events).data["decision"] == "Old"
        for number in range(3):
            client.record(f"New {number}")
            assert next(events).data["decision"] == f"New {number}"


@pytest.mark.slow
def test_a_feed_can_be_filtered_and_begun_anywhere(client: Client) -> None:
    first = client.record("First")
    client.review(first.decision_id, "success")
    second = client.record("Second")
    wanted = client.follow(after=first.position, types=["decision.recorded.v1"], agent=client.agent)
    assert next(wanted).position == second.position
    wanted.close()
    with pytest.raises(InvalidQuery):
        next(client.follow(after=10**9))
    with pytest.raises(InvalidQuery):
        next(client.follow(types=["no.such.v1"]))


@pytest.mark.slow
def test_an_answer_that_is_not_a_feed_has_its_own_error(url: str) -> None:
    with proxying(url, ["nonsense", "lose request"]) as proxy, Client(proxy.url, retry_s=0) as client:
        with pytest.raises(UnexpectedAnswer, match="text/event-stream"):
            next(client.follow())
        with pytest.raises(ConnectionFailed):
            next(client.follow())


def over_restarts(ledger: Path, follow: Callable[[str, int], list[int]]) -> list[int]:
    """The positions that a follower gets while the server is stopped, and killed, and started again."""
    port, found = free_port(), list[int]()
    url = f"http://127.0.0.1:{port}"
    thread = threading.Thread(target=lambda: found.extend(follow(url, 30)))
    server = Served(ledger, "--port", str(port))
    try:
        with Client(url, agent="scout") as client:
            thread.start()
            for number in range(30):
                if number in {10, 20}:
                    server.stop() if number == 10 else server.process.kill()
                    server.process.wait()
                    server = Served(ledger, "--port", str(port))
                client.record(f"Choice {number}")
            thread.join()
    finally:
        server.stop()
    return found


@pytest.mark.slow
def test_a_feed_goes_on_over_restarts_of_the_server(tmp_path: Path) -> None:
    def follow(url: str, count: int) -> list[int]:
        with Client(url) as client, closing(client.follow()) as events:
            return [event.position for event in islice(events, count)]

    assert over_restarts(tmp_path / "t.db", follow) == list(range(1, 31))


@pytest.mark.slow
def test_an_asynchronous_feed_goes_on_over_restarts_of_the_server(tmp_path: Path) -> None:
    async def read(url: str, count: int) -> list[int]:
        found: list[int] = []
        async with AsyncClient(url) as client, aclosing(client.follow()) as events:
            async for event in events:
                found.append(event.position)
                if len(found) == count:
                    break
        return found

    assert over_restarts(tmp_path / "t.db", lambda url, count: asyncio.run(read(url, count))) == list(range(1, 31))


@pytest.mark.slow
def test_a_feed_ends_where_the_server_stays_away(tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as url:
        client = Client(url, agent="scout", retry_s=0.5)
        client.record("Only one")
        events = client.follow()
        assert next(events).position == 1
    with pytest.raises(ConnectionFailed):
        next(events)
    client.close()
