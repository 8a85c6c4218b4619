"""Servers that hang: while one does not answer, ask whether another one has become the primary.

The operating system of a stopped server, or of one whose disk hangs, still confirms what it receives, so that its
connections stay open, and a statement would wait without end. Meanwhile another server may have been promoted. One that
lets a connection pass the barrier has the standbys, so the silent one can confirm nothing: its connection is closed.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from msgspec import structs

from ledger.errors import LedgerUnusable
from ledger.place import DatabasePlace
from ledger.postgres.connection import SILENT_S, UNREADABLE, LedgerConnection, UnknownOutcomeError, connect_durably

PROBE_S = 5.0
"""Seconds that another server gets to let a connection pass its barrier."""

_Result = TypeVar("_Result")


async def unless_replaced(place: DatabasePlace, connection: LedgerConnection, work: Awaitable[_Result]) -> _Result:
    """Wait for work on a connection; close the connection, so that the work fails, if its server is replaced meanwhile.

    Errors: those of the work.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_note_error)
    try:
        while not (await asyncio.wait([task], timeout=SILENT_S))[0]:
            probe = asyncio.create_task(_is_replaced(place, connection))
            try:
                await asyncio.wait([task, probe], return_when=asyncio.FIRST_COMPLETED)
                if probe.done() and probe.result():
                    connection.abort()
            finally:
                probe.cancel()
    finally:
        task.cancel()
    return task.result()


async def _is_replaced(place: DatabasePlace, connection: LedgerConnection) -> bool:
    """Return whether another server of the address lets a connection pass its barrier."""
    others = tuple(host for host in place.hosts if host != connection.server)
    if others and len(others) < len(place.hosts):
        with suppress(*UNREADABLE, UnknownOutcomeError, LedgerUnusable):
            (await connect_durably(structs.replace(place, hosts=others), PROBE_S)).abort()
            return True
    return False


def _note_error(task: "asyncio.Future[_Result]") -> None:
    """Mark an error as seen: of work that nobody waits for any more, it means nothing."""
    if not task.cancelled():
        task.exception()
