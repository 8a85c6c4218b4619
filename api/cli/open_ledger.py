"""Open the ledger of a verb, with a progress bar while projections are folded."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from api.cli.ledger_target import LedgerTarget
from api.cli.output import show_progress
from api.cli.unknown_names import check_names
from api.client import open_store as client
from api.service.ledger import LedgerService, open_for_reading
from api.service.store import EventStore

if TYPE_CHECKING:
    from api.client.remote_events import RemoteEvents
    from api.client.remote_views import RemoteViews

_Answer = TypeVar("_Answer")


def open_reader(ledger: Path, *, views: bool = True) -> AbstractAsyncContextManager[LedgerService]:
    """Open a ledger file read-only. With `views`, fold the events that are new. Errors: LedgerUnusable."""
    return open_for_reading(ledger, views=views, progress=show_progress)


def open_store(target: LedgerTarget, *, writable: bool = True) -> AbstractAsyncContextManager[EventStore]:
    """Open the server of a target, or its ledger file. Errors: LedgerLocked, LedgerUnusable, InvalidQuery."""
    return client.open_store(target.ledger, target.url, target.token, writable=writable, progress=show_progress)


def answer_as_of(
    target: LedgerTarget,
    as_of: str | None,
    local: Callable[[LedgerService, int | None], Awaitable[_Answer]],
    remote: "Callable[[RemoteViews], Awaitable[_Answer]]",
    *,
    may_be_new: Collection[str] = (),
) -> _Answer:
    """Return a view as of a position or time; None is now: from the server of a target, or else from its ledger file.

    `local` computes the view from an open ledger file, `remote` gets it from a server. The ledger need not know the
    names in the parameters `may_be_new`.
    Errors: LedgerUnusable, InvalidQuery, NotFound for a filter with an unknown name, and those of the functions.
    """

    async def run() -> _Answer:
        if target.url is not None:
            from api.client.remote_views import RemoteViews

            async with client.open_remote_store(target.url, target.token) as store:
                return await remote(RemoteViews(store, as_of))
        async with open_reader(target.ledger) as service:
            return await local(service, await service.resolve(as_of))

    found = asyncio.run(run())
    check_names(found, may_be_new)
    return found


@asynccontextmanager
async def open_events(target: LedgerTarget) -> "AsyncIterator[LedgerService | RemoteEvents]":
    """Open the events of the server of a target, or those of its ledger file. Errors: LedgerUnusable, InvalidQuery."""
    if target.url is not None:
        from api.client.remote_events import open_remote_events

        async with open_remote_events(target.url, target.token) as remote:
            yield remote
        return
    async with open_reader(target.ledger, views=False) as service:
        yield service
