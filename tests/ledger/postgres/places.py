"""New ledgers on a server, for tests."""

from ledger.place import DatabasePlace, Host
from ledger.postgres.create import create_ledger
from tests.support.postgres import PostgresServer, new_database

LEDGER = "acme"


def empty_place(server: PostgresServer, user: str = "postgres") -> DatabasePlace:
    """A place in a new database, where no ledger is yet."""
    host = Host(server.host, server.port)
    return DatabasePlace(hosts=(host,), database=new_database(server), ledger=LEDGER, user=user)


async def new_ledger(server: PostgresServer) -> DatabasePlace:
    """The place of a new ledger in a new database."""
    place = empty_place(server)
    await create_ledger(place)
    return place


def schema_sql(place: DatabasePlace, server: PostgresServer, sql: str, user: str = "postgres") -> str:
    """Run SQL in the schema of a ledger."""
    return server.psql(f"SET search_path = tallystick_{place.ledger}; {sql}", place.database, user)


def copy_database(server: PostgresServer, place: DatabasePlace) -> DatabasePlace:
    """A copy of a database as it is now, as a backup has it."""
    copy = empty_place(server)
    server.psql(f"DROP DATABASE {copy.database}")
    server.psql(f"CREATE DATABASE {copy.database} TEMPLATE {place.database}")
    return copy


def replace_database(server: PostgresServer, place: DatabasePlace, copy: DatabasePlace) -> None:
    """Put a copy in the place of a database, whose connections end."""
    server.psql(f"DROP DATABASE {place.database} WITH (FORCE)")
    server.psql(f"ALTER DATABASE {copy.database} RENAME TO {place.database}")
