"""A log opens only where commits are as durable as promised, and refuses appends once they are not."""

import asyncio

import pytest

from ledger.errors import LedgerUnavailable, LedgerUnusable
from ledger.place import DatabasePlace, Durability, Host
from ledger.postgres import log
from ledger.postgres.durability import DatabaseSettings, check_clock, check_settings
from ledger.postgres.log import PostgresLog
from tests.ledger.postgres.places import new_ledger
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary, postgres_server, requires_postgres

PLACE = DatabasePlace(hosts=(Host("n1"),), database="d", ledger="acme")
SOUND = DatabaseSettings(150_018, True, True, "ANY 1 (n1, n2, n3)", "on", 0.0)


@pytest.mark.parametrize(
    ("settings", "promised", "said"),
    [
        (SOUND, "quorum", None),
        (SOUND._replace(standbys=""), "quorum", "synchronous_standby_names is empty"),
        (SOUND._replace(synchronous_commit="local"), "quorum", "confirms commits that no standby has"),
        (SOUND._replace(standbys=""), "local", None),
        (SOUND._replace(standbys=""), "managed", None),
        (SOUND._replace(fsync=False), "quorum", "fsync = off"),
        (SOUND._replace(fsync=False), "local", "fsync = off"),
        (SOUND._replace(full_page_writes=False), "local", "full_page_writes = off"),
        (SOUND._replace(full_page_writes=False), "managed", None),
        (SOUND._replace(version=140_009), "managed", "PostgreSQL 14; Tallystick needs 15"),
    ],
)
def test_settings_are_compared_with_the_promise(
    settings: DatabaseSettings, promised: Durability, said: str | None
) -> None:
    if said is None:
        check_settings(PLACE, settings, promised)
    else:
        with pytest.raises(LedgerUnusable, match=said):
            check_settings(PLACE, settings, promised)


@pytest.mark.parametrize(("server_s", "apart"), [(94.0, "6"), (107.5, "6"), (96.0, None), (106.0, None)])
def test_clocks_may_differ_by_five_seconds(server_s: float, apart: str | None) -> None:
    if apart is None:
        check_clock(PLACE, server_s, 100.0, 101.0)
    else:
        with pytest.raises(LedgerUnusable, match=f"are {apart} s apart"):
            check_clock(PLACE, server_s, 100.0, 101.0)


@pytest.mark.slow
def test_a_server_without_standbys_is_no_quorum(postgres: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        with pytest.raises(LedgerUnusable, match=r"no standby has.*--durability local"):
            await PostgresLog.open(place)
        opened = await PostgresLog.open(place, durability="local")
        await opened.append([recorded()])
        await opened.close()

    run(scenario())


async def until(opened: PostgresLog, *, broken: bool) -> None:
    while (opened.broken is not None) is not broken:  # noqa: ASYNC110 - it checks by itself, now and then
        await asyncio.sleep(0.02)


@pytest.mark.slow
@requires_postgres
def test_appends_are_refused_while_commits_are_less_durable_than_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "CHECK_S", 0.05)

    async def scenario(server: Primary) -> None:
        opened = await PostgresLog.open(await new_ledger(server))
        await opened.append([recorded()])
        await asyncio.to_thread(server.synchronous, "")
        await until(opened, broken=True)
        with pytest.raises(LedgerUnavailable, match=r"no standby has.*Nothing was written"):
            await opened.append([recorded()])
        await asyncio.to_thread(server.synchronous, "ANY 1 (standby1)")
        await until(opened, broken=False)
        assert (await opened.append([recorded()]))[0].position == 2
        await opened.close()

    with postgres_server(standbys=1) as server:
        server.synchronous("ANY 1 (standby1)")
        run(scenario(server))
