"""Consecutive events of the log, with the position at which the stream of each event begins."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, SupportsIndex, overload

from events.envelope import EventFacts

POSITIONED_KIND: Final = "decision"
"""The kind of streams that views identify by the positions of their first events."""


class EventSlice(list[EventFacts]):
    """A list of events, oldest first. `firsts` has for each the position of the first event of its stream.

    For streams of other kinds than POSITIONED_KIND it may have 0.

    That position identifies a stream in 8 bytes. It is a function of the log alone, as the stream's name is, which only
    the ledger stores.
    """

    def __init__(self, events: Iterable[EventFacts] = (), firsts: Sequence[int] = ()) -> None:
        super().__init__(events)
        self.firsts = array("q", firsts)
        assert len(self) == len(self.firsts), "an event without the position of its stream"

    @cached_property
    def kinds(self) -> Counter[type[EventFacts]]:
        """The number of events of each type, by the struct of the type."""
        return Counter(map(type, self))

    @overload
    def __getitem__(self, place: SupportsIndex) -> EventFacts: ...
    @overload
    def __getitem__(self, place: slice) -> "EventSlice": ...
    def __getitem__(self, place: "SupportsIndex | slice") -> "EventFacts | EventSlice":
        if isinstance(place, slice):
            return EventSlice(super().__getitem__(place), self.firsts[place])
        return super().__getitem__(place)
