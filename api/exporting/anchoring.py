"""Which checkpoint an export hangs on: the newest, signed anew where this process may, and one that was before it."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from api.operations import House
from ledger import Signed
from ledger.errors import NotFound
from ledger.signing import checkpoint_path, read_signed


class Anchor(NamedTuple):
    """The signed checkpoint that an export hangs on, who signed it, and one that was published before it."""

    signed: Signed
    verifier: str
    earlier: Signed | None = None


async def anchored(house: House) -> Anchor:
    """The anchor of a house: of all that is in the log where the house writes, else of what was signed last.

    Errors: NotFound, where nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    before = await asyncio.to_thread(read_signed, checkpoint_path(house.path))
    head = (await house.reader.head()).position if house.log is not None else 0
    signed = await house.proving.checkpoint(head)
    older = [before] if before is not None else []
    with suppress(NotFound):
        older.append(await house.proving.witnessed())
    origin = signed.checkpoint.origin
    known = [one for one in older if one.checkpoint.origin == origin and one.size < signed.size]
    return Anchor(signed, str(await house.proving.verifier()), max(known, key=lambda one: one.size, default=None))
