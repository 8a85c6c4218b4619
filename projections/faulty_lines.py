"""Find the lines that no append could have written, so that views can be folded from the others.

Someone who can write the ledger file can put such lines into it. Folds assume valid events, and an honest ledger has no
others, so the engine examines the lines only after one of them could not be decoded or folded.
"""

from collections.abc import Iterator

from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.envelope import EventFacts, is_timestamp
from events.registry import Vocabulary
from ledger.log import Page


class FaultyLines:
    """Examines the lines of a log from position 1, and collects the positions to leave out, each with its reason."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.positions: dict[int, str] = {}
        self.examined = 0
        """The position up to which lines were examined."""
        self._vocabulary = vocabulary
        self._closed: dict[str, bool] = {}
        """Whether each stream is closed, for every stream that is open or closed."""

    def examine(self, page: Page) -> None:
        """Examine the next page of the log."""
        if len(page.lines) != len(page.positions):
            self.positions |= dict.fromkeys(page.positions, "a line on its page has a line feed.")
            self.examined = page.positions[-1]
            return
        for position, line in zip(page.positions, page.lines, strict=True):
            if (reason := self._examine_line(position, line)) is not None:
                self.positions[position] = reason
            self.examined = position

    def usable(self, page: Page) -> Iterator[EventFacts]:
        """Yield the events of a page that are not left out."""
        for position, line in zip(page.positions, page.lines, strict=False):
            if position not in self.positions:
                yield from self._vocabulary.facts(line)

    def _examine_line(self, position: int, line: bytes) -> str | None:
        """Return why a line must be left out, or None."""
        try:
            (event,) = self._vocabulary.facts(line)
        except DECODE_ERRORS as error:
            return explain_decode_error(error, self._vocabulary.type_names).detail
        if event.position != position:
            return f"it states the position {event.position}."
        if not is_timestamp(event.time):
            return f"its time {event.time[:80]!r} is not one that the log writes."
        event_type = self._vocabulary.event_types[event.name]
        subject = f"{event_type.stream}/{getattr(event.data, event_type.id_field)}"
        if event.subject != subject:
            return f"its subject is not the stream of its payload, {subject}."
        closed = self._closed.get(subject)
        if closed is None and not event_type.begins:
            return f"{event_type.name} is the first event of {subject}."
        if closed is not None and not event_type.follows:
            return f"{subject} has a second {event_type.name}."
        if closed:
            return f"{subject} was closed before."
        self._closed[subject] = event_type.ends
        return None
