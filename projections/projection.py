"""The interface of a projection: a named, versioned state that folds events, and pure views of that state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import ClassVar, Self

from events.envelope import EventFacts
from events.payload import Payload


class Projection(ABC):
    """A state computed from events.

    `fold` uses the events alone: no clock, no I/O, no randomness. A view takes "now" as a parameter. Two projections
    that folded the same events encode to the same bytes.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Increase it when the same events give another state or another encoding. Older snapshots are then ignored."""

    reads: ClassVar[tuple[type[Payload], ...]]
    """The payload types that `fold` uses. The engine skips a batch that has none of them."""

    @abstractmethod
    def fold(self, events: Sequence[EventFacts]) -> None:
        """Fold a batch of events, oldest first. The state must not depend on how a history is cut into batches."""

    @abstractmethod
    def encode(self) -> bytes:
        """Return the state as canonical bytes: equal states give equal bytes."""

    @classmethod
    @abstractmethod
    def decode(cls, state: bytes) -> Self:
        """Return the state that `encode` wrote. Errors: any, for other bytes; the engine then folds again."""

    @abstractmethod
    def summary(self) -> Mapping[str, object]:
        """Return the default view, for callers that know only the projection's name."""

    def share_with(self, others: Sequence["Projection"]) -> None:  # noqa: B027 - most share nothing
        """Share equal parts of the state with other projections.

        All are at the same position and fold the same batches from now on. One dictionary of a million names instead of
        two makes a replay a tenth faster.
        """

    def digest(self) -> str:
        """Return the SHA-256 of the encoded state, in hex."""
        return sha256(self.encode()).hexdigest()
