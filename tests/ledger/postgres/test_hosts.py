"""The primary is found among several hosts, whatever the others do."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from msgspec import structs

from ledger.errors import LedgerUnusable
from ledger.log import Query
from ledger.place import DatabasePlace, Host
from ledger.postgres import reader, writer
from ledger.postgres.connection import SILENT_S
from ledger.postgres.log import PostgresLog
from tests.ledger.postgres.places import new_ledger
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary, postgres_server, requires_postgres

pytestmark = pytest.mark.slow

PLACE = DatabasePlace(hosts=(), database="d", ledger="acme")


@pytest.fixture
def silent() -> Iterator[Host]:
    """A host that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield Host(*listening.getsockname())


def test_hosts_that_do_not_answer_delay_nothing(postgres: Primary, silent: Host) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        several = structs.replace(place, hosts=(silent, Host("127.0.0.1", 1), *place.hosts))
        log = await PostgresLog.open(several, durability="local")
        assert (await log.append([recorded()]))[0].position == 1
        await log.close()

    run(scenario())


def test_a_host_that_says_nothing_is_given_up(silent: Host) -> None:
    async def scenario() -> None:
        place = structs.replace(PLACE, hosts=(silent,))
        with pytest.raises(LedgerUnusable, match="cannot be opened"):
            await PostgresLog.open(place)

    run(scenario())


@requires_postgres
def test_the_primary_is_found_before_and_after_a_failover(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reader, writer):
        monkeypatch.setattr(module, "RETRY_S", 600.0)  # a busy machine promotes a server slowly

    async def scenario(primary: Primary) -> None:
        standby = primary.standby(1)
        place = await new_ledger(primary)
        both = structs.replace(place, hosts=(Host(standby.host, standby.port), Host(primary.host, primary.port)))
        await asyncio.to_thread(primary.synchronous, "ANY 1 (standby1)")
        log = await PostgresLog.open(both, durability="local")
        posts = [asyncio.create_task(log.append([recorded(f"d{number}")])) for number in range(200)]
        await posts[0]
        await asyncio.to_thread(primary.kill)
        await asyncio.to_thread(standby.promote)
        answers = await asyncio.gather(*posts)
        assert sorted(answer[0].position for answer in answers) == list(range(1, 201))
        assert list((await log.read(Query(limit=1_000))).positions) == list(range(1, 201))
        await log.close()

    with postgres_server(standbys=1) as server:
        run(scenario(server))


@requires_postgres
def test_a_server_that_hangs_is_left_once_another_one_is_the_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its operating system still confirms what is sent to it, so that no connection ends by itself."""
    for module in (reader, writer):
        monkeypatch.setattr(module, "RETRY_S", 600.0)

    async def scenario(primary: Primary) -> None:
        standby = primary.standby(1)
        place = await new_ledger(primary)
        both = structs.replace(place, hosts=(Host(standby.host, standby.port), Host(primary.host, primary.port)))
        await asyncio.to_thread(primary.synchronous, "ANY 1 (standby1)")
        log = await PostgresLog.open(both, durability="local")
        assert (await log.append([recorded("d1")]))[0].position == 1
        await asyncio.to_thread(primary.freeze)
        appending = asyncio.create_task(log.append([recorded("d2")]))
        reading = [asyncio.create_task(log.read(Query())) for _ in range(3)]
        await asyncio.to_thread(standby.promote)
        assert (await appending)[0].position == 2
        for page in await asyncio.gather(*reading):
            assert list(page.positions)[:1] == [1]
        await asyncio.to_thread(primary.thaw)
        assert list((await log.read(Query())).positions) == [1, 2], "the old primary still answers, and is not asked"
        await log.close()

    with postgres_server(standbys=1) as server:
        run(scenario(server))


def test_after_this_process_was_stopped_reads_use_new_connections(
    postgres: Primary, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        log = await PostgresLog.open(await new_ledger(postgres), durability="local")
        before = await log.run(lambda connection: connection.fetchval("SELECT pg_backend_pid()"))
        assert before == await log.run(lambda connection: connection.fetchval("SELECT pg_backend_pid()"))
        monkeypatch.setattr(reader, "elapsed_s", lambda clock=reader.elapsed_s: clock() + SILENT_S + 60)
        assert before != await log.run(lambda connection: connection.fetchval("SELECT pg_backend_pid()"))
        await log.close()

    run(scenario())
