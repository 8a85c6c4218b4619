"""checkpoint and receipt: what a ledger says of itself, and that one event is in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from ledger import Receipt, SignedCheckpoint, Verifier

Key = Annotated[
    str | None, typer.Option(help="With --check: the log's verifier key, from somebody you trust.", metavar="VKEY")
]


def checkpoint(context: typer.Context, url: Url = None, token: BearerToken = None, as_json: AsJson = False) -> None:
    """Print the newest checkpoint: the log's name, how many events it has, and their root, signed.

    The file is signed where no server writes it. Beside a server, what that signed last is printed.

    Example: tallystick checkpoint >today.checkpoint
    """
    import asyncio
    import sys

    from api.cli.output import print_json
    from ledger import SignedCheckpoint

    encoded = asyncio.run(_asked(ledger_of(context), url, token, None))
    if as_json:
        print_json(_told(SignedCheckpoint.parse(encoded)) | {"note": encoded.decode()})
        return
    sys.stdout.buffer.write(encoded)
    sys.stdout.buffer.flush()


def receipt(
    context: typer.Context,
    position: Annotated[int | None, typer.Argument(help="Where the event stands.", min=1)] = None,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Write it to this file, by custom NAME.tlog-proof.", metavar="FILE")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check the receipt in this file, and print its event.", metavar="FILE")
    ] = None,
    key: Key = None,
    line: Annotated[
        Path | None, typer.Option(help="With --check: the event, where you have it from elsewhere.", metavar="FILE")
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(help="With --check: a witness that must have cosigned; may be repeated.", metavar="VKEY"),
    ] = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Print a receipt, which proves alone that an event is in the log; or check one, offline and without a ledger.

    Checking, exit code 0 says that the receipt holds, 1 that it does not, 2 that it is none.

    Example: tallystick receipt 7 --output 7.tlog-proof
    """
    import asyncio
    import sys

    from api.cli.output import say
    from ledger.errors import InvalidQuery

    if (position is None) == (check is None):
        raise InvalidQuery("check", "either POSITION or --check FILE says what is wanted.", "Give one of them.")
    if check is not None:
        _check(check, key, line, witness or [], as_json)
        return
    encoded = asyncio.run(_asked(ledger_of(context), url, token, position))
    if output is not None:
        output.write_bytes(encoded)
        say(f"The receipt of position {position} is in {output}.")
    else:
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()


async def _asked(ledger: Path, url: str | None, token: str | None, position: int | None) -> bytes:
    """A receipt, or without a position the newest checkpoint, of a server or a file."""
    from api.client.open_store import open_remote_store
    from api.service.ledger import open_for_signing

    if url is not None:
        async with open_remote_store(url, token) as there:
            return await there.get("/checkpoint" if position is None else f"/events/{position}/receipt")
    async with open_for_signing(ledger) as service:
        if position is None:
            return (await service.proving.checkpoint()).note.encode()
        return (await service.proving.receipt(position)).encode()


def _check(path: Path, key: str | None, line: Path | None, witnesses: list[str], as_json: bool) -> None:
    from api.cli.output import print_json, print_line, say
    from ledger import Receipt, Verifier
    from ledger.errors import InvalidQuery

    if key is None:
        raise InvalidQuery("key", "whose receipt it is only a key can tell.", "Ask the owner: tallystick key show.")
    verifier, required = Verifier.parse(key), [Verifier.parse(text) for text in witnesses]
    receipt = Receipt.parse(path.read_bytes())
    event = receipt.line if line is None else line.read_bytes().removesuffix(b"\n")
    if event is None:
        raise InvalidQuery("line", "this receipt does not hold its event.", "Name a file that does with --line.")
    faults = receipt.faults(event, verifier, required)
    if as_json:
        print_json(_result(receipt, event, faults, required))
    else:
        for fault in faults:
            say(f"wrong: {fault}")
    if faults:
        raise typer.Exit(1)
    if not as_json:
        print_line(event)
        size, origin = receipt.signed.checkpoint.size, receipt.signed.checkpoint.origin
        cosigned = f", cosigned by {', '.join(witness.name for witness in required)}" if required else ""
        say(f"This is position {receipt.position} of the {size} events that {origin} has signed{cosigned}.")


def _result(receipt: "Receipt", event: bytes, faults: list[str], witnesses: "list[Verifier]") -> dict[str, object]:
    cosigned = {witness.name: witness.cosigned_at(receipt.signed.note) for witness in witnesses}
    told = {"position": receipt.position, **_told(receipt.signed), "cosigned": cosigned, "faults": faults}
    return told | {"event": event.decode(errors="replace")}


def _told(signed: "SignedCheckpoint") -> dict[str, object]:
    return {**signed.checkpoint._asdict()}


def witness(
    context: typer.Context,
    url: Annotated[str, typer.Option(help="The witness's address, before /add-checkpoint.", metavar="WITNESS")],
    key: Annotated[str, typer.Option(help="The witness's verifier key.", metavar="VKEY")],
    as_json: AsJson = False,
) -> None:
    """Ask a witness (C2SP tlog-witness) to cosign the newest checkpoint, and keep what it says beside the ledger.

    A witness that was shown another history of this log refuses: exit code 1.

    Example: tallystick witness --url https://witness.example.com --key witness.example.com/w1+04d2d833+BD1A...
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.ledger import open_for_signing
    from api.service.witness import CosignResult, ask
    from api.text import many, moment
    from ledger import Verifier

    verifier = Verifier.parse(key)

    async def asked() -> CosignResult:
        async with open_for_signing(ledger_of(context)) as service:
            return await ask(service, url, verifier)

    cosigned = asyncio.run(asked())
    if as_json:
        print_json(cosigned)
    else:
        events = many(cosigned.size, "event")
        typer.echo(f"{cosigned.witness} has cosigned {events} of {cosigned.origin} at {moment(cosigned.time)} UTC.")
