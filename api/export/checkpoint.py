"""Which checkpoint an export hangs on: the newest, signed anew where this process may, and one that was before it."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from api.service.ledger import LedgerService
from ledger import SignedCheckpoint
from ledger.errors import NotFound
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint


class ExportCheckpoint(NamedTuple):
    """The signed checkpoint that an export hangs on, who signed it, and one that was published before it."""

    signed: SignedCheckpoint
    verifier: str
    earlier: SignedCheckpoint | None = None


async def anchored(ledger: LedgerService) -> ExportCheckpoint:
    """The anchor of a house: of all that is in the log where the house writes, else of what was signed last.

    Errors: NotFound, where nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    before = await asyncio.to_thread(read_checkpoint, checkpoint_path(ledger.path))
    head = (await ledger.reader.head()).position if ledger.log is not None else 0
    signed = await ledger.proving.checkpoint(head)
    older = [before] if before is not None else []
    with suppress(NotFound):
        older.append(await ledger.proving.witnessed())
    origin = signed.checkpoint.origin
    known = [one for one in older if one.checkpoint.origin == origin and one.size < signed.size]
    return ExportCheckpoint(
        signed, str(await ledger.proving.verifier()), max(known, key=lambda one: one.size, default=None)
    )
