"""States of earlier positions, kept for the next question about the same position: to fold one takes long."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from projections.projection import Projection
from projections.state_store import StateStore

STATES_MAX = 4
"""States that are kept: those that were asked for last. One of a million decisions has up to 40 MB."""


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
