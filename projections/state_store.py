"""Restores states from snapshots of the log that is read, and saves live states while they are folded further."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from ledger.log import LogReader
from ledger.transparency.tree import LogTree
from projections.projection import Projection
from projections.snapshots import Snapshots, StoredState

P = TypeVar("P", bound=Projection)


class StateStore:
    """The snapshots of one log. It saves one set of states at a time."""

    def __init__(self, log: LogReader, snapshots: Snapshots) -> None:
        self.snapshots = snapshots
        self._log = log
        self._root: tuple[int, bytes] = (0, b"")
        self._task: asyncio.Task[None] | None = None
        self.saves = 0
        """How often states were saved, or began to be."""

    async def root(self, position: int) -> bytes:
        """Return the root of the log's tree up to a position; nothing if the stored tiles are damaged."""
        if self._root[0] != position:
            with suppress(AssertionError, ValueError, IndexError):
                self._root = position, await LogTree(self._log).root(position)
        return self._root[1] if self._root[0] == position else b""

    async def restore(self, kind: type[P], upto: int) -> tuple[P, int]:
        """Return the newest usable snapshot of a projection at or before a position, and its position.

        Without one, return an empty state and 0.
        """
        snapshot = await self.snapshots.latest(kind.name, kind.version, upto)
        while snapshot is not None:
            # another root: a backup was restored, and the log continued with other events
            if await self.root(snapshot.position) == snapshot.root:
                try:
                    return await asyncio.to_thread(self.snapshots.restore, kind, snapshot), snapshot.position
                except Exception:  # noqa: BLE001 - a damaged state may raise anything; an older snapshot is tried
                    pass
            snapshot = await self.snapshots.latest(kind.name, kind.version, snapshot.position - 1)
        return kind(), 0

    @property
    def ready(self) -> bool:
        """Whether states can be saved now."""
        return self.snapshots.writable and not self.saving

    @property
    def saving(self) -> bool:
        """Whether states are being saved, which may delete older snapshots."""
        return self._task is not None and not self._task.done()

    async def save(self, states: Sequence[Projection], position: int) -> None:
        """Store states but for their tables, which are frozen, and begin to save these. They must not change meanwhile.

        After a failure the next start only folds more events.
        """
        if root := await self.root(position):
            stored = await self.snapshots.store_states(states)
            self.saves += 1
            self._task = asyncio.create_task(self._save_tables(states, position, root, stored))

    async def _save_tables(
        self, states: Sequence[Projection], position: int, root: bytes, stored: Sequence[StoredState]
    ) -> None:
        """Save what was frozen, and drop from memory the chunks that nobody read since the last time."""
        if stored and await self.snapshots.save(position, root, stored):
            for state in states:
                for table in state.tables().values():
                    table.release()

    async def finish(self) -> None:
        """Wait until nothing is being saved."""
        if self._task is not None:
            await asyncio.wait([self._task])
