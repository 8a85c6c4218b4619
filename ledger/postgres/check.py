"""Look at a ledger in a database as an operator does: whether it opens, how durable it is, and what the role may do."""

import time
from typing import NamedTuple

import msgspec

from ledger.errors import LedgerUnusable
from ledger.place import DatabasePlace, Durability
from ledger.postgres.connection import (
    UNREADABLE,
    LedgerConnection,
    UnknownOutcomeError,
    connect,
    connect_durably,
    unusable,
)
from ledger.postgres.durability import DatabaseSettings, check_clock, check_settings, found_durability, read_settings
from ledger.postgres.schema import schema_of

BARRIER_S = 5.0
"""Seconds that the check waits for a confirmed write, as every process does that opens the ledger."""

_ROLE = """
SELECT rolname::text, rolsuper,
       coalesce(has_schema_privilege(owned.oid, 'USAGE') AND has_table_privilege(events.oid, 'SELECT')
                AND has_table_privilege(head.oid, 'SELECT') AND has_table_privilege(tiles.oid, 'SELECT'),
                false) AS reads,
       coalesce(has_table_privilege(events.oid, 'INSERT') AND has_column_privilege(head.oid, 'barrier', 'UPDATE'),
                false) AS writes,
       coalesce(pg_has_role(events.relowner, 'USAGE') OR has_table_privilege(events.oid, 'UPDATE, DELETE, TRUNCATE'),
                false) AS changes
  FROM pg_roles LEFT JOIN pg_namespace AS owned ON nspname = $1
  LEFT JOIN pg_class AS events ON events.relnamespace = owned.oid AND events.relname = 'events'
  LEFT JOIN pg_class AS head ON head.relnamespace = owned.oid AND head.relname = 'head'
  LEFT JOIN pg_class AS tiles ON tiles.relnamespace = owned.oid AND tiles.relname = 'tiles'
 WHERE rolname = current_user
"""

_SIZES = "SELECT position, (SELECT count(*) FROM tiles) FROM head"

_STREAMING = """
SELECT count(*) FILTER (WHERE state = 'streaming'), count(*) FILTER (WHERE state IS NULL) FROM pg_stat_replication
"""
"""A role without the rights of pg_read_all_stats sees that there are standbys, and not what they do."""


class DatabaseReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found of a ledger in a database."""

    ledger: str
    """Its address."""
    right: bool
    """Whether there are no problems."""
    opens: bool
    """Whether it can be opened for writing, apart from its durability."""
    primary: str
    """The server that takes writes, as `HOST:PORT`."""
    version: str
    """That of the server, as `15.18`."""
    promised: Durability
    found: Durability | None
    """What the settings of the server show; None: less than `local`, a confirmed event may be lost."""
    fsync: bool
    full_page_writes: bool
    synchronous_standby_names: str
    streaming: int | None
    """Standbys that receive what is written; None: this role may not see it."""
    clock_apart_ms: int
    """How much later the database's clock is than that of this machine, milliseconds."""
    role: str
    superuser: bool
    may_append: bool
    may_change: bool
    """Whether the role may change stored events, or switch off what refuses it."""
    head: int | None = None
    """The newest position; absent if the role may not read it."""
    tiles: int | None = None
    """Stored tiles of the Merkle tree; absent likewise."""
    problems: tuple[str, ...]
    """Why the ledger cannot be served as promised, and what to do."""
    warnings: tuple[str, ...]
    """What allows serving it but should be otherwise."""


class _Role(NamedTuple):
    name: str
    superuser: bool
    reads: bool
    writes: bool
    changes: bool


async def check_database(place: DatabasePlace, promised: Durability) -> DatabaseReport:
    """Look at a ledger. It writes one barrier and no event. Errors: LedgerUnusable, if no primary server answers."""
    try:
        connection = await connect(place)
    except UNREADABLE as error:
        raise unusable(place, error) from error
    try:
        return await _report(connection, place, promised)
    except UNREADABLE as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def _report(connection: LedgerConnection, place: DatabasePlace, promised: Durability) -> DatabaseReport:
    before_s = time.time()
    settings = await read_settings(connection)
    after_s = time.time()
    role = _Role(*await connection.fetchrow(_ROLE, schema_of(place)))  # type: ignore[misc]  # there is always one
    head, tiles = await connection.fetchrow(_SIZES) if role.reads else (None, None)  # type: ignore[misc]
    streaming, hidden = await connection.fetchrow(_STREAMING)  # type: ignore[misc]
    visible = streaming if not hidden else None
    problems = []
    try:
        check_settings(place, settings, promised)
    except LedgerUnusable as error:
        problems.append(error)
    try:
        check_clock(place, settings.clock_s, before_s, after_s)
    except LedgerUnusable as error:
        problems.append(error)
    refusal = await _try_to_open(place)
    if refusal is not None:
        problems.append(refusal)
    elif not (role.reads and role.writes):
        detail = f"The role {role.name} may not append to {place}."
        problems.append(LedgerUnusable(detail, f"As its owner: tallystick ledger create --grant {role.name}."))
    return DatabaseReport(
        ledger=str(place),
        right=not problems,
        opens=refusal is None,
        primary=_server_of(connection),
        version=f"{settings.version // 10_000}.{settings.version % 10_000}",
        promised=promised,
        found=found_durability(settings),
        fsync=settings.fsync,
        full_page_writes=settings.full_page_writes,
        synchronous_standby_names=settings.standbys,
        streaming=visible,
        clock_apart_ms=round((settings.clock_s - (before_s + after_s) / 2) * 1000),
        role=role.name,
        superuser=role.superuser,
        may_append=role.reads and role.writes,
        may_change=role.superuser or role.changes,
        head=head,
        tiles=tiles,
        problems=tuple(map(str, problems)),
        warnings=tuple(_warnings(role, settings, visible)),
    )


async def _try_to_open(place: DatabasePlace) -> LedgerUnusable | None:
    """Open the ledger as a process does that writes it; return why it cannot be opened."""
    try:
        connection = await connect_durably(place, BARRIER_S)
    except TimeoutError:
        return LedgerUnusable(
            f"{place} did not confirm a write within {BARRIER_S:.0f} s.", "Start the standbys that commits wait for."
        )
    except LedgerUnusable as error:
        return error
    except (*UNREADABLE, UnknownOutcomeError) as error:
        return unusable(place, error)
    connection.abort()
    return None


def _warnings(role: _Role, settings: DatabaseSettings, streaming: int | None) -> list[str]:
    found = []
    if role.superuser:
        found.append(
            f"The role {role.name} is a superuser and may change everything. "
            "Serve the ledger as a role that may not: tallystick ledger create --grant ROLE."
        )
    elif role.changes:
        found.append(
            f"The role {role.name} may change the ledger. "
            "Serve it as a role that does not own it: tallystick ledger create --grant ROLE."
        )
    if settings.standbys.strip() and streaming == 0:
        found.append("Commits wait for a standby, and none receives what is written. Start the standbys.")
    return found


def _server_of(connection: LedgerConnection) -> str:
    address = getattr(connection, "_addr")  # noqa: B009 - the only way to the address that was chosen
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
