"""Choose the checkpoint of an export, and one that was published before it."""

from typing import NamedTuple

from api.service.ledger import LedgerService
from ledger.transparency.signed_note import SignedCheckpoint


class ExportCheckpoint(NamedTuple):
    """The signed checkpoint of an export, the key that verifies it, and checkpoints that were published before it.

    `witnessed` is the newest one that a witness has cosigned; it may be the same as `signed`.
    """

    signed: SignedCheckpoint
    verifier: str
    earlier: SignedCheckpoint | None = None
    witnessed: SignedCheckpoint | None = None


async def choose_checkpoint(ledger: LedgerService) -> ExportCheckpoint:
    """Return a new checkpoint of the whole log if this process may sign, otherwise the one that was signed last.

    `earlier` is the largest smaller checkpoint of the same log among the last published and the last witnessed one.

    Errors: NotFound, if nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    published = await ledger.proving.stored()
    head = (await ledger.reader.head()).position if ledger.log is not None else 0
    signed = await ledger.proving.checkpoint(head)
    witnessed = await ledger.proving.kept_witnessed()
    origin, size = signed.checkpoint.origin, signed.size
    if witnessed is not None and (witnessed.checkpoint.origin != origin or witnessed.size > size):
        witnessed = None
    candidates = [note for note in (published, witnessed) if note is not None and note.checkpoint.origin == origin]
    earlier = max((note for note in candidates if note.size < size), key=lambda note: note.size, default=None)
    return ExportCheckpoint(signed, str(await ledger.proving.verifier()), earlier, witnessed)
