"""Find the lines that no append could have written, so that views can be folded from the others.

Someone who can write the ledger file can put such lines into it. Folds assume valid events, and an honest ledger has no
others, so the engine examines the lines only after one of them could not be decoded or folded. The lines themselves
then say where each stream begins, because someone who changed a line may have changed the columns beside it, too.
"""

from collections.abc import Iterator

from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.envelope import EventFacts, is_timestamp
from events.vocabulary import Vocabulary
from ledger.log import LogPage
from projections.event_slice import POSITIONED_KIND, EventSlice


class FaultyLines:
    """Examines the lines of a log from position 1, and collects the positions to leave out, each with its reason."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.positions: dict[int, str] = {}
        self.examined = 0
        """The position up to which lines were examined."""
        self.firsts: dict[str, int] = {}
        """The position of the first usable event of each stream."""
        self.columns_differ = False
        """Whether the log states another beginning of some stream than its lines do."""
        self._vocabulary = vocabulary
        self._closed: dict[str, bool] = {}
        """Whether each stream is closed, for every stream that is open or closed."""

    @property
    def found(self) -> bool:
        """Whether views can only be folded from `usable_slice`."""
        return self.columns_differ or bool(self.positions)

    def usable_upto(self, position: int) -> int:
        """Return the last position, at or before one, up to which states folded without leaving out are right."""
        return 0 if self.columns_differ else min([position + 1, *self.positions]) - 1

    def __str__(self) -> str:
        if not self.positions:
            return "The columns of some events state other streams than their lines: views are folded from the lines."
        count, (first, reason) = len(self.positions), min(self.positions.items())
        events = "1 event was" if count == 1 else f"{count} events were"
        return f"{events} left out of every view, the first at position {first}: {reason}"

    def examine(self, page: LogPage) -> None:
        """Examine the next page of the log."""
        if len(page.lines) != len(page.positions):
            self.positions |= dict.fromkeys(page.positions, "a line on its page has a line feed.")
            self.examined = page.positions[-1]
            return
        for position, line, first in zip(page.positions, page.lines, page.firsts, strict=True):
            if (reason := self._examine_line(position, line, first)) is not None:
                self.positions[position] = reason
            self.examined = position

    def usable_slice(self, page: LogPage) -> EventSlice:
        """Return the events of the next page that are not left out, each stream from its first usable event."""
        events = list(self.usable(page))
        return EventSlice(events, [self.firsts.setdefault(event.subject, event.position) for event in events])

    def usable(self, page: LogPage) -> Iterator[EventFacts]:
        """Yield the events of a page that are not left out."""
        for position, line in zip(page.positions, page.lines, strict=False):
            if position not in self.positions:
                yield from self._vocabulary.facts(line)

    def _examine_line(self, position: int, line: bytes, first: int) -> str | None:
        """Return why a line must be left out, or None. `first` is where its stream begins, as the log states it."""
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
        if closed is not None and closed is not event_type.reopens:
            return f"{subject} was {'closed' if closed else 'open'} before."
        if closed is None:
            self.firsts[subject] = position
        if first or event_type.stream == POSITIONED_KIND:
            self.columns_differ = self.columns_differ or self.firsts[subject] != first
        self._closed[subject] = event_type.ends
        return None
