"""What a writer looks up before it admits a group: the streams and ids of its events, and who began the streams."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from events.life import Author
from ledger.admission import PreparedEvent, assign_stream_id


class AuthorKeys(NamedTuple):
    """The streams whose first event must be looked up, and those whose first event of some types must be."""

    owned: set[str]
    shared: set[str]


class LookupKeys:
    """The streams and ids of a group. A stream without an id gets one that no other stream of the group has.

    `batches` has the events with their streams, `subjects` all streams of the group, and `ids` the source and id of
    each event that has an id.
    """

    def __init__(self, batches: Sequence[Sequence[PreparedEvent]], rng: random.Random) -> None:
        self.batches = [list(batch) for batch in batches]
        self.ids = {(e.draft.source, e.draft.id) for batch in self.batches for e in batch if e.draft.id is not None}
        self.subjects = {e.subject for batch in self.batches for e in batch if not e.id_generated}
        self._unnamed = [(batch, at) for batch in self.batches for at, entry in enumerate(batch) if entry.id_generated]
        self._rng = rng

    def name_streams(self, position: int) -> None:
        """Give an id to each stream that has none, or a taken one; `position` is the head, or near it."""
        for offset, (batch, index) in enumerate(self._unnamed, 1):
            batch[index] = self._name(batch[index], position + offset)

    def find_taken(self, streams: Mapping[str, object]) -> bool:
        """Return whether streams were given ids of existing ones: name them again, and look up again."""
        self._unnamed = [(batch, index) for batch, index in self._unnamed if batch[index].subject in streams]
        return bool(self._unnamed)

    def authors(self) -> AuthorKeys | None:
        """Return the streams of events whose author must be checked; None if there is no such event."""
        checked = [entry for batch in self.batches for entry in batch if entry.permissions is not None]
        if not checked:
            return None
        return AuthorKeys(
            {name for entry in checked for name in entry.event_type.owned_subjects(entry.subject, entry.data)},
            {entry.subject for entry in checked if entry.event_type.by is Author.FIRST},
        )

    def _name(self, entry: PreparedEvent, position: int) -> PreparedEvent:
        while (named := assign_stream_id(entry, position, self._rng)).subject in self.subjects:
            pass
        self.subjects.add(named.subject)
        return named
