"""Open an event store: the server at an address, or the ledger itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from api.client.remote_store import RemoteStore
from api.client.server_connection import connect
from api.progress import OpenProgress, no_progress
from api.service.ledger import LedgerService
from api.service.store import EmptyStore, EventStore, LocalStore
from ledger.place import Place

FOLD_EVENTS_MIN = 10_000
"""If a view lacks so many events of a file, a writer folds all views and keeps snapshots, so that readers need not."""


@asynccontextmanager
async def open_store(
    place: Place | Path,
    url: str | None,
    token: str | None,
    *,
    writable: bool = True,
    progress: OpenProgress = no_progress,
) -> AsyncIterator[EventStore]:
    """Open the server at `url`; if it is None, open the ledger.

    A ledger file that does not exist is created if `writable`; otherwise the store is empty.
    Errors: LedgerLocked, LedgerUnusable, InvalidQuery.
    """
    if url is not None:
        async with open_remote_store(url, token) as remote:
            yield remote
        return
    if not writable and not Place.of(place).may_exist():
        yield cast("EventStore", EmptyStore())  # it is open for reading: nothing is appended
        return
    service = await LedgerService.open(place, writable=writable, views=False)
    try:
        yield LocalStore(service)
        if writable and await _events_behind(service) >= FOLD_EVENTS_MIN:
            with progress("folding", "events") as report:
                await service.fold(report)
    finally:
        await service.close()


async def _events_behind(service: LedgerService) -> int:
    """Return how many events are after the oldest snapshot of a view. In a short log it is not looked up: all."""
    head = await service.head_position()
    if head < FOLD_EVENTS_MIN:
        return head
    from api.service.status import saved_position

    return head - await saved_position(service, head)


@asynccontextmanager
async def open_remote_store(url: str, token: str | None) -> AsyncIterator[RemoteStore]:
    """Open the server at an address. Errors: InvalidQuery."""
    async with connect(url, token) as server:
        yield RemoteStore(server)
