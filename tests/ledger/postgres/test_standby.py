"""A standby shows the signed events, and nothing that a failover may lose."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from events.registry import VOCABULARY
from ledger.errors import LedgerUnusable, NotFound
from ledger.log import Head, Query
from ledger.place import DatabasePlace, Host
from ledger.postgres.log import PostgresLog
from ledger.postgres.notes import SharedNotes
from ledger.postgres.standby import StandbyReader, open_reader
from ledger.transparency.shared_checkpoints import SharedCheckpointStore
from tests.ledger.postgres.places import LEDGER, new_ledger
from tests.support.drafts import recorded
from tests.support.event_loop import collect, run
from tests.support.postgres import Primary
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def on_standby(server: Primary, place: DatabasePlace) -> DatabasePlace:
    return structs.replace(place, hosts=(Host(server.host, server.standby(1).port),))


async def replayed(server: Primary) -> None:
    """Return when the standby shows everything that the primary has."""
    written = server.psql("SELECT pg_current_wal_lsn()")
    shown = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
    await asyncio.to_thread(wait_until, lambda: server.standby(1).psql(shown) == "t", server)


def test_a_standby_shows_what_is_signed(replicated: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(replicated)
        log, notes = await PostgresLog.open(place), await SharedNotes.open(place)
        try:
            await replayed(replicated)
            reader = await open_reader(on_standby(replicated, place))
            assert isinstance(reader, StandbyReader)
            assert await reader.head() == Head(0, 0)
            assert list((await reader.read(Query())).positions) == []
            store = await SharedCheckpointStore.open(tmp_path / LEDGER, log, notes)
            await log.append([recorded("a", id="1"), recorded("b", id="2")])
            await store.checkpoint(at_once=True)
            await log.append([recorded("c", id="3")])
            await replayed(replicated)

            page = await reader.read(Query())
            assert (list(page.positions), page.more) == ([1, 2], False)
            assert await reader.head() == Head(2, await log.recorded_at(2))
            for query in (Query(limit=2), Query(before=9), Query(before=4, order="desc"), Query(firsts="decision")):
                found, known = await reader.read(query), await log.read(structs.replace(query, before=3))
                assert (found.ndjson, list(found.positions), found.more) == (known.ndjson, list(known.positions), False)
            assert sum((await reader.counts(Query())).values()) == 2
            assert await reader.position_at(await log.recorded_at(3) + 10**9) == 2
            with pytest.raises(NotFound):
                await reader.recorded_at(3)
            names = ["decision/b", "decision/c"]
            assert await reader.first_positions(names) == {"decision/b": 2}
            assert await reader.positions_in_stream("decision/c", [1]) == {}
            assert await reader.positions_in_stream("decision/b", [1]) == {1: 2}
            assert [await reader.positions_of_id(name, 5) for name in ("2", "3")] == [[2], []]
            assert await reader.streams_starting_with("decision/", 9, 9) == ["decision/a", "decision/b"]

            following = asyncio.create_task(collect(reader, Query(after=1), 2))
            await store.checkpoint(3, at_once=True)
            lines = b"\n".join(await following)
            assert [event.id for event in VOCABULARY.events(lines)] == ["2", "3"]
            replicated.standby(1).psql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tallystick'",
                place.database,
            )
            assert list((await reader.read(Query())).positions) == [1, 2, 3]
            await reader.close()
        finally:
            await notes.close()
            await log.close()

    run(scenario())


def test_the_primary_is_read_where_one_answers(replicated: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(replicated)
        await replayed(replicated)
        both = structs.replace(place, hosts=(*on_standby(replicated, place).hosts, *place.hosts))
        reader = await open_reader(both)
        assert not isinstance(reader, StandbyReader)
        await reader.close()
        with pytest.raises(LedgerUnusable, match="has no ledger other"):
            await open_reader(structs.replace(both, ledger="other"))
        with pytest.raises(LedgerUnusable, match="cannot be opened"):
            await StandbyReader.open(place)

    run(scenario())
