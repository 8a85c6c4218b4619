"""Choose the checkpoint of an export: a new one if this process may sign, else the newest; and an earlier one."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from api.service.ledger import LedgerService
from ledger import SignedCheckpoint
from ledger.errors import NotFound
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint


class ExportCheckpoint(NamedTuple):
    """The signed checkpoint of an export, the key that verifies it, and one that was published before it."""

    signed: SignedCheckpoint
    verifier: str
    earlier: SignedCheckpoint | None = None


async def choose_checkpoint(ledger: LedgerService) -> ExportCheckpoint:
    """Return the checkpoint of the whole log if this process writes it, else the one that was signed last.

    Errors: NotFound, if nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
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
