"""A client of several servers over one ledger: it goes on with the next one, loses nothing and repeats nothing."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from tallystick import AsyncClient, Client, ConnectionFailed, InvalidArgument
from tests.api.test_nodes_on_postgresql import Node, new_ledger, node
from tests.support.postgres import Primary
from tests.tallystick.ports import free_port
from tests.tallystick.proxy import proxying

RECORDS = 120


def dead() -> str:
    """The address of a server that is not there."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def nodes(postgres: Primary, tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    """Two nodes of one ledger."""
    place = new_ledger(postgres)
    with ExitStack() as stack:
        first, second = (stack.enter_context(node(place, tmp_path / name)) for name in ("n1", "n2"))
        yield first, second


@pytest.mark.slow
@pytest.mark.parametrize("form", [list, tuple, ", ".join])
def test_the_next_server_is_used_if_one_is_not_there(
    url: str, agent: str, form: Callable[[list[str]], str | list[str]]
) -> None:
    with Client(form([dead(), dead(), url]), agent=agent) as client:
        assert client.record("Do it").position >= 1
    assert repr(client).count("http://") == 3


@pytest.mark.slow
def test_the_next_server_is_used_if_one_cannot_serve_now(url: str, agent: str) -> None:
    with proxying(url, ["busy", "bad gateway"]) as proxy, Client([proxy.url, url], agent=agent, retry_s=60) as client:
        for _ in range(3):
            client.record("Do it")
        assert len(proxy.seen) == 1, "the other server was used from then on"


@pytest.mark.slow
def test_all_servers_are_tried_until_the_time_is_used_up() -> None:
    with Client([dead(), dead()], retry_s=0.5) as client, pytest.raises(ConnectionFailed, match="tries in"):
        client.record("Do it")


def test_each_address_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="'nonsense' is not the address of a server"):
        Client(["http://127.0.0.1:8321", "nonsense"])


@pytest.mark.slow
def test_nothing_is_lost_or_repeated_when_a_node_is_killed(nodes: tuple[Node, Node]) -> None:
    urls = [one.url for one in nodes]
    seen: list[int] = []

    def follow() -> None:
        with Client(urls, retry_s=120) as client:
            seen.extend(event.position for event in islice(client.follow(), RECORDS))

    follower = threading.Thread(target=follow)
    follower.start()
    positions = []
    with Client(urls, agent="ada", retry_s=120) as client:
        for number in range(RECORDS):
            positions.append(client.record(f"Do {number}").position)
            if number == RECORDS // 2:
                nodes[0].server.process.kill()
    follower.join()
    assert positions == list(range(1, RECORDS + 1))
    assert seen == positions


@pytest.mark.slow
def test_many_requests_at_once_go_on_when_a_node_is_killed(nodes: tuple[Node, Node]) -> None:
    async def record_all() -> list[int]:
        async with AsyncClient([one.url for one in nodes], agent="ada", retry_s=120) as client:

            async def record(number: int) -> int:
                position = (await client.record(f"Do {number}")).position
                if number == RECORDS // 2:
                    nodes[0].server.process.kill()
                return position

            return await asyncio.gather(*(record(number) for number in range(RECORDS)))

    assert sorted(asyncio.run(record_all())) == list(range(1, RECORDS + 1))
