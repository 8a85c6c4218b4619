"""Reads the events of the log for the engine, in slices and by stream, without the lines that must be left out.

If a line cannot be decoded or folded, the whole log is examined once. The lines that no append could have written are
left out of every state from then on, and the log says so.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence

from events.envelope import EventFacts
from events.payload import Payload
from events.vocabulary import Vocabulary
from ledger.log import LogPage, LogReader, Query
from projections.event_slice import POSITIONED_KIND, EventSlice
from projections.faulty_lines import FaultyLines

log = logging.getLogger("tallystick.views")

SLICE_EVENTS = 2_000
"""Events folded before the event loop gets a turn: about 3 ms."""

TURNS = 2
"""Turns that the event loop gets before a slice is folded, so that the next read is under way: on PostgreSQL its
statement is sent in the second turn, by a task of its own. With one turn the database waited for the fold."""

FEW_EVENTS_MAX = 20_000
"""Up to so many events of some types are read alone: SQLite finds them by their types, and sorts them."""


class FaultySlice(Exception):
    """Lines of the log state other positions than their own."""


class SliceReader:
    """The events of one log."""

    def __init__(self, log: LogReader, vocabulary: Vocabulary) -> None:
        self._log = log
        self._vocabulary = vocabulary
        self.faulty = FaultyLines(vocabulary)

    async def examine(self) -> bool:
        """Examine every line that was not examined yet; return whether more lines must be left out."""
        head = (await self._log.head()).position
        before = (self.faulty.columns_differ, len(self.faulty.positions))
        while self.faulty.examined < head:
            self.faulty.examine(await self._read(self.faulty.examined, head))
            await asyncio.sleep(0)
        if (self.faulty.columns_differ, len(self.faulty.positions)) == before:
            return False
        log.warning("%s Run tallystick verify: the ledger was altered.", self.faulty)
        return True

    async def read_slices(
        self, after: int, upto: int, payloads: Sequence[type[Payload]] = ()
    ) -> AsyncGenerator[EventSlice, None]:
        """Yield the events after a position and up to another, in slices. Read the next slice in the background.

        With `payloads`, only events that are read as these need be among them.
        Errors: DECODE_ERRORS, FaultySlice, for faulty lines that are not left out yet.
        """
        types = await self._few_types(after, upto, payloads) if payloads else ()
        reading: asyncio.Task[LogPage] | None = None
        try:
            while after < upto:
                if reading is None:
                    reading = self._read(after, upto, types)
                page = await reading
                if not page.positions:
                    return
                after = page.positions[-1]
                reading = self._read(after, upto, types) if after < upto and page.more else None
                for _ in range(TURNS):
                    await asyncio.sleep(0)
                if self.faulty.found:
                    if usable := self.faulty.usable_slice(page):
                        yield usable
                else:
                    yield self._decode(page)
                if reading is None:
                    return
        finally:
            if reading is not None:
                reading.cancel()

    async def _few_types(self, after: int, upto: int, payloads: Sequence[type[Payload]]) -> tuple[str, ...]:
        """Return the names of the types of payloads if the log has few of their events there; else none."""
        if self.faulty.found:
            return ()  # the positions of streams are only known from all lines
        types = self._vocabulary.names_of(*payloads)
        counts = await self._log.counts(Query(after=after, before=upto + 1))
        return types if sum(counts.get(name, 0) for name in types) <= FEW_EVENTS_MAX else ()

    def _decode(self, page: LogPage) -> EventSlice:
        """Return the events of a page. Errors: DECODE_ERRORS, FaultySlice."""
        events = self._vocabulary.facts(page.ndjson)
        stated = page.positions
        if (events[0].position, events[-1].position, len(events)) != (stated[0], stated[-1], len(stated)):
            raise FaultySlice(f"the lines from position {page.positions[0]} on state other positions")
        return EventSlice(events, page.firsts)

    async def read_streams(self, subjects: Sequence[str], upto: int) -> dict[str, list[EventFacts]]:
        """Return the events of each stream up to a position, oldest first."""
        streams: dict[str, list[EventFacts]] = {subject: [] for subject in subjects}
        after, more = 0, bool(streams)
        while more:
            query = Query(subjects=tuple(streams), after=after, before=upto + 1, limit=SLICE_EVENTS)
            page = await self._log.read(query)
            for event in self.usable_events(page):
                if event.subject in streams:
                    streams[event.subject].append(event)
            after, more = page.positions[-1] if page.positions else upto, page.more
        return streams

    def usable_events(self, page: LogPage) -> Iterable[EventFacts]:
        """Return the events of a page, without those that are left out."""
        return self.faulty.usable(page) if self.faulty.found else self._vocabulary.facts(page.ndjson)

    def _read(self, after: int, upto: int, types: tuple[str, ...] = ()) -> "asyncio.Task[LogPage]":
        limit = min(SLICE_EVENTS, upto - after)
        query = Query(after=after, before=upto + 1, limit=limit, types=types, firsts=POSITIONED_KIND)
        return asyncio.ensure_future(self._log.read(query))
