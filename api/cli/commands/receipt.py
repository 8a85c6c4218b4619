"""receipt: print the proof that an event is in the log, or check one without a ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import use_proofs
from api.cli.options import argument, option
from api.cli.output import print_bytes, print_json, print_line, print_note
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from ledger.transparency.receipt import Receipt
    from ledger.transparency.signed_note import Verifier


@verb(server=True, reads=True)
def receipt(
    target: LedgerTarget,
    position: Annotated[int | None, argument("The position of the event.", min=1)] = None,
    *,
    output: Annotated[Path | None, option("Write to this file; usually it is named NAME.tlog-proof.", "FILE")] = None,
    check: Annotated[Path | None, option("Check the receipt in this file, and print its event.", "FILE")] = None,
    key: Annotated[str | None, option("With --check: the log's verifier key, from a source you trust.", "VKEY")] = None,
    line: Annotated[Path | None, option("With --check: the event, if you have it from another source.", "FILE")] = None,
    witness: Annotated[
        list[str] | None, option("With --check: a witness that must have cosigned; may be repeated.", "VKEY")
    ] = None,
) -> None:
    """Print or check the proof that an event is in the log.

    Checking works offline and without a ledger. Exit code 0: the receipt is valid; 1: it is not; 2: the file is not a
    receipt.

    Example: tallystick receipt 7 --output 7.tlog-proof
    """
    if (position is None) == (check is None):
        raise InvalidQuery("check", "give either POSITION or --check FILE.", "Give one of them.")
    if position is None:
        assert check is not None
        _check(check, key, line, witness or [], as_json=target.json)
        return
    encoded = use_proofs(target, lambda proofs: proofs.receipt(position)).encode()
    if output is not None:
        output.write_bytes(encoded)
        print_note(f"The receipt of position {position} is in {output}.")
    if target.json:
        print_json(_receipt_fields(encoded))
    elif output is None:
        print_bytes(encoded)


def _check(path: Path, key: str | None, line: Path | None, witnesses: list[str], *, as_json: bool) -> None:
    from ledger.regular_file import check_regular
    from ledger.transparency.receipt import Receipt
    from ledger.transparency.signed_note import Verifier

    if key is None:
        detail = "a receipt can only be checked with the key of its log."
        raise InvalidQuery("key", detail, "Ask the owner: tallystick key show.")
    verifier, required = Verifier.parse(key), [Verifier.parse(text) for text in witnesses]
    for file in filter(None, (path, line)):
        check_regular(file)
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
    checked = {
        "position": receipt.position,
        **receipt.signed.checkpoint._asdict(),
        "cosigned": cosigned,
        "faults": faults,
    }
    return checked | {"event": event.decode(errors="replace")}


def _receipt_fields(encoded: bytes) -> dict[str, object]:
    """Return a receipt for JSON: its position, event and checkpoint, and the whole as text for --check."""
    from ledger.transparency.receipt import Receipt

    receipt = Receipt.parse(encoded)
    event = None if receipt.line is None else receipt.line.decode()
    checkpoint = receipt.signed.checkpoint._asdict()
    return {"position": receipt.position, **checkpoint, "event": event, "receipt": encoded.decode()}
