"""What a projection is: a name, a version, the payloads it reads, a state, a pure fold, and pure views of the state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import ClassVar, Self

from events.envelope import EventFacts
from events.payload import Payload


class Projection(ABC):
    """A fold over events.

    Folding uses the events alone: no clock, no I/O, no randomness; "now" is a parameter of a view. Two projections
    that folded the same events encode to the same bytes.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Raise it whenever the same events give another state or another encoding: snapshots of the old are left."""

    reads: ClassVar[tuple[type[Payload], ...]]
    """The payload types it folds; events of others change nothing, and a run of none but others is not handed to it."""

    @abstractmethod
    def fold(self, events: Sequence[EventFacts]) -> None:
        """Fold a run of events, oldest first. How a history is cut into runs makes no difference to the state."""

    @abstractmethod
    def encode(self) -> bytes:
        """The state as bytes, canonical: equal states encode alike."""

    @classmethod
    @abstractmethod
    def decode(cls, state: bytes) -> Self:
        """The inverse of `encode`. Errors: any, for bytes that `encode` did not make; the engine then refolds."""

    @abstractmethod
    def summary(self) -> Mapping[str, object]:
        """The view shown where only the projection's name is known."""

    def join(self, family: Sequence["Projection"]) -> None:  # noqa: B027 - most share nothing
        """Share with others, folded to the same position and from now on together, what all of them hold alike.

        One dictionary of a million names instead of two makes a replay a tenth faster.
        """

    def digest(self) -> str:
        """SHA-256 of the encoded state, hex."""
        return sha256(self.encode()).hexdigest()
