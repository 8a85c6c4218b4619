"""The interface of a projection: a named, versioned state that folds events, and pure views of that state."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from events.payload import Payload
from projections.event_slice import EventSlice
from projections.saved_state import SavedState

if TYPE_CHECKING:
    from projections.chunk_store import ChunkSource, ChunkTarget
    from projections.column_table import ColumnTable


class Projection(SavedState, ABC):
    """A state computed from events.

    `fold` uses the events alone: no clock, no I/O, no randomness. A view takes "now" as a parameter. Two projections
    that folded the same events encode to the same bytes.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Increase it if the same events give another state or another encoding. Older snapshots are then ignored."""

    reads: ClassVar[tuple[type[Payload], ...]]
    """The payload types that `fold` uses. The engine skips a batch that has none of them."""

    @abstractmethod
    def fold(self, events: EventSlice) -> None:
        """Fold a batch of events, oldest first. The state must not depend on the sizes of batches."""

    def tables(self) -> "Mapping[str, ColumnTable]":
        """Return the tables of the state by name: what grows with every event, loaded and saved chunk by chunk."""
        return {}

    def kept(self) -> "Callable[[ChunkTarget], bytes] | None":
        """Return a function that computes, on any thread, what views keep of the state as it is now; None for nothing.

        It is saved beside the state, and is no part of it: without it views are slower, and not different. Parts that
        are read only when they are used are chunks, which the function stores.
        """
        return None

    def take_kept(self, kept: bytes, source: "ChunkSource") -> None:
        """Take what views kept of a restored state. Errors: msgspec.DecodeError for those of another version."""

    @abstractmethod
    def summary(self) -> Mapping[str, object]:
        """Return the default view, for callers that know only the projection's name."""

    def share_with(self, others: Sequence["Projection"]) -> None:
        """Share equal parts of the state with other projections.

        All are at the same position, and the engine passes the same batches to them from now on. What
        decisions of a batch are about is then looked up once.
        """

    def digest(self) -> str:
        """Return the SHA-256 of the state, in hex: of its encoding, and of the digest of its tables if it has any."""
        tables = self.tables()
        if not tables:
            return sha256(self.encode()).hexdigest()
        from projections.column_table import digest_tables  # noqa: PLC0415 - it loads numpy

        return sha256(self.encode() + digest_tables(tables)).hexdigest()
