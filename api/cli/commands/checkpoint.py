"""checkpoint: print the newest signed checkpoint."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import use_proofs
from api.cli.output import print_bytes, print_json


@verb(server=True, reads=True)
def checkpoint(target: LedgerTarget) -> None:
    """Print the newest checkpoint.

    A checkpoint is the signed name of the log, number of events, and root of these events. Without a running server,
    the command signs a new one; with one, it prints the checkpoint that the server signed last.

    Example: tallystick checkpoint >today.checkpoint
    """
    from ledger.transparency.signed_note import SignedCheckpoint

    encoded = use_proofs(target, lambda proofs: proofs.checkpoint()).note.encode()
    if target.json:
        print_json(SignedCheckpoint.parse(encoded).checkpoint._asdict() | {"note": encoded.decode()})
        return
    print_bytes(encoded)
