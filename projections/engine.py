"""The engine folds all projections in one scan of the log, and returns the state of each at any position.

A projection's state is a function of the events alone. So live folding, a snapshot plus the events after it, and a scan
from position 1 must give the same bytes when encoded. `replay` returns the state of such a scan, for comparison.

In a server `follow` folds events as they are committed, so that a request waits only for those of the last moment. A
snapshot is written on a thread, from tables that are frozen, while folding goes on.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from itertools import islice
from typing import NamedTuple, TypeVar

from events.errors import TallystickError
from events.payload import Payload
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary
from ledger.errors import InvalidQuery, LedgerUnavailable, ViewDamaged
from ledger.log import LogReader
from projections.faulty_lines import FaultyLines
from projections.projection import Projection
from projections.slice_reader import SLICE_EVENTS, SliceReader
from projections.snapshots import Snapshots
from projections.state_store import StateStore

SNAPSHOTS_PER_LOG_MAX = 16
SNAPSHOT_EVENTS_MIN = 50_000
"""The least number of events between snapshots, or a sixteenth of the log; a killed fold resumes from the newest."""

FOLLOW_PAUSE_S = 0.02
"""Seconds between two folds of `follow`: the events of so long are folded together, which costs less."""

RETRY_PAUSE_S = 1.0
"""Seconds after which `follow` tries again to read a log that could not be read."""

log = logging.getLogger("tallystick.views")

P = TypeVar("P", bound=Projection)
T = TypeVar("T")
Progress = Callable[[int, int], None]
"""A callback that receives the position folded so far and the target position."""

STATES_MAX = 2
"""States that are kept: those that were asked for last. One of a million decisions has up to 40 MB."""

_required: ContextVar[int | None] = ContextVar("_required", default=None)


class StreamNames:
    """Looks up names by positions, and positions by names, many at once.

    If some lines are left out of the views, a stream begins with its first event that is not.
    """

    def __init__(self, log: LogReader, faulty: FaultyLines) -> None:
        self._log = log
        self._faulty = faulty

    async def subjects(self, positions: Sequence[int]) -> list[str]:
        """Return the streams of the events at some positions, in their order. Errors: LedgerUnavailable."""
        return await self._log.subjects(positions) if positions else []

    async def grouped(self, groups: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the streams of the events of several groups of positions. Errors: LedgerUnavailable."""
        subjects = iter(await self.subjects([position for group in groups for position in group]))
        return [list(islice(subjects, len(group))) for group in groups]

    async def first_positions(self, subjects: Sequence[str], upto: int) -> dict[str, int]:
        """Return the first position of each of some streams, without those that did not exist as of a position.

        Errors: LedgerUnavailable.
        """
        if self._faulty.found:
            found = {subject: self._faulty.firsts.get(subject, upto + 1) for subject in subjects}
        else:
            found = await self._log.first_positions(subjects) if subjects else {}
        return {subject: position for subject, position in found.items() if position <= upto}

    async def starting_with(self, beginning: str, upto: int, limit: int = 2) -> list[str]:
        """Return up to `limit` streams that existed as of a position and whose names start with a text.

        Errors: LedgerUnavailable.
        """
        if self._faulty.found:
            firsts = self._faulty.firsts.items()
            return list(islice((name for name, first in firsts if first <= upto and name.startswith(beginning)), limit))
        return await self._log.streams_starting_with(beginning, upto, limit)


class _Edition(NamedTuple):
    """What a state was folded from: how often snapshots were saved before, and how often all states were dropped."""

    saves: int
    drops: int


