"""A ledger opened for reading, as the command line does it: beside a server or without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.operations import House
from api.printing import progress


@asynccontextmanager
async def reading(ledger: Path, *, views: bool = True) -> AsyncIterator[House]:
    """Open a ledger, folding what is new where `views` are asked, with progress. Errors: LedgerUnusable."""
    with progress("folding", "events") as report:
        house = await House.open(ledger, writable=False, progress=report, views=views)
    try:
        yield house
    finally:
        await house.close()
