"""Open the ledger of a verb, with a progress bar while projections are folded."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from api.cli.ledger_target import LedgerTarget
from api.cli.output import show_progress
from api.client import open_store as client
from api.service.ledger import LedgerService, open_for_reading
from api.service.store import EventStore


def open_reader(ledger: Path, *, views: bool = True) -> AbstractAsyncContextManager[LedgerService]:
    """Open a ledger file read-only. With `views`, fold the events that are new. Errors: LedgerUnusable."""
    return open_for_reading(ledger, views=views, progress=show_progress)


def open_store(target: LedgerTarget, *, writable: bool = True) -> AbstractAsyncContextManager[EventStore]:
    """Open the server of a target, or its ledger file. Errors: LedgerLocked, LedgerUnusable, InvalidQuery."""
    return client.open_store(target.ledger, target.url, target.token, writable=writable, progress=show_progress)