class PastStates:
    """States as of earlier positions, which no later event changes.

    A state reads its tables from a snapshot when they are first asked for, and a save deletes older snapshots. So a
    state is only found while there are the snapshots that it was folded from.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._drops = 0
        self._states: dict[tuple[str, int], tuple[_Edition, Projection]] = {}

    async def find(
        self,
        kind: type[Projection],
        position: int,
        fold: Callable[[type[Projection], int], Awaitable[Projection]],
    ) -> Projection:
        """Return the state of a projection as of a position, folded if it is not kept. Errors: those of `fold`."""
        edition = self._edition()
        kept = self._states.pop((kind.name, position), None)
        state = kept[1] if kept is not None and kept[0] == edition else await fold(kind, position)
        # saved or dropped meanwhile: the chunks that the state reads later may be deleted by now
        if edition is not None and edition == self._edition():
            self._states[kind.name, position] = edition, state
            for oldest in list(self._states)[:-STATES_MAX]:
                del self._states[oldest]
        return state

    def drop(self) -> None:
        """Forget all states, also those that are being folded: other events are left out, or a snapshot is damaged."""
        self._drops += 1
        self._states.clear()

    def _edition(self) -> _Edition | None:
        """Return what a state would be folded from now; None while snapshots are saved."""
        return None if self._store.saving else _Edition(self._store.saves, self._drops)


class FoldLag:
    """The time since every committed event was folded: none while the engine waits for the next event."""

    def __init__(self) -> None:
        self._current_s = time.monotonic()
        self._waits_at: int | None = None

    def seconds(self, position: int) -> float:
        """Return the time in seconds, for an engine at a position that is not the newest."""
        return 0.0 if position == self._waits_at else time.monotonic() - self._current_s

    def note_folded(self, before_s: float) -> None:
        """Note that every event committed before a moment, by the monotonic clock, is folded."""
        self._current_s = before_s

    def begin_wait(self, position: int) -> None:
        """Note that the engine waits at a position, which is the newest."""
        self._waits_at = position

    def end_wait(self, position: int) -> None:
        """Note that there may be a newer event. Until now every event was folded, if the engine is where it waited."""
        if position == self._waits_at:
            self._current_s = time.monotonic()
        self._waits_at = None


class Engine:
    """The live states of projections over one log, all at the same position.

    Kinds that are added later, or that a caller asks `at` for, are restored and folded by the next call that catches
    up. So a process that answers one question begins without any, and folds only what the answer needs.
    """

    def __init__(
        self,
        log: LogReader,
        kinds: Sequence[type[Projection]],
        snapshots: Snapshots | None = None,
        vocabulary: Vocabulary = VOCABULARY,
        progress: Progress | None = None,
    ) -> None:
        self.position = 0
        self.events = SliceReader(log, vocabulary)
        self.names = StreamNames(log, self.events.faulty)
        self._log = log
        self._kinds = {kind.name: kind for kind in kinds}
        self._live: dict[str, Projection] = {}
        self._beside: dict[str, asyncio.Task[None]] = {}
        """The folds of projections that are not live yet, by name."""
        self._folds_beside = False
        self._snapshots = snapshots if snapshots is not None else Snapshots(None)
        self._saved = 0
        self._store = StateStore(log, self._snapshots)
        self._past = PastStates(self._store)
        self._progress = progress
        self._folding = asyncio.Lock()
        self._lag = FoldLag()

    @property
    def left_out(self) -> Mapping[int, str]:
        """The positions whose lines no view could use, each with the reason."""
        return self.events.faulty.positions

    @property
    def live(self) -> Mapping[str, Projection]:
        """The live states by name, folded up to `position`."""
        return self._live

    def lag_s(self, head: int) -> float:
        """Return at most how many seconds ago the oldest event up to `head` that is not folded was committed, or 0."""
        return self._lag.seconds(self.position) if head > self.position else 0.0

    def add(self, kinds: Iterable[type[Projection]]) -> None:
        """Keep live states of these projections too, from the next call that catches up. Known ones stay as they are.

        A caller that reads several live states of one position names them together: they are folded in one scan.
        """
        for kind in kinds:
            self._kinds.setdefault(kind.name, kind)

    async def start(self, progress: Progress | None = None, *, beside: bool = False) -> None:
        """Fold up to the head for the first time. The caller need not wait for the end, because `at` does.

        With `beside`, a projection without a new snapshot is folded beside the others, which answer meanwhile.
        """
        self._folds_beside = beside
        await self.catch_up(progress, list(self._kinds.values()))

    async def follow(self) -> None:
        """Fold events as they are committed, until it is cancelled."""
        while True:
            try:
                await self.catch_up()
            except Exception:
                log.exception("folding failed; it is tried again")
                await asyncio.sleep(RETRY_PAUSE_S)
            await asyncio.sleep(FOLLOW_PAUSE_S)
            await self._wait_for_events()

    async def _wait_for_events(self) -> None:
        """Wait until there may be events to fold."""
        with suppress(LedgerUnavailable):
            if (await self._log.head()).position == self.position:
                self._lag.begin_wait(self.position)
        try:
            await self._log.wait_for_events(self.position)
        finally:
            self._lag.end_wait(self.position)

    async def catch_up(self, progress: Progress | None = None, kinds: Sequence[type[Projection]] = ()) -> int:
        """Fold every committed event, and wait until some projections are live; return the position of the states."""
        self.add(kinds)
        while True:
            await self._fold_committed(progress)
            beside = [self._beside[kind.name] for kind in kinds if kind.name in self._beside]
            if not beside:
                return self.position
            # not awaited directly: a caller that leaves would cancel folds for which others wait
            await asyncio.wait(beside)
            for error in [task.exception() for task in beside if not task.cancelled()]:
                if error is not None:
                    raise error

    async def _fold_committed(self, progress: Progress | None) -> None:
        head = (await self._log.head()).position
        if head == self.position:
            self._lag.note_folded(time.monotonic())
        wanted = required_position() or head
        if self._is_complete() and wanted <= self.position:
            return
        async with self._folding:
            if self._is_complete() and wanted <= self.position:
                return
            try:
                await self._fold_to_head(progress)
            except ViewDamaged:
                # this time the snapshots are known to be damaged, and are discarded first
                await self._fold_to_head(progress)
            except TallystickError:
                raise
            except Exception:
                # a line that cannot be used, or a fault of ours: only the former is left out
                if not await self._examine():
                    raise
                await self._fold_to_head(progress)

    def _is_complete(self) -> bool:
        """Return whether every projection is live or folded beside, from undamaged snapshots."""
        return not self._snapshots.damaged and self._kinds.keys() == self._live.keys() | self._beside.keys()

    async def _fold_to_head(self, progress: Progress | None) -> None:
        progress = progress or self._progress
        if self._snapshots.damaged:
            self._drop()
            await self._snapshots.discard()
        if not self._is_complete():
            await self._restore_missing(progress)
        # before the head is read: an event that is committed just after it is not folded
        asked_s = time.monotonic()
        head = (await self._log.head()).position
        step = max(SNAPSHOT_EVENTS_MIN, head // SNAPSHOTS_PER_LOG_MAX)
        report = None if progress is None else lambda position, _: progress(position, head)
        # every projection is folded beside, and joins when it has caught up
        if not self._live:
            self.position = self._saved = head
        while self.position < head:
            upto = min(head, self.position + step)
            await self._fold(list(self._live.values()), self.position, upto, report, live=True)
            if self.position - self._saved >= step:
                await self._save()
        self._lag.note_folded(asked_s)

    async def _examine(self) -> bool:
        """Examine the lines of the log; return whether more lines must be left out.

        The live states are then dropped, so that the next fold begins at position 1. The caller holds `_folding`.
        """
        found = await self.events.examine()
        if found:
            self._drop()
        return found

    async def _without_faulty(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a fold. If it fails because of faulty lines or chunks, repeat it without them."""
        try:
            return await work()
        except ViewDamaged:
            await self.catch_up()
            return await work()
        except TallystickError:
            raise
        except Exception:
            async with self._folding:
                found = await self._examine()
            if not found:
                raise
            return await work()

    async def _restore_missing(self, progress: Progress | None) -> None:
        """Restore the newest usable snapshots of the projections that are not live.

        A projection whose snapshot is older or missing is first folded alone, up to the newest position.
        """
        head = self.position if self._live else (await self._log.head()).position
        restored: dict[int, list[Projection]] = {}
        for name, kind in self._kinds.items():
            if name not in self._live and name not in self._beside:
                projection, position = await self._restore(kind, head)
                restored.setdefault(position, []).append(projection)
        self.position = newest = self.position if self._live else max(restored, default=0)
        for position, states in restored.items():
            _share(states)
            if self._folds_beside and newest - position > SNAPSHOT_EVENTS_MIN:
                task = asyncio.create_task(self._fold_beside(states, position))
                self._beside.update((state.name, task) for state in states)
            else:
                await self._fold(states, position, newest, progress)
                # the snapshot of these states is the older one: another is due as early as if all were as old
                self._saved = min(self._saved, position) if self._live else position
                self._join(states)

    async def _fold_beside(self, states: Sequence[Projection], after: int) -> None:
        """Fold states that have no newer snapshot, while the others answer, and make them live."""
        try:
            # without the lock until little is left, so that the others answer and fold meanwhile
            while self.position - after > SLICE_EVENTS:
                upto = self.position
                await self._fold(states, after, upto)
                after = upto
            async with self._folding:
                await self._fold(states, after, self.position)
                self._join(states)
                self._saved = 0
        except TallystickError:
            raise
        except Exception:
            async with self._folding:
                if not await self._examine():
                    raise
        finally:
            mine = asyncio.current_task()
            self._beside = {name: task for name, task in self._beside.items() if task is not mine}

    def _join(self, states: Sequence[Projection]) -> None:
        """Make states live that are at the position of the others."""
        live = self._live | {state.name: state for state in states}
        self._live = {name: live[name] for name in self._kinds if name in live}
        _share(list(self._live.values()))

    async def close(self) -> None:
        """Save snapshots for the next start, and close their file. An unreadable log is ignored here."""
        for task in set(self._beside.values()):
            task.cancel()
        try:
            async with self._folding:
                with suppress(LedgerUnavailable):
                    await self._store.finish()
                    if self.position > self._saved:
                        await self._save()
                        await self._store.finish()
        finally:
            await self._snapshots.close()

    async def at(
        self, kind: type[P], position: int | None = None, *, also: Sequence[type[Projection]] = ()
    ) -> tuple[P, int]:
        """Return the live state of a projection, or its state as of a position; and the position of that state.

        The projections in `also` are live at the same position. Compute views of a live state before the next `await`,
        because the engine keeps folding into it.
        Errors: InvalidQuery, for a position below 0 or beyond the head.
        """
        head = await self.catch_up(kinds=[kind, *also] if position is None else ())
        live = self._live.get(kind.name)
        if position is None or (position == head and live is not None):
            assert isinstance(live, kind)
            return live, head
        if not 0 <= position <= head:
            side = "before the first event" if position < 0 else f"beyond the head, {head}"
            raise InvalidQuery("as_of", f"{position} is {side}.", "Name a position up to the head.")
        projection = await self._without_faulty(lambda: self._past.find(kind, position, self._state_at))
        assert isinstance(projection, kind)
        return projection, position

    async def newest(self, kind: type[P], upto: int) -> tuple[P, int]:
        """Return a state at or before a position, and its position, without folding: live, saved, or empty at 0."""
        if kind.name in self._live and self.position <= upto and not self.events.faulty.found:
            return self._live[kind.name], self.position  # type: ignore[return-value]
        return await self._restore(kind, upto)

    async def _state_at(self, kind: type[Projection], position: int) -> Projection:
        projection, start = await self._restore(self._kinds.get(kind.name, kind), position)
        await self._fold([projection], start, position, reads=projection.reads)
        return projection

    async def replay(self, upto: int, progress: Progress | None = None) -> dict[str, Projection]:
        """Return new states of all projections, folded from position 1 up to a position."""

        async def fold() -> dict[str, Projection]:
            fresh = {name: kind() for name, kind in self._kinds.items()}
            _share(list(fresh.values()))
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
        reads: Sequence[type[Payload]] = (),
    ) -> None:
        async with aclosing(self.events.read_slices(after, upto, reads)) as slices:
            async for events in slices:
                present = {kind.payload for kind in events.kinds}
                try:
                    for projection in projections:
                        if not present.isdisjoint(projection.reads):
                            projection.fold(events)
                except BaseException:
                    # interrupted, also by a cancellation: some states have these events, and others do not
                    if live:
                        self._drop()
                    raise
                after = events[-1].position
                if live:
                    self.position = after
                if progress is not None:
                    progress(after, upto)
        if live:
            self.position = upto

    def _drop(self) -> None:
        """Drop the live states, because they cannot be used. The next fold begins at the newest usable snapshots."""
        # a fold beside may itself find the fault, and must not cancel itself
        for task in set(self._beside.values()) - {asyncio.current_task()}:
            task.cancel()
        self._beside.clear()
        self._past.drop()
        self._live = {}
        self.position = self._saved = 0

    async def _restore(self, kind: type[P], upto: int) -> tuple[P, int]:
        """Restore the newest snapshot. A state that was folded before faulty lines were found is not usable."""
        return await self._store.restore(kind, self.events.faulty.usable_upto(upto))

    async def head(self) -> int:
        """Return the newest committed position."""
        return (await self._log.head()).position

    async def root(self, position: int) -> bytes:
        """Return the root of the log's tree up to a position; nothing if the stored tiles are damaged."""
        return await self._store.root(position)

    async def _save(self) -> None:
        """Begin to save the live states. The caller holds `_folding`."""
        if self._store.ready and not self.events.faulty.found:
            await self._store.save(list(self._live.values()), self.position)
            self._saved = self.position


def _share(states: Sequence[Projection]) -> None:
    for state in states:
        state.share_with(states)


def require_position(position: int) -> None:
    """From now on in this task, views that have folded up to a position are new enough.

    A request that asks several views, or waits between two of them, then waits only once for events to be folded.
    """
    _required.set(position)


def required_position() -> int | None:
    """Return the position up to which views must have been folded; None if it is the newest one."""
    return _required.get()
