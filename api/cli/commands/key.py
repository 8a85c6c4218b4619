"""key: show or make the key that signs the checkpoints of a ledger."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import flag, option
from api.cli.output import print_note
from ledger.errors import InvalidQuery, NotFound

if TYPE_CHECKING:
    from ledger.place import Place
    from ledger.shared_notes import Notes
    from ledger.transparency.signed_note import Verifier

_Result = TypeVar("_Result")


@verb()
def show_key(target: LedgerTarget) -> None:
    """Print the verifier key of a ledger.

    Anyone who verifies this ledger needs it, and must get it from you.

    Example: tallystick key show >ledger.vkey
    """
    from ledger.transparency.keys import key_path, others_may_read, read_key

    shared = _read_shared(target)
    if shared is not None:
        _print_key(target, shared)
        return
    signer = read_key(target.place.path)
    if signer is None:
        advice = "Make one with tallystick key make. tallystick serve makes one, too."
        raise NotFound(f"{target.place} has no key yet.", advice)
    if others_may_read(target.place.path):
        path = key_path(target.place.path)
        print_note(f"Other users can read {path} and sign as this log: run chmod 600 {path}.")
    _print_key(target, signer.verifier)


@verb()
def make(
    target: LedgerTarget,
    origin: Annotated[
        str | None, option("The permanent name of the log, such as ledger.example.com/team.  \\[default: random]")
    ] = None,
    replace: Annotated[bool, flag("--replace", "Replace the key: for everyone else this becomes another log.")] = False,
) -> None:
    """Make the key of a ledger and print its verifier key.

    Checkpoints that an earlier key signed are kept under another name. For a ledger in PostgreSQL, put a new key on
    every node: until a node has it, it signs nothing.

    Example: tallystick key make --origin ledger.example.com/team
    """
    from ledger.sqlite.lock import WriterLock
    from ledger.transparency.checkpoints import checkpoint_path, replace_key
    from ledger.transparency.keys import key_path

    if (shared := _read_shared(target)) is not None:
        if not replace:
            detail = f"{target.place} is the log {shared.name}, and every node has the same key."
            advice = f"Copy it from another node to {key_path(target.place.path)}. --replace begins a new identity."
            raise InvalidQuery("ledger", detail, advice)
        _print_key(target, _replace_shared(target, origin))
        print_note(f"Copy {key_path(target.place.path)} to every other node.")
        return
    target.place.make_folder()
    ledger = target.place.path
    lock = WriterLock.acquire(ledger)
    try:
        for path in (key_path(ledger), checkpoint_path(ledger)):
            if path.exists() and not replace:
                raise InvalidQuery("replace", f"{path} exists.", "Add --replace to begin a new identity.")
        verifier = replace_key(ledger, origin).verifier
    finally:
        lock.release()
    _print_key(target, verifier)


def _read_shared(target: LedgerTarget) -> "Verifier | None":
    """Return the key of a ledger in a database; None before its first node has made it, and for a ledger file.

    Errors: LedgerUnusable, LedgerUnavailable, BadNote.
    """
    from ledger.transparency.shared_keys import read_shared_verifier

    async def read(notes: "Notes") -> "Verifier | None":
        try:
            return await read_shared_verifier(notes)
        except NotFound:
            return None

    return _with_notes(target.place, read) if target.place.database is not None else None


def _replace_shared(target: LedgerTarget, origin: str | None) -> "Verifier":
    """Replace the key of a ledger in a database, and return the new one. Errors: those of `replace_shared_key`."""
    from ledger.transparency.key_replacement import replace_shared_key

    target.place.make_folder()
    return _with_notes(target.place, lambda notes: replace_shared_key(target.place.path, notes, origin))


def _with_notes(place: "Place", work: "Callable[[Notes], Coroutine[None, None, _Result]]") -> "_Result":
    """Run a function with what the nodes of a ledger in a database share. Errors: LedgerUnusable, LedgerUnavailable."""
    import asyncio

    from api.service.open_log import open_notes

    async def run() -> "_Result":
        assert place.database is not None
        notes = await open_notes(place.database)
        try:
            return await work(notes)
        finally:
            await notes.close()

    return asyncio.run(run())


def _print_key(target: LedgerTarget, verifier: "Verifier") -> None:
    show(target, {"origin": verifier.name, "verifier": str(verifier)}, lambda key: typer.echo(key["verifier"]))
