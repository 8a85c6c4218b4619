"""Open the ledger of a verb, with a progress bar while projections are folded."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar

from api.cli.ledger_target import LedgerTarget
from api.cli.output import show_progress
from api.cli.unknown_names import check_names
from api.client import open_store as client
from api.service.ledger import LedgerService, open_for_reading
from api.service.store import EventStore

_Answer = TypeVar("_Answer")


def open_reader(ledger: Path, *, views: bool = True) -> AbstractAsyncContextManager[LedgerService]:
    """Open a ledger file read-only. With `views`, fold the events that are new. Errors: LedgerUnusable."""
    return open_for_reading(ledger, views=views, progress=show_progress)


def open_store(target: LedgerTarget, *, writable: bool = True) -> AbstractAsyncContextManager[EventStore]:
    """Open the server of a target, or its ledger file. Errors: LedgerLocked, LedgerUnusable, InvalidQuery."""
    return client.open_store(target.ledger, target.url, target.token, writable=writable, progress=show_progress)


def answer_as_of(
    ledger: Path, as_of: str | None, answer: Callable[[LedgerService, int | None], Awaitable[_Answer]]
) -> _Answer:
    """Open a ledger file read-only and return the answer of a function as of a position or time; None is now.

    Errors: LedgerUnusable, InvalidQuery, NotFound for a filter with an unknown name, and those of the function.
    """

    async def run() -> _Answer:
        async with open_reader(ledger) as service:
            return await answer(service, await service.resolve(as_of))

    found = asyncio.run(run())
    check_names(found)
    return found
