"""The seal of a ledger in PostgreSQL that was moved: `head.moved_to` names the new place; a trigger refuses events.

Without it, two ledgers with the same key could grow apart. It can still be read. To append to it again, an operator
sets `head.moved_to` to NULL, after making sure that nobody appends to the new place. Only the owner of the tables may.
"""

import asyncpg

from ledger.errors import LedgerUnusable
from ledger.place import DatabasePlace
from ledger.postgres.connection import UNREADABLE, LedgerConnection, UnknownOutcomeError, connect_durably, unusable

CONNECT_S = 10.0
"""Seconds for connecting."""

_SEAL = """
UPDATE head SET moved_to = $1 WHERE moved_to IS NULL OR moved_to = $1 RETURNING position
"""


async def require_unmoved(connection: LedgerConnection, place: DatabasePlace) -> None:
    """Refuse to append to a ledger that was moved. Errors: LedgerUnusable; asyncpg.PostgresError, LOST."""
    if (moved := await connection.fetchval("SELECT moved_to FROM head")) is not None:
        raise LedgerUnusable(
            f"{place} was moved to {moved}, and accepts no more events.",
            f"Use the new place: --ledger '{moved}'. If nobody appends there, the owner of the tables lifts this: "
            f"UPDATE tallystick_{place.ledger}.head SET moved_to = NULL.",
        )


async def read_moved(place: DatabasePlace) -> str | None:
    """Return the place that a ledger was moved to; None if it was not moved. Errors: LedgerUnusable."""
    connection = await _connect(place)
    try:
        moved = await connection.fetchval("SELECT moved_to FROM head")
    except UNREADABLE as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()
    return None if moved is None else str(moved)


async def require_sealable(place: DatabasePlace) -> None:
    """Check that the role may seal a ledger. Errors: LedgerUnusable."""
    connection = await _connect(place)
    try:
        allowed = await connection.fetchval("SELECT has_column_privilege('head', 'moved_to', 'UPDATE')")
    except UNREADABLE as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()
    if not allowed:
        raise LedgerUnusable(
            f"The role may not seal {place} against further events.",
            "Connect as the owner of its tables, or copy it without sealing it: --keep.",
        )


async def seal_moved(place: DatabasePlace, moved_to: str) -> int:
    """Let a ledger accept no more events; return the position of its last one. Errors: LedgerUnusable.

    Groups that are being written are committed before, or refused.
    """
    connection = await _connect(place)
    try:
        await connection.execute("BEGIN")
        position = await connection.fetchval(_SEAL, moved_to)
        if position is None:
            await connection.rollback()
            await require_unmoved(connection, place)
        await connection.commit()
        return int(position)
    except asyncpg.InsufficientPrivilegeError as error:
        raise LedgerUnusable(f"{place} cannot be sealed: {error}.", "Connect as the owner of its tables.") from error
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def lift_seal(place: DatabasePlace) -> None:
    """Let a ledger accept events again. Errors: LedgerUnusable."""
    connection = await _connect(place)
    try:
        await connection.execute("BEGIN")
        await connection.execute("UPDATE head SET moved_to = NULL")
        await connection.commit()
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def _connect(place: DatabasePlace) -> LedgerConnection:
    try:
        return await connect_durably(place, CONNECT_S)
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
