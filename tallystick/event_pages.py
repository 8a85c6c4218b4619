"""Reading many events a page at a time, without I/O: which page comes next."""

from tallystick.exchange import Flow
from tallystick.fields import EventSelection
from tallystick.operations import PAGE_EVENTS, Operations
from tallystick.results import Event


class EventPages:
    """The pages of one reading; `done` once the last one was read."""

    def __init__(self, operations: Operations, wanted: EventSelection) -> None:
        self._operations = operations
        self._wanted = wanted
        self._left = wanted.get("limit")
        self.done = self._left == 0

    def read(self) -> Flow[tuple[Event, ...]]:
        """Read the next page."""
        size = PAGE_EVENTS if self._left is None else min(PAGE_EVENTS, self._left)
        page = yield from self._operations.event_page({**self._wanted, "limit": size})
        if self._left is not None:
            self._left -= len(page.events)
        self.done = page.next is None or self._left == 0
        if page.next is not None:
            edge: EventSelection = {"after": page.next}
            if self._wanted.get("order") == "desc":
                edge = {"before": page.next}
            self._wanted = {**self._wanted, **edge}
        return page.events
