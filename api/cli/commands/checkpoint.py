"""checkpoint, receipt and witness: print signed checkpoints, prove that they include an event, have them cosigned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from ledger import Receipt, SignedCheckpoint, Verifier

Key = Annotated[
    str | None, typer.Option(help="With --check: the log's verifier key, from a source you trust.", metavar="VKEY")
]


@verb(server=True, reads=True)
def checkpoint(target: LedgerTarget) -> None:
    """Print the newest checkpoint.

    A checkpoint is the signed name of the log, number of events, and root of these events. Without a running server,
    the command signs a new one; with one, it prints the checkpoint that the server signed last.

    Example: tallystick checkpoint >today.checkpoint
    """
    import asyncio
    import sys

    from api.cli.output import print_json
    from ledger import SignedCheckpoint

    encoded = asyncio.run(_fetch(target, None))
    if target.json:
        print_json(_fields(SignedCheckpoint.parse(encoded)) | {"note": encoded.decode()})
        return
    sys.stdout.buffer.write(encoded)
    sys.stdout.buffer.flush()


@verb(server=True, reads=True)
def receipt(
    target: LedgerTarget,
    position: Annotated[int | None, typer.Argument(help="The position of the event.", min=1)] = None,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file; usually it is named NAME.tlog-proof.", metavar="FILE")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check the receipt in this file, and print its event.", metavar="FILE")
    ] = None,
    key: Key = None,
    line: Annotated[
        Path | None, typer.Option(help="With --check: the event, if you have it from another source.", metavar="FILE")
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(help="With --check: a witness that must have cosigned; may be repeated.", metavar="VKEY"),
    ] = None,
) -> None:
    """Print or check the proof that an event is in the log.

    Checking works offline and without a ledger. Exit code 0: the receipt is valid; 1: it is not; 2: the file is not a
    receipt.

    Example: tallystick receipt 7 --output 7.tlog-proof
    """
    import asyncio
    import sys

    from api.cli.output import print_json, print_note
    from ledger.errors import InvalidQuery

    if (position is None) == (check is None):
        raise InvalidQuery("check", "give either POSITION or --check FILE.", "Give one of them.")
    if check is not None:
        _check(check, key, line, witness or [], as_json=target.json)
        return
    encoded = asyncio.run(_fetch(target, position))
    if output is not None:
        output.write_bytes(encoded)
        print_note(f"The receipt of position {position} is in {output}.")
    if target.json:
        print_json(_receipt_fields(encoded))
    elif output is None:
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()


async def _fetch(target: LedgerTarget, position: int | None) -> bytes:
    """Return the receipt of a position; if it is None, the newest checkpoint."""
    from api.client.open_store import open_remote_store
    from api.service.ledger import open_for_signing

    if target.url is not None:
        async with open_remote_store(target.url, target.token) as remote:
            if position is None:
                return (await remote.checkpoint()).note.encode()
            return (await remote.receipt(position)).encode()
    async with open_for_signing(target.ledger) as service:
        if position is None:
            return (await service.proving.checkpoint()).note.encode()
        return (await service.proving.receipt(position)).encode()


def _check(path: Path, key: str | None, line: Path | None, witnesses: list[str], *, as_json: bool) -> None:
    from api.cli.output import print_json, print_line, print_note
    from ledger import Receipt, Verifier
    from ledger.errors import InvalidQuery

    if key is None:
        detail = "a receipt can only be checked with the key of its log."
        raise InvalidQuery("key", detail, "Ask the owner: tallystick key show.")
    verifier, required = Verifier.parse(key), [Verifier.parse(text) for text in witnesses]
    receipt = Receipt.parse(path.read_bytes())
    event = receipt.line if line is None else line.read_bytes().removesuffix(b"\n")
    if event is None:
        raise InvalidQuery("line", "this receipt does not contain its event.", "Name the event's file with --line.")
    faults = receipt.faults(event, verifier, required)
    if as_json:
        print_json(_result(receipt, event, faults, required))
    else:
        for fault in faults:
            print_note(f"wrong: {fault}")
    if faults:
        raise typer.Exit(1)
    if not as_json:
        print_line(event)
        size, origin = receipt.signed.checkpoint.size, receipt.signed.checkpoint.origin
        cosigned = f", cosigned by {', '.join(witness.name for witness in required)}" if required else ""
        print_note(f"This is position {receipt.position} of the {size} events that {origin} has signed{cosigned}.")


def _result(receipt: "Receipt", event: bytes, faults: list[str], witnesses: "list[Verifier]") -> dict[str, object]:
    cosigned = {witness.name: witness.cosigned_at(receipt.signed.note) for witness in witnesses}
    checked = {"position": receipt.position, **_fields(receipt.signed), "cosigned": cosigned, "faults": faults}
    return checked | {"event": event.decode(errors="replace")}


def _receipt_fields(encoded: bytes) -> dict[str, object]:
    """Return a receipt for JSON: its position, event and checkpoint, and the whole as text for --check."""
    from ledger import Receipt

    receipt = Receipt.parse(encoded)
    event = None if receipt.line is None else receipt.line.decode()
    return {"position": receipt.position, **_fields(receipt.signed), "event": event, "receipt": encoded.decode()}


def _fields(signed: "SignedCheckpoint") -> dict[str, object]:
    return {**signed.checkpoint._asdict()}


@verb()
def witness(
    target: LedgerTarget,
    url: Annotated[str, typer.Option(help="The witness's address, before /add-checkpoint.", metavar="WITNESS")],
    key: Annotated[str, typer.Option(help="The witness's verifier key.", metavar="VKEY")],
) -> None:
    """Ask a witness to cosign the newest checkpoint.

    The witness speaks C2SP tlog-witness. Its signature is stored beside the ledger. A witness that has seen another
    history of this log refuses: exit code 1.

    Example: tallystick witness --url https://witness.example.com --key witness.example.com/w1+04d2d833+BD1A...
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.ledger import open_for_signing
    from api.service.witness import CosignResult, request_cosignature
    from api.text_format import format_time, pluralize
    from ledger import Verifier

    verifier = Verifier.parse(key)

    async def cosign() -> CosignResult:
        async with open_for_signing(target.ledger) as service:
            return await request_cosignature(service, url, verifier)

    cosigned = asyncio.run(cosign())
    if target.json:
        print_json(cosigned)
    else:
        events = pluralize(cosigned.size, "event")
        typer.echo(
            f"{cosigned.witness} has cosigned {events} of {cosigned.origin} at {format_time(cosigned.time)} UTC."
        )
