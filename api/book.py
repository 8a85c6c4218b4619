"""The house as what runs are written in: with who speaks."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from api.access import Speaker
from api.custody import Blob
from api.ingest import Appended, appended
from api.operations import House
from events.envelope import Draft
from events.limits import PAGE_EVENTS_MAX
from ledger import Query


class Spoken:
    """A house that one agent writes in."""

    def __init__(self, house: House, speaker: Speaker) -> None:
        self.house = house
        self.speaker = speaker

    async def append(self, drafts: list[Draft]) -> Appended:
        """Append a batch. Errors: those of `House.record`."""
        return appended(await self.house.record(drafts, self.speaker))

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        """Hold bytes for a batch; within, the drafts to append with it. Errors: those of `Custody.keep`."""
        return self.house.evidence.keep(blobs)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        """The stored events of some streams, of some types. Errors: those of `House.read`."""
        query = Query(subjects=tuple(subjects), types=tuple(types), limit=PAGE_EVENTS_MAX)
        return b"\n".join([page.ndjson async for page in self.house.scan(query)])
