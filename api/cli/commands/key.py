"""key: show or make the key that signs the checkpoints of a ledger."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from ledger import Verifier


@verb()
def show(target: LedgerTarget) -> None:
    """Print the verifier key of a ledger.

    Anyone who verifies this ledger needs it, and must get it from you.

    Example: tallystick key show >ledger.vkey
    """
    from api.cli.output import print_note
    from ledger.errors import NotFound
    from ledger.transparency.keys import key_path, others_may_read, read_key

    signer = read_key(target.ledger)
    if signer is None:
        advice = "Make one with tallystick key make. tallystick serve makes one, too."
        raise NotFound(f"{target.ledger} has no key yet.", advice)
    if others_may_read(target.ledger):
        path = key_path(target.ledger)
        print_note(f"Other users can read {path} and sign as this log: run chmod 600 {path}.")
    _print_key(target, signer.verifier)


@verb()
def make(
    target: LedgerTarget,
    origin: Annotated[
        str | None,
        typer.Option(help="The permanent name of the log, such as ledger.example.com/team.  \\[default: random]"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the key: for everyone else this becomes another log.")
    ] = False,
) -> None:
    """Make the key of a ledger and print its verifier key.

    Checkpoints that an earlier key signed are kept under another name.

    Example: tallystick key make --origin ledger.example.com/team
    """
    from ledger.errors import InvalidQuery
    from ledger.sqlite.lock import WriterLock
    from ledger.transparency.checkpoints import checkpoint_path, replace_key
    from ledger.transparency.keys import key_path

    lock = WriterLock.acquire(target.ledger)
    try:
        for path in (key_path(target.ledger), checkpoint_path(target.ledger)):
            if path.exists() and not replace:
                raise InvalidQuery("replace", f"{path} exists.", "Add --replace to begin a new identity.")
        verifier = replace_key(target.ledger, origin).verifier
    finally:
        lock.release()
    _print_key(target, verifier)


def _print_key(target: LedgerTarget, verifier: "Verifier") -> None:
    from api.cli.output import print_json

    if target.json:
        print_json({"origin": verifier.name, "verifier": str(verifier)})
    else:
        typer.echo(str(verifier))
