"""key: who signs for a ledger."""

from typing import Annotated

import typer

from api.cli.options import AsJson, ledger_of

app = typer.Typer(help="The key that signs the checkpoints of a ledger: show it, make it.", no_args_is_help=True)


@app.command("show")
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Print the verifier key: what whoever verifies this ledger must have from you.

    Example: tallystick key show >ledger.vkey
    """
    from api.cli.output import print_json, say
    from ledger.errors import NotFound
    from ledger.transparency.keys import key_path, others_may_read, read_key

    ledger = ledger_of(context)
    signer = read_key(ledger)
    if signer is None:
        raise NotFound(f"{ledger} has no key yet.", "tallystick key make makes one, and so does tallystick serve.")
    if others_may_read(ledger):
        say(f"{key_path(ledger)} can be read by others, who can then sign in its name: chmod 600 it.")
    verifier = signer.verifier
    if as_json:
        print_json({"origin": verifier.name, "verifier": str(verifier)})
    else:
        typer.echo(str(verifier))


@app.command("make")
def make(
    context: typer.Context,
    origin: Annotated[
        str | None,
        typer.Option(help="What the log is called for ever, as in ledger.example.com/team.  \\[default: at random]"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="In place of the key there is: a new identity, another log to everyone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the key of a ledger, and print its verifier key. What an earlier key signed is kept under another name.

    Example: tallystick key make --origin ledger.example.com/team
    """
    from api.cli.output import print_json
    from ledger.errors import InvalidQuery
    from ledger.sqlite.lock import WriterLock
    from ledger.transparency.checkpoints import checkpoint_path, replace_key
    from ledger.transparency.keys import key_path

    ledger = ledger_of(context)
    lock = WriterLock.acquire(ledger)
    try:
        for path in (key_path(ledger), checkpoint_path(ledger)):
            if path.exists() and not replace:
                raise InvalidQuery("replace", f"{path} is there.", "Add --replace to begin a new identity.")
        verifier = replace_key(ledger, origin).verifier
    finally:
        lock.release()
    if as_json:
        print_json({"origin": verifier.name, "verifier": str(verifier)})
    else:
        typer.echo(str(verifier))
