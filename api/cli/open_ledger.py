"""Open a ledger for a command: the file or a server, with a progress bar while projections are folded."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from api.cli.output import progress
from api.client import open_store as client
from api.service.ledger import LedgerService, open_for_reading
from api.service.store import EventStore


def open_reader(ledger: Path, *, views: bool = True) -> AbstractAsyncContextManager[LedgerService]:
    """Open a ledger file read-only; fold what is new if `views`. Errors: LedgerUnusable."""
    return open_for_reading(ledger, views=views, progress=progress)


def open_store(
    ledger: Path, url: str | None, token: str | None, *, writable: bool = True
) -> AbstractAsyncContextManager[EventStore]:
    """Open the server at `url`, or without one the ledger file. Errors: LedgerLocked, LedgerUnusable, InvalidQuery."""
    return client.open_store(ledger, url, token, writable=writable, progress=progress)
