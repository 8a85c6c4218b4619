"""Open an event store: the server at an address, or the ledger file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.client.remote_store import RemoteStore, make_client
from api.progress import OpenProgress, no_progress
from api.service.ledger import LedgerService
from api.service.store import EmptyStore, EventStore, LocalStore

FOLD_EVENTS_MIN = 10_000
"""If so many events were appended to a file, fold the projections and keep snapshots, so that readers need not."""


@asynccontextmanager
async def open_store(
    ledger: Path,
    url: str | None,
    token: str | None,
    *,
    writable: bool = True,
    progress: OpenProgress = no_progress,
) -> AsyncIterator[EventStore]:
    """Open the server at `url`; if it is None, open the ledger file.

    A ledger file that does not exist is created if `writable`; otherwise the store is empty.
    Errors: LedgerLocked, LedgerUnusable, InvalidQuery.
    """
    if url is not None:
        async with open_remote_store(url, token) as remote:
            yield remote
        return
    if not writable and not ledger.exists():
        yield EmptyStore()
        return
    service = await LedgerService.open(ledger, writable=writable, views=False)
    try:
        local = LocalStore(service)
        yield local
        if local.appended >= FOLD_EVENTS_MIN:
            with progress("folding", "events") as report:
                await service.fold(report)
    finally:
        await service.close()


@asynccontextmanager
async def open_remote_store(url: str, token: str | None) -> AsyncIterator[RemoteStore]:
    """Open the server at an address. Errors: InvalidQuery."""
    async with make_client(url, token) as client:
        yield RemoteStore(client, url)
