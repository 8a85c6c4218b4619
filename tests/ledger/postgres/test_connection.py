"""Connections to a cluster in which a server hangs, or a standby is missing."""

import asyncio
import socket

import msgspec
import pytest

from ledger.place import Host
from ledger.postgres import connection
from tests.ledger.postgres.places import new_ledger
from tests.support.event_loop import run
from tests.support.postgres import Primary, postgres_server, requires_postgres

pytestmark = [pytest.mark.slow, requires_postgres]

GIVING_UP = 6

BACKENDS = """
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tallystick' AND datname = current_database()
"""


def test_a_server_that_hangs_does_not_keep_a_node_from_the_next_one(
    postgres: Primary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first server accepts connections, as the system of a stopped process does, and answers nothing."""
    monkeypatch.setattr(connection, "CONNECT_S", 1.0)

    async def scenario() -> None:
        place = await new_ledger(postgres)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            hosts = (Host(*silent.getsockname()), Host(postgres.host, postgres.port))
            connected = await connection.connect(msgspec.structs.replace(place, hosts=hosts))
            assert await connected.fetchval("SELECT current_database()") == place.database
            connected.abort()

    run(scenario())


def test_connections_that_were_given_up_while_no_standby_answers_end_on_the_server() -> None:
    """Only the one whose barrier waits for the standby is left: otherwise a long outage takes every connection."""

    async def scenario(primary: Primary) -> None:
        place = await new_ledger(primary)
        primary.standby(1).freeze()
        tries = [connection.connect_durably(place, 1.0) for _ in range(GIVING_UP)]
        given_up = await asyncio.gather(*tries, return_exceptions=True)
        assert all(isinstance(error, TimeoutError | connection.UnknownOutcomeError) for error in given_up), given_up
        while int(await asyncio.to_thread(primary.psql, BACKENDS, place.database)) > 1:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
        primary.standby(1).thaw()

    with postgres_server(standbys=1) as primary:
        primary.synchronous("ANY 1 (standby1)")
        run(scenario(primary))
