"""The index of decisions with their names, which otherwise only a ledger has."""

from projections.arrays import RowNumbers
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_lists import Order
from projections.decisions.decision_selection import DecisionSelection, SortField
from projections.event_slice import EventSlice


class NamedIndex(DecisionIndex):
    """An index that remembers the stream of each event that it folded."""

    def __init__(self) -> None:
        super().__init__()
        self._streams: dict[int, str] = {}

    def fold(self, events: EventSlice) -> None:
        super().fold(events)
        self._streams |= {event.position: event.subject for event in events}

    def subjects(self, rows: RowNumbers) -> list[str]:
        """The streams of the decisions in some rows."""
        return [self._streams[position] for position in self.positions(rows)]

    def ordered(self, selection: DecisionSelection, sort: SortField, *, descending: bool) -> list[str]:
        """The streams of all decisions that pass a filter, in an order."""
        return self.subjects(self.page(selection, Order(sort, descending), 0, len(self)).rows)
