"""Choose the checkpoint of an export, and one that was published before it."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from api.service.ledger import LedgerService
from ledger import SignedCheckpoint
from ledger.errors import NotFound
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint


class ExportCheckpoint(NamedTuple):
    """The signed checkpoint of an export, the key that verifies it, and a checkpoint that was published before it."""

    signed: SignedCheckpoint
    verifier: str
    earlier: SignedCheckpoint | None = None


async def choose_checkpoint(ledger: LedgerService) -> ExportCheckpoint:
    """Return a new checkpoint of the whole log if this process may sign, otherwise the one that was signed last.

    `earlier` is the largest smaller checkpoint of the same log among the last published and the last witnessed one.

    Errors: NotFound, if nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    published = await asyncio.to_thread(read_checkpoint, checkpoint_path(ledger.path))
    head = (await ledger.reader.head()).position if ledger.log is not None else 0
    signed = await ledger.proving.checkpoint(head)
    candidates = [published] if published is not None else []
    with suppress(NotFound):
        candidates.append(await ledger.proving.witnessed())
    origin = signed.checkpoint.origin
    smaller = [note for note in candidates if note.checkpoint.origin == origin and note.size < signed.size]
    earlier = max(smaller, key=lambda note: note.size, default=None)
    return ExportCheckpoint(signed, str(await ledger.proving.verifier()), earlier)
