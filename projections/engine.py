"""The engine: folds all projections in one scan of the log, gives views as of a position, and replays.

A projection's state is a function of the events alone: live folding, a snapshot with the rest, and a scan from 1 must
give the same bytes when encoded.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from hashlib import sha256
from typing import TypeVar

from events.envelope import EventFacts
from events.registry import VOCABULARY, Vocabulary
from ledger.errors import InvalidQuery, LedgerUnavailable
from ledger.log import LogReader, Page, Query
from projections.projection import Projection
from projections.snapshots import Snapshot, Snapshots

SLICE_EVENTS = 2_000
"""Events folded before other work gets its turn: some 3 ms."""

SNAPSHOT_EVENTS_MIN = 50_000
"""Fold at least so many events, and a quarter of the log, between snapshots: who is killed in a long fold goes on."""

P = TypeVar("P", bound=Projection)
Progress = Callable[[int, int], None]
"""Told the position folded to, and the position aimed at."""


class Engine:
    """Live states of projections over one log, all at one position."""

    def __init__(
        self,
        log: LogReader,
        kinds: Sequence[type[Projection]],
        snapshots: Snapshots | None = None,
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self.position = 0
        self._log = log
        self._kinds = {kind.name: kind for kind in kinds}
        self._live = self._family()
        self._snapshots = snapshots if snapshots is not None else Snapshots(None)
        self._saved = 0
        self._vocabulary = vocabulary
        self._folding = asyncio.Lock()
        self._started = False

    @property
    def live(self) -> Mapping[str, Projection]:
        """The states as far as they are folded."""
        return self._live

    async def start(self, progress: Progress | None = None) -> None:
        """Bring the states up to date for the first time. Nobody need wait: who asks for a view before, waits."""
        await self.catch_up(progress)

    async def catch_up(self, progress: Progress | None = None) -> int:
        """Fold every committed event; return the position of the views."""
        async with self._folding:
            if not self._started:
                await self._take_up(progress)
            head = (await self._log.head()).position
            step = max(SNAPSHOT_EVENTS_MIN, head // 4)
            tell = None if progress is None else lambda done, _: progress(done, head)
            while self.position < head:
                upto = min(head, self.position + step)
                await self._fold(list(self._live.values()), self.position, upto, tell, live=True)
                if self.position - self._saved >= step:
                    await self._save()
            return self.position

    async def _take_up(self, progress: Progress | None) -> None:
        """Begin with the newest snapshots that fit.

        A projection that has no snapshot of its version is folded alone, beside the others, up to where they stand.
        """
        head = (await self._log.head()).position
        found = {name: await self._restore(kind, head) for name, kind in self._kinds.items()}
        newest = max((position for _, position in found.values()), default=0)
        for projection, position in found.values():
            await self._fold([projection], position, newest, progress)
        self._live = {name: projection for name, (projection, _) in found.items()}
        _join(self._live)
        self.position = newest
        self._saved = min((position for _, position in found.values()), default=0)
        self._started = True

    async def close(self) -> None:
        """Keep what was folded for the next start; where the log cannot be read any more, that folds it again."""
        try:
            async with self._folding:
                if self.position > self._saved:
                    with suppress(LedgerUnavailable):
                        await self._save()
        finally:
            await self._snapshots.close()

    async def at(self, kind: type[P], position: int | None = None) -> tuple[P, int]:
        """The state of a projection, live or as it stood behind a position, and that position.

        Take a view of a live state before anything else is awaited: folding goes on.
        Errors: InvalidQuery, for a position beyond the head.
        """
        head = await self.catch_up()
        if position is None or position == head:
            live = self._live[kind.name]
            assert isinstance(live, kind)
            return live, head
        if not 0 <= position <= head:
            side = "before the first event" if position < 0 else f"beyond the head, {head}"
            raise InvalidQuery("as_of", f"{position} is {side}.", "Name a position up to the head.")
        projection, start = await self._restore(self._kinds[kind.name], position)
        await self._fold([projection], start, position)
        assert isinstance(projection, kind)
        return projection, position

    async def replay(self, upto: int, progress: Progress | None = None) -> dict[str, Projection]:
        """Fresh states of all projections, folded from 1 up to a position."""
        fresh = self._family()
        await self._fold(list(fresh.values()), 0, upto, progress)
        return fresh

    async def _fold(
        self,
        projections: Sequence[Projection],
        after: int,
        upto: int,
        progress: Progress | None = None,
        *,
        live: bool = False,
    ) -> int:
        async with aclosing(self.facts(after, upto)) as slices:
            async for events in slices:
                present = {type(event.data) for event in events}
                try:
                    for projection in projections:
                        if not present.isdisjoint(projection.reads):
                            projection.fold(events)
                except BaseException:
                    if live:
                        self._start_over()
                    raise
                after = events[-1].position
                if live:
                    self.position = after
                if progress is not None:
                    progress(after, upto)
        return after

    def _start_over(self) -> None:
        """Leave live states of which some folded a slice and some did not; the next fold begins at 1."""
        self._live = self._family()
        self.position = self._saved = 0

    def _family(self) -> dict[str, Projection]:
        """Empty states of all projections."""
        family = {name: kind() for name, kind in self._kinds.items()}
        _join(family)
        return family

    async def facts(self, after: int, upto: int) -> AsyncGenerator[list[EventFacts], None]:
        """The events between two positions, slice by slice, the next one read while this one is folded."""
        reading: asyncio.Task[Page] | None = None
        try:
            while after < upto:
                if reading is None:
                    reading = self._read(after, upto)
                page = await reading
                begin, after = after, page.positions[-1]
                reading = self._read(after, upto) if after < upto else None
                await asyncio.sleep(0)
                events = self._vocabulary.facts(page.ndjson)
                assert events[0].position == begin + 1, (events[0].position, begin)
                assert events[-1].position == begin + len(events), "the log has a gap"
                yield events
        finally:
            if reading is not None:
                reading.cancel()

    async def streams(self, subjects: Sequence[str], upto: int) -> dict[str, list[EventFacts]]:
        """The events of some streams, up to a position, oldest first."""
        found: dict[str, list[EventFacts]] = {subject: [] for subject in subjects}
        after, more = 0, bool(found)
        while more:
            query = Query(subjects=tuple(found), after=after, before=upto + 1, limit=SLICE_EVENTS)
            page = await self._log.read(query)
            for event in self._vocabulary.facts(page.ndjson):
                found[event.subject].append(event)
            after, more = page.positions[-1] if page.positions else upto, page.more
        return found

    def _read(self, after: int, upto: int) -> "asyncio.Task[Page]":
        query = Query(after=after, before=upto + 1, limit=min(SLICE_EVENTS, upto - after))
        return asyncio.ensure_future(self._log.read(query))

    async def _restore(self, kind: type[Projection], upto: int) -> tuple[Projection, int]:
        """The newest usable snapshot of a projection at or before a position, or a fresh state."""
        snapshot = await self._snapshots.latest(kind.name, kind.version, upto)
        while snapshot is not None:
            if await self.anchor(snapshot.position) == snapshot.anchor:
                try:
                    return await asyncio.to_thread(kind.decode, snapshot.state), snapshot.position
                except Exception:  # noqa: BLE001 - whatever a damaged state raises, folding again is the answer
                    pass
            snapshot = await self._snapshots.latest(kind.name, kind.version, snapshot.position - 1)
        return kind(), 0

    async def anchor(self, position: int) -> bytes:
        """What tells the line at a position from every other: its SHA-256."""
        page = await self._log.read(Query(after=position - 1, before=position + 1, limit=1))
        return sha256(page.ndjson).digest()

    async def _save(self) -> None:
        if not self._snapshots.writable:
            return
        anchor = await self.anchor(self.position)
        await self._snapshots.save(
            Snapshot(name, projection.version, self.position, anchor, projection.encode())
            for name, projection in self._live.items()
        )
        self._saved = self.position


def _join(family: Mapping[str, Projection]) -> None:
    for projection in family.values():
        projection.join(list(family.values()))
