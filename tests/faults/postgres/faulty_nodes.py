"""Nodes with a fault that the checker must find: each lacks one thing that keeps the log whole."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ledger.admission import Lookups
from ledger.log import Head
from ledger.lookup_keys import LookupKeys
from ledger.place import DatabasePlace, Place
from ledger.postgres import connection, writer
from ledger.postgres.connection import LedgerConnection
from tests.faults.history.node import LogNode
from tests.faults.postgres.nodes import open_postgres
from tests.ledger.postgres.places import schema_sql
from tests.support.postgres import PostgresServer

WITHOUT_LOCK = """
DROP TRIGGER events_follow_head ON events;
CREATE TABLE positions (newest bigint);
INSERT INTO positions VALUES (0);
CREATE FUNCTION raise_head() RETURNS trigger LANGUAGE plpgsql SET search_path = tallystick_acme AS $$ BEGIN
  UPDATE head SET position = greatest(position, (SELECT max(added.position) FROM added)),
                  recorded_us = greatest(recorded_us, (SELECT max(recordedtime) FROM added));
  RETURN NULL;
END $$;
CREATE TRIGGER events_raise_head AFTER INSERT ON events
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION raise_head();
"""
"""Tables without the trigger that refuses positions which do not follow the head."""

TAKE = "UPDATE positions SET newest = newest + $1 RETURNING newest - $1"
"""Take positions like a sequence does: at once, whatever becomes of the transaction."""


@asynccontextmanager
async def open_local(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """Commits wait for no standby."""
    connection.SETTINGS["synchronous_commit"] = "local"
    async with open_postgres(place, name, durability="local") as nodes:
        yield nodes


@asynccontextmanager
async def open_without_barrier(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """A new connection reads what no standby may have."""

    async def pass_barrier(_connection: LedgerConnection) -> None:
        pass

    LedgerConnection.pass_barrier = pass_barrier  # type: ignore[assignment,method-assign]
    async with open_postgres(place, name) as nodes:
        yield nodes


@asynccontextmanager
async def open_without_warnings(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """A commit counts although the server warns that no standby may have it."""

    async def commit(connected: LedgerConnection) -> None:
        try:
            await connected.execute("COMMIT")
        except connection.UNREADABLE as error:
            raise connection.UnknownOutcomeError(str(error)) from error

    LedgerConnection.commit = commit  # type: ignore[assignment,method-assign]
    async with open_postgres(place, name) as nodes:
        yield nodes


@asynccontextmanager
async def open_without_lock(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """Positions come from a sequence, and nothing locks the head."""
    database = Place.parse(place).database
    assert database is not None
    look_up = writer._look_up
    takers: dict[LedgerConnection, LedgerConnection] = {}

    async def look_up_and_take(connected: LedgerConnection, keys: LookupKeys) -> tuple[Head, Lookups]:
        head, lookups = await look_up(connected, keys)
        if connected not in takers:
            takers[connected] = await connection.connect(database)
        taken = await takers[connected].fetchval(TAKE, len(keys.ids))
        return head._replace(position=taken), lookups

    writer.LOCK_HEAD = "BEGIN"  # type: ignore[attr-defined]
    writer._look_up = look_up_and_take  # type: ignore[assignment]
    async with open_postgres(place, name) as nodes:
        yield nodes


def remove_lock(place: DatabasePlace, server: PostgresServer) -> None:
    """Make the tables of a ledger accept positions that do not follow the head."""
    schema_sql(place, server, WITHOUT_LOCK)
