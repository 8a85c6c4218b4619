"""The engine folds all projections in one scan of the log, and returns the state of each at any position.

A projection's state is a function of the events alone. So live folding, a snapshot plus the events after it, and a scan
from position 1 must give the same bytes when encoded. `replay` returns the state of such a scan, for comparison.

If a line cannot be decoded or folded, the whole log is examined once. The lines that no append could have written are
left out of every state, the log says so, and no snapshot is saved.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar

from events.envelope import EventFacts
from events.errors import TallystickError
from events.registry import VOCABULARY, Vocabulary
from ledger.errors import InvalidQuery, LedgerUnavailable
from ledger.log import LogReader, Page, Query
from ledger.transparency.tree import LogTree
from projections.faulty_lines import FaultyLines
from projections.projection import Projection
from projections.snapshots import Snapshot, Snapshots

log = logging.getLogger("tallystick.views")

SLICE_EVENTS = 2_000
"""Events folded before the event loop gets a turn: about 3 ms."""

SNAPSHOTS_PER_LOG_MAX = 4
SNAPSHOT_EVENTS_MIN = 50_000
"""The least number of events between snapshots, or a quarter of the log if that is more.

A fold that was killed resumes from the newest snapshot.
"""

P = TypeVar("P", bound=Projection)
T = TypeVar("T")
Progress = Callable[[int, int], None]
"""A callback that receives the position folded so far and the target position."""


class Engine:
    """The live states of projections over one log, all at the same position."""

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
        self._live = self._empty_states()
        self._snapshots = snapshots if snapshots is not None else Snapshots(None)
        self._saved = 0
        self._vocabulary = vocabulary
        self._folding = asyncio.Lock()
        self._started = False
        self._faulty = FaultyLines(vocabulary)
        self._root: tuple[int, bytes] = (0, b"")

    @property
    def left_out(self) -> Mapping[int, str]:
        """The positions whose lines no view could use, each with the reason."""
        return self._faulty.positions

    @property
    def live(self) -> Mapping[str, Projection]:
        """The live states by name, folded up to `position`."""
        return self._live

    async def start(self, progress: Progress | None = None) -> None:
        """Fold up to the head for the first time. The caller need not wait for the end, because `at` does."""
        await self.catch_up(progress)

    async def catch_up(self, progress: Progress | None = None) -> int:
        """Fold every committed event; return the position of the states."""
        async with self._folding:
            try:
                return await self._catch_up(progress)
            except TallystickError:
                raise
            except Exception:
                if not await self._examine():
                    raise
                return await self._catch_up(progress)

    async def _catch_up(self, progress: Progress | None) -> int:
        if not self._started:
            await self._restore_all(progress)
        head = (await self._log.head()).position
        step = max(SNAPSHOT_EVENTS_MIN, head // SNAPSHOTS_PER_LOG_MAX)
        report = None if progress is None else lambda position, _: progress(position, head)
        while self.position < head:
            upto = min(head, self.position + step)
            await self._fold(list(self._live.values()), self.position, upto, report, live=True)
            if self.position - self._saved >= step:
                await self._save()
        return self.position

    async def _examine(self) -> bool:
        """Examine every line that was not examined yet; return whether more lines must be left out.

        The live states are then dropped, so that the next fold begins at position 1. The caller holds `_folding`.
        """
        head = (await self._log.head()).position
        before = len(self.left_out)
        while self._faulty.examined < head:
            self._faulty.examine(await self._read(self._faulty.examined, head))
            await asyncio.sleep(0)
        count = len(self.left_out)
        if count == before:
            return False
        first, reason = min(self.left_out.items())
        log.warning(
            "%s left out of every view, the first at position %s: %s Run tallystick verify: the ledger was altered.",
            "1 event was" if count == 1 else f"{count} events were",
            first,
            reason,
        )
        self._reset()
        return True

    async def _without_faulty(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a fold. If it fails because of faulty lines, repeat it without them."""
        try:
            return await work()
        except TallystickError:
            raise
        except Exception:
            async with self._folding:
                found = await self._examine()
            if not found:
                raise
            return await work()

    async def _restore_all(self, progress: Progress | None) -> None:
        """Restore the newest usable snapshots.

        A projection whose snapshot is older or missing is first folded alone, up to the newest position.
        """
        head = (await self._log.head()).position
        restored = {name: await self._restore(kind, head) for name, kind in self._kinds.items()}
        newest = max((position for _, position in restored.values()), default=0)
        for projection, position in restored.values():
            await self._fold([projection], position, newest, progress)
        self._live = {name: projection for name, (projection, _) in restored.items()}
        _share(self._live)
        self.position = newest
        self._saved = min((position for _, position in restored.values()), default=0)
        self._started = True

    async def close(self) -> None:
        """Save snapshots for the next start, and close their file. An unreadable log is ignored here."""
        try:
            async with self._folding:
                if self.position > self._saved:
                    with suppress(LedgerUnavailable):
                        await self._save()
        finally:
            await self._snapshots.close()

    async def at(self, kind: type[P], position: int | None = None) -> tuple[P, int]:
        """Return the live state of a projection, or its state as of a position; and the position of that state.

        Compute views of a live state before the next `await`, because the engine keeps folding into it.
        Errors: InvalidQuery, for a position below 0 or beyond the head.
        """
        head = await self.catch_up()
        if position is None or position == head:
            live = self._live[kind.name]
            assert isinstance(live, kind)
            return live, head
        if not 0 <= position <= head:
            side = "before the first event" if position < 0 else f"beyond the head, {head}"
            raise InvalidQuery("as_of", f"{position} is {side}.", "Name a position up to the head.")
        projection = await self._without_faulty(lambda: self._state_at(self._kinds[kind.name], position))
        assert isinstance(projection, kind)
        return projection, position

    async def _state_at(self, kind: type[Projection], position: int) -> Projection:
        projection, start = await self._restore(kind, position)
        await self._fold([projection], start, position)
        return projection

    async def replay(self, upto: int, progress: Progress | None = None) -> dict[str, Projection]:
        """Return new states of all projections, folded from position 1 up to a position."""

        async def fold() -> dict[str, Projection]:
            fresh = self._empty_states()
            await self._fold(list(fresh.values()), 0, upto, progress)
            return fresh

        return await self._without_faulty(fold)

    async def _fold(
        self,
        projections: Sequence[Projection],
        after: int,
        upto: int,
        progress: Progress | None = None,
        *,
        live: bool = False,
    ) -> None:
        async with aclosing(self.read_slices(after, upto)) as slices:
            async for events in slices:
                present = {type(event.data) for event in events}
                try:
                    for projection in projections:
                        if not present.isdisjoint(projection.reads):
                            projection.fold(events)
                except BaseException:
                    if live:
                        self._reset()
                    raise
                after = events[-1].position
                if live:
                    self.position = after
                if progress is not None:
                    progress(after, upto)
        if live:
            self.position = upto

    def _reset(self) -> None:
        """Drop the live states, because only some of them folded the last slice. The next fold begins at position 1."""
        self._live = self._empty_states()
        self.position = self._saved = 0

    def _empty_states(self) -> dict[str, Projection]:
        states = {name: kind() for name, kind in self._kinds.items()}
        _share(states)
        return states

    async def read_slices(self, after: int, upto: int) -> AsyncGenerator[list[EventFacts], None]:
        """Yield the events after a position and up to another, in slices. Read the next slice in the background.

        Errors: DECODE_ERRORS, FaultySlice, for faulty lines that are not left out yet.
        """
        reading: asyncio.Task[Page] | None = None
        try:
            while after < upto:
                if reading is None:
                    reading = self._read(after, upto)
                page = await reading
                begin, after = after, page.positions[-1]
                reading = self._read(after, upto) if after < upto else None
                await asyncio.sleep(0)
                if self.left_out:
                    if usable := list(self._faulty.usable(page)):
                        yield usable
                    continue
                events = self._vocabulary.facts(page.ndjson)
                if (events[0].position, events[-1].position) != (begin + 1, begin + len(events)):
                    raise FaultySlice(f"the lines after position {begin} state other positions")
                yield events
        finally:
            if reading is not None:
                reading.cancel()

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

    def usable_events(self, page: Page) -> Iterable[EventFacts]:
        """Return the events of a page, without those that are left out."""
        return self._faulty.usable(page) if self.left_out else self._vocabulary.facts(page.ndjson)

    def _read(self, after: int, upto: int) -> "asyncio.Task[Page]":
        query = Query(after=after, before=upto + 1, limit=min(SLICE_EVENTS, upto - after))
        return asyncio.ensure_future(self._log.read(query))

    async def _restore(self, kind: type[Projection], upto: int) -> tuple[Projection, int]:
        """Return the newest usable snapshot of a projection at or before a position, and its position.

        Without one, return an empty state and 0. A state that was folded before faulty lines were found is not usable.
        """
        upto = min([upto + 1, *self.left_out]) - 1
        snapshot = await self._snapshots.latest(kind.name, kind.version, upto)
        while snapshot is not None:
            if await self.root(snapshot.position) == snapshot.root:
                try:
                    return await asyncio.to_thread(kind.decode, snapshot.state), snapshot.position
                except Exception:  # noqa: BLE001 - a damaged state may raise anything; an older snapshot is tried
                    pass
            snapshot = await self._snapshots.latest(kind.name, kind.version, snapshot.position - 1)
        return kind(), 0

    async def head(self) -> int:
        """Return the newest committed position."""
        return (await self._log.head()).position

    async def root(self, position: int) -> bytes:
        """Return the root of the log's tree up to a position; nothing if the stored tiles are damaged."""
        if self._root[0] != position:
            with suppress(AssertionError, ValueError, IndexError):
                self._root = position, await LogTree(self._log).root(position)
        return self._root[1] if self._root[0] == position else b""

    async def _save(self) -> None:
        if not self._snapshots.writable or self.left_out or not (root := await self.root(self.position)):
            return
        await self._snapshots.save(
            Snapshot(name, projection.version, self.position, root, projection.encode())
            for name, projection in self._live.items()
        )
        self._saved = self.position


class FaultySlice(Exception):
    """Lines of the log state other positions than their own."""


def _share(states: Mapping[str, Projection]) -> None:
    for projection in states.values():
        projection.share_with(list(states.values()))
