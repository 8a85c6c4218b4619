"""Open the ledger of a verb, with a progress bar while projections are folded, and ask or write it.

Every verb imports this module, so it imports what opens a ledger only when it is called.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import typer

from api.cli.ledger_target import LedgerTarget
from api.cli.output import print_json, print_note, show_progress

if TYPE_CHECKING:
    from api.client.remote_store import RemoteStore
    from api.service.checkpoints import CheckpointService
    from api.service.ledger import LedgerService
    from api.service.operation import A, Answers, Operation, P
    from api.service.store import EventStore
    from ledger.place import Place
    from tallystick.shapes.parts import UnknownName

_Answer = TypeVar("_Answer")


@asynccontextmanager
async def open_reader(place: "Place") -> "AsyncIterator[LedgerService]":
    """Open a ledger read-only. Errors: LedgerUnusable."""
    from api.service.ledger import open_for_reading

    async with open_for_reading(place, progress=show_progress) as service:
        note_standby(service)
        yield service


def note_standby(service: "LedgerService") -> None:
    """Say on standard error if a ledger is read from a standby, which may lack the newest events."""
    if service.standby:
        print_note(f"Read from a standby, up to the newest event that is signed there: {service.place}.")


def open_store(target: LedgerTarget, *, writable: bool = True) -> "AbstractAsyncContextManager[EventStore]":
    """Open the server of a target, or its ledger. Errors: LedgerLocked, LedgerUnusable, InvalidQuery."""
    from api.client import open_store as client

    return client.open_store(target.place, target.url, target.token, writable=writable, progress=show_progress)


def use_store(
    target: LedgerTarget, use: "Callable[[EventStore], Awaitable[_Answer]]", *, writable: bool = True
) -> _Answer:
    """Return what a function does with the server of a target, or with its ledger.

    Errors: LedgerLocked, LedgerUnusable, InvalidQuery, and those of the function.
    """
    import asyncio

    async def run() -> _Answer:
        async with open_store(target, writable=writable) as store:
            return await use(store)

    return asyncio.run(run())


def use_proofs(target: LedgerTarget, use: "Callable[[RemoteStore | CheckpointService], Awaitable[_Answer]]") -> _Answer:
    """Return what a function makes of the proofs of the server of a target, or of its ledger, which is opened to sign.

    Errors: LedgerUnusable, InvalidQuery, and those of the function.
    """
    import asyncio

    async def run() -> _Answer:
        if target.url is not None:
            from api.client.open_store import open_remote_store

            async with open_remote_store(target.url, target.token) as remote:
                return await use(remote)
        from api.service.ledger import open_for_signing

        async with open_for_signing(target.place) as service:
            return await use(service.proving)

    return asyncio.run(run())


def use_answers(
    target: LedgerTarget,
    as_of: str | None,
    use: "Callable[[Answers], Awaitable[_Answer]]",
    *,
    may_be_new: Collection[str] = (),
) -> _Answer:
    """Return what a function makes of answers as of a position or time; None is now.

    The answers are those of the server of a target, or else of its ledger. The ledger need not know the names in the
    parameters `may_be_new`.
    Errors: LedgerUnusable, InvalidQuery, NotFound for a filter with an unknown name, and those of the function.
    """
    import asyncio

    async def run() -> _Answer:
        if target.url is not None:
            from api.client.open_store import open_remote_store
            from api.client.remote_views import RemoteViews

            async with open_remote_store(target.url, target.token) as store:
                return await use(RemoteViews(store, as_of))
        async with open_reader(target.place) as service:
            return await use(await service.as_of(as_of))

    found = asyncio.run(run())
    check_names(found, may_be_new)
    return found


def ask(
    target: LedgerTarget,
    operation: "Operation[P, A]",
    params: "P",
    as_of: str | None = None,
    *,
    may_be_new: Collection[str] = (),
) -> "A":
    """Return the answer of an operation as of a position or time; None is now. Errors: see `use_answers`."""
    return use_answers(target, as_of, lambda answers: answers.answer(operation, params), may_be_new=may_be_new)


def show(target: LedgerTarget, answer: _Answer, print_answer: Callable[[_Answer], None], code: int = 0) -> None:
    """Print an answer for people, or with --json as it is. End the command with an exit code other than 0."""
    if target.json:
        print_json(answer)
    else:
        print_answer(answer)
    if code:
        raise typer.Exit(code)


@asynccontextmanager
async def open_events(target: LedgerTarget) -> "AsyncIterator[LedgerService | RemoteStore]":
    """Open the events of the server of a target, or those of its ledger file. Errors: LedgerUnusable, InvalidQuery."""
    if target.url is not None:
        from api.client.open_store import open_remote_store

        async with open_remote_store(target.url, target.token) as remote:
            yield remote
        return
    async with open_reader(target.place) as service:
        yield service


def check_names(answer: object, may_be_new: Collection[str] = ()) -> None:
    """Check that the filter of an answer has no unknown names, except in the parameters `may_be_new`.

    Errors: NotFound, for the first one.
    """
    unknown: list[UnknownName] = getattr(answer, "unknown_names", None) or []
    for name in (name for name in unknown if name.parameter not in may_be_new):
        from api.service.unknown_names import suggest
        from ledger.errors import NotFound

        advice = suggest(name.nearest, "Nothing in the ledger has it. Check the spelling.")
        raise NotFound(f"There is no {name.parameter} {name.value!r}.", advice)
