"""An export, ready to be written: its selection checked, its checkpoint chosen, and connections of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.exporting.anchoring import anchored
from api.exporting.export import Export
from api.exporting.selection import Selection
from api.operations import House
from ledger import SqliteReader


@asynccontextmanager
async def opened(house: House, selection: Selection) -> AsyncIterator[Export]:
    """An export of a house. It reads through connections of its own: nobody else waits for it.

    One reads, and one counts meanwhile: it would be a tenth of all the time.

    Errors: NotFound, where nothing is signed, or a stream or an agent is unknown; and those of signing.
    """
    async with _reading(house) as reader, _reading(house) as counter:
        await selection.check(reader)
        yield Export(reader, counter, house.evidence, selection, await anchored(house), house.clock())


@asynccontextmanager
async def _reading(house: House) -> AsyncIterator[SqliteReader]:
    reader = await SqliteReader.open(house.path)
    try:
        yield reader
    finally:
        await reader.close()
