"""An export, ready to be written: its selection checked, its checkpoint chosen, and a connection of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.exporting.anchoring import anchored
from api.exporting.export import Export
from api.exporting.selection import Selection
from api.operations import House
from ledger import SqliteReader


@asynccontextmanager
async def opened(house: House, selection: Selection) -> AsyncIterator[Export]:
    """An export of a house. It reads through a connection of its own: nobody else waits for it.

    Errors: NotFound, where nothing is signed, or a stream or an agent is unknown; and those of signing.
    """
    reader = await SqliteReader.open(house.path)
    try:
        await selection.check(reader)
        yield Export(reader, house.evidence, selection, await anchored(house), house.clock())
    finally:
        await reader.close()
