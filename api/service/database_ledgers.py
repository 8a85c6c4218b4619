"""Make, list and check ledgers: those in PostgreSQL, and an empty ledger file."""

from typing import TYPE_CHECKING

import msgspec

from api.service.open_log import needing_extra, open_log
from ledger.errors import InvalidQuery, Occupied
from ledger.place import Place

if TYPE_CHECKING:
    from ledger.postgres.check import DatabaseReport


class CreatedLedger(msgspec.Struct, frozen=True):
    """What `create_ledger` did."""

    ledger: str
    """The place of the ledger."""
    created: bool
    """False: it was there, and only the role was added."""
    granted: str | None
    """The role that may append to it and read it now, beside its owner."""


class LedgerList(msgspec.Struct, frozen=True):
    """The names of the ledgers of a database, in order."""

    ledgers: list[str]


async def create_ledger(place: Place, grant: str | None) -> CreatedLedger:
    """Make an empty ledger, and let a role append to it and read it. With a role, a ledger that exists is kept.

    Errors: Occupied, if the ledger exists and no role is named; LedgerUnusable; InvalidQuery.
    """
    if place.database is None:
        if grant is not None:
            raise InvalidQuery("grant", f"{place} is a file, which has no roles.", "Change the mode of the file.")
        if place.path.exists():
            raise Occupied(f"{place}", "Use it, or choose another name.")
        await (await open_log(place)).close()
        return CreatedLedger(str(place), created=True, granted=None)
    with needing_extra():
        from ledger.postgres import create  # noqa: PLC0415 - the extra postgres
    exists = grant is not None and place.database.ledger in await create.list_ledgers(place.database)
    if exists and grant is not None:
        await create.grant_access(place.database, grant)
    else:
        await create.create_ledger(place.database, grant=grant)
    return CreatedLedger(str(place), created=not exists, granted=grant)


async def list_ledgers(place: Place) -> LedgerList:
    """List the ledgers of the database of a place, whether or not its own ledger exists.

    Errors: InvalidQuery for a file, LedgerUnusable.
    """
    database = place.require_database("tallystick ledger list", "Name a database: postgresql://HOST/DATABASE?ledger=x.")
    with needing_extra():
        from ledger.postgres import create  # noqa: PLC0415 - the extra postgres
    return LedgerList(await create.list_ledgers(database))


async def check_ledger(place: Place) -> "DatabaseReport":
    """Look at a ledger in PostgreSQL. Errors: InvalidQuery for a file, LedgerUnusable, if no primary server answers."""
    database = place.require_database("tallystick ledger check", "Run tallystick doctor, which checks a ledger file.")
    with needing_extra():
        from ledger.postgres.check import check_database  # noqa: PLC0415 - the extra postgres
    return await check_database(database, place.durability)
