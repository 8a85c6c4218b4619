"""Reads many events page by page, without I/O of its own."""

from tallystick.fields import EventSelection
from tallystick.operations import PAGE_EVENTS, Operations
from tallystick.request_flow import Flow
from tallystick.results import Event


class EventPages:
    """The pages of selected events. `done` is true after the last page was read."""

    def __init__(self, operations: Operations, selection: EventSelection) -> None:
        self._operations = operations
        self._selection = selection
        self._remaining = selection.get("limit")
        self.done = self._remaining == 0

    def read(self) -> Flow[tuple[Event, ...]]:
        """Read the next page."""
        size = PAGE_EVENTS if self._remaining is None else min(PAGE_EVENTS, self._remaining)
        page = yield from self._operations.event_page({**self._selection, "limit": size})
        if self._remaining is not None:
            self._remaining -= len(page.events)
        self.done = page.next is None or self._remaining == 0
        if page.next is not None:
            cursor: EventSelection = {"after": page.next}
            if self._selection.get("order") == "desc":
                cursor = {"before": page.next}
            self._selection = {**self._selection, **cursor}
        return page.events
