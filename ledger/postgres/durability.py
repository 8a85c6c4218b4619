"""What a cluster promises about a confirmed commit, compared with what the operator was promised.

I4 An acknowledged event survives. `quorum`: on the disk of the primary and of the standbys that each commit waits for.
   `local`: on the disk of the primary alone. `managed`: as the operator of the service says, who does not show its
   standbys or its disks.
"""

import time
from typing import NamedTuple

from ledger.errors import LedgerUnusable
from ledger.place import DatabasePlace, Durability
from ledger.postgres.connection import LedgerConnection

VERSION_MIN = 150_000
"""PostgreSQL 15."""

CLOCK_MAX_S = 5.0
"""Seconds by which the clocks of a node and of the database may differ: recordedtime is the node's (I6)."""

_SETTINGS = """
SELECT current_setting('server_version_num')::int, current_setting('fsync') = 'on',
       current_setting('full_page_writes') = 'on', current_setting('synchronous_standby_names'),
       current_setting('synchronous_commit'), extract(epoch FROM clock_timestamp())::float8
"""

_WAITS = ("on", "remote_apply")
"""Values of synchronous_commit with which a commit waits until standbys have synced it."""


class DatabaseSettings(NamedTuple):
    """The settings of the primary server that decide what a confirmed commit is worth, and its clock in seconds."""

    version: int
    fsync: bool
    full_page_writes: bool
    standbys: str
    """synchronous_standby_names, as `ANY 1 (n1, n2, n3)`; empty: no commit waits for a standby."""
    synchronous_commit: str
    clock_s: float


async def read_settings(connection: LedgerConnection) -> DatabaseSettings:
    """Read the settings of the server that a session is connected to. Errors: asyncpg.PostgresError, LOST."""
    row = await connection.fetchrow(_SETTINGS)
    assert row is not None
    return DatabaseSettings(*row)


def found_durability(settings: DatabaseSettings) -> Durability | None:
    """Return the most that the settings show of a confirmed commit; None: less than `local`."""
    if not (settings.fsync and settings.full_page_writes):
        return None
    return "quorum" if settings.standbys.strip() and settings.synchronous_commit in _WAITS else "local"


async def check_durability(
    connection: LedgerConnection, place: DatabasePlace, promised: Durability
) -> DatabaseSettings:
    """Check the server that a session is connected to, and its clock; return its settings.

    Errors: LedgerUnusable; asyncpg.PostgresError, LOST.
    """
    before_s = time.time()
    settings = await read_settings(connection)
    check_clock(place, settings.clock_s, before_s, time.time())
    check_settings(place, settings, promised)
    return settings


def check_settings(place: DatabasePlace, settings: DatabaseSettings, promised: Durability) -> None:
    """Check that commits are as durable as promised. Errors: LedgerUnusable."""
    if settings.version < VERSION_MIN:
        detail = f"{place} is PostgreSQL {settings.version // 10_000}; Tallystick needs 15 or newer."
        raise LedgerUnusable(detail, "Upgrade the server.")
    if promised == "managed":
        return
    for name, value in (("fsync", settings.fsync), ("full_page_writes", settings.full_page_writes)):
        if not value:
            raise LedgerUnusable(
                f"{place} runs with {name} = off: a confirmed event may be lost.", f"Set {name} = on, and reload."
            )
    if promised == "quorum" and not (settings.standbys.strip() and settings.synchronous_commit in _WAITS):
        raise LedgerUnusable(
            f"{place} confirms commits that no standby has: synchronous_standby_names is empty.",
            "Set it, as in ANY 1 (n1, n2, n3). Or say that one disk is enough: --durability local. "
            "Or that the service replicates in its own way: --durability managed.",
        )


def check_clock(place: DatabasePlace, server_s: float, before_s: float, after_s: float) -> None:
    """Check the database's clock, in seconds, read between two readings of our own. Errors: LedgerUnusable."""
    if before_s - CLOCK_MAX_S <= server_s <= after_s + CLOCK_MAX_S:
        return
    apart_s = server_s - after_s if server_s > after_s else before_s - server_s
    raise LedgerUnusable(
        f"The clocks of this machine and of {place} are {apart_s:.0f} s apart.", "Set both by NTP, then start again."
    )
