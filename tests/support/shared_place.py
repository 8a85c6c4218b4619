"""Addresses and roles of ledgers in a test's PostgreSQL."""

from tests.support.postgres import SUPERUSER, PostgresServer, new_schema_name

LEDGER = "acme"


def address(server: PostgresServer, database: str, user: str = SUPERUSER) -> str:
    """The address of a ledger, as users type it."""
    return f"postgresql://{user}@{server.host}:{server.port}/{database}?ledger={LEDGER}"


def new_role(server: PostgresServer) -> str:
    """Make a role that may log in and do nothing else; return its name."""
    name = new_schema_name()
    server.psql(f"CREATE ROLE {name} LOGIN")
    return name
