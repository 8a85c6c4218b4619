"""A ledger opened for reading, as the command line does it: beside a server or without one."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.operations import House
from api.printing import progress
from ledger.errors import LedgerLocked


@asynccontextmanager
async def reading(ledger: Path, *, views: bool = True) -> AsyncIterator[House]:
    """Open a ledger, folding what is new where `views` are asked, with progress. Errors: LedgerUnusable."""
    with progress("folding", "events") as report:
        house = await House.open(ledger, writable=False, progress=report, views=views)
    try:
        yield house
    finally:
        await house.close()


@asynccontextmanager
async def proving(ledger: Path) -> AsyncIterator[House]:
    """Open a ledger that is there to sign it, or, beside its writer, to read what that has signed.

    Errors: LedgerUnusable.
    """
    writable = ledger.is_file() and os.access(ledger, os.W_OK)
    try:
        house = await House.open(ledger, writable=writable, views=False)
    except LedgerLocked:
        house = await House.open(ledger, writable=False, views=False)
    try:
        yield house
    finally:
        await house.close()
