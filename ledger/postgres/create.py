"""Make a ledger in a database, and list those that are there. The role needs the right to create schemas."""

import asyncpg

from ledger.errors import InvalidQuery, LedgerUnusable, Occupied
from ledger.place import LEDGER_NAME, DatabasePlace
from ledger.postgres.connection import UNREADABLE, LedgerConnection, UnknownOutcomeError, connect, unusable
from ledger.postgres.schema import CREATE, GRANT, schema_of

_LIST = """
SELECT substr(nspname, 12) FROM pg_namespace WHERE nspname ~ '^tallystick_[a-z][a-z0-9_]*$'
   AND EXISTS (SELECT FROM pg_class WHERE relnamespace = pg_namespace.oid AND relname = 'events') ORDER BY 1
"""


async def create_ledger(place: DatabasePlace, *, grant: str | None = None, complete: bool = True) -> None:
    """Make the schema and the tables of a ledger, and let a role use them. An incomplete one only an import opens.

    Errors: Occupied, if there is a ledger with this name; LedgerUnusable, if the role or the database cannot have it.
    """
    connection = await _connect(place)
    try:
        encoding = await connection.fetchval("SHOW server_encoding")
        if encoding != "UTF8":
            raise LedgerUnusable(f"{place} stores texts as {encoding}.", "Make a database with ENCODING 'UTF8'.")
        await connection.execute("BEGIN")
        schema = schema_of(place)
        await connection.execute(f"CREATE SCHEMA {schema}")
        await connection.execute(CREATE.replace("SCHEMA", schema))
        if not complete:
            await connection.execute(f"UPDATE {schema}.head SET complete = false")
        if grant is not None:
            await _grant(connection, schema, grant)
        await connection.commit()
    except asyncpg.DuplicateSchemaError:
        raise Occupied(f"{place}", "Use it, or choose another name.") from None
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def drop_incomplete(place: DatabasePlace) -> None:
    """Drop the schema of a ledger whose import has not ended. Errors: LedgerUnusable."""
    connection = await _connect(place)
    try:
        await connection.execute("BEGIN")
        if not await connection.fetchval("SELECT complete FROM head FOR UPDATE"):
            await connection.execute(f"DROP SCHEMA {schema_of(place)} CASCADE")
        await connection.commit()
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def grant_access(place: DatabasePlace, role: str) -> None:
    """Let a role append to a ledger and read it. Errors: LedgerUnusable, InvalidQuery for an unknown role."""
    connection = await _connect(place)
    try:
        await connection.execute("BEGIN")
        await _grant(connection, schema_of(place), role)
        await connection.commit()
    except (*UNREADABLE, UnknownOutcomeError) as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()


async def list_ledgers(place: DatabasePlace) -> list[str]:
    """Return the names of the ledgers of a database, in order. Errors: LedgerUnusable."""
    connection = await _connect(place)
    try:
        names = [str(name) for (name,) in await connection.fetch(_LIST)]
    except UNREADABLE as error:
        raise unusable(place, error) from error
    finally:
        connection.abort()
    return [name for name in names if LEDGER_NAME.fullmatch(name)]


async def _connect(place: DatabasePlace) -> LedgerConnection:
    try:
        return await connect(place)
    except UNREADABLE as error:
        raise unusable(place, error) from error


async def _grant(connection: LedgerConnection, schema: str, role: str) -> None:
    quoted = await connection.fetchval("SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = $1", role)
    if quoted is None:
        raise InvalidQuery("grant", f"the database has no role {role}.", f"Make it: CREATE ROLE {role} LOGIN.")
    await connection.execute(GRANT.format(schema=schema, role=quoted))
