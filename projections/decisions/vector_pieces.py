"""What has a vector, folded from the log: the texts of decisions, each version of them, and supplied vectors.

A piece is valid from the position of its event until the position of the event that replaces it, so that a search as of
a position compares the texts of that time. A vector that the caller supplied replaces the text of the decision, until
the text changes and an endpoint can make a vector of the new one.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from events.decision import DecisionAmended, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import EventFacts
from events.payload import Payload
from events.thought import ThoughtAdopted
from events.vector import DecisionEmbedded, ThoughtEmbedded, unpack_vector
from projections.arrays import Floats
from projections.columns import as_array
from projections.decisions.decision_state import apply_amendment
from projections.decisions.embedded_text import REVIEW_FIELDS, decision_text, thought_text

Key = bytes
"""The SHA-256 digest by which a vector is stored: of its text, or of the vector that a caller supplied."""

_READ = (DecisionRecorded, DecisionAmended, DecisionReviewed, DecisionThought, DecisionEmbedded)


class Piece(NamedTuple):
    """A text or a supplied vector, from a position on. `skipped`: a supplied vector stands for the text."""

    position: int
    key: Key
    text: str = ""
    vector: str = ""
    until: int = 0
    skipped: bool = False


class VectorPieces:
    """The pieces of a log up to `position`, for one model. Without `texts`, only vectors that callers supplied."""

    def __init__(self, model: str, *, texts: bool) -> None:
        self.model = model
        self.position = 0
        self.size = 0
        """Numbers of a vector of this model; 0 while none is known. Vectors of another size are left out."""
        self._texts = texts
        self._positions = array("Q")
        self._untils = array("Q")
        self._places = array("I")
        self._wanted = bytearray()
        self._keys: list[Key] = []
        self._subjects: list[str] = []
        self._pending: dict[str, str] = {}
        """The vectors of thoughts that no decision has adopted, by stream."""

    def __len__(self) -> int:
        return len(self._keys)

    def changed_streams(self, events: Iterable[EventFacts]) -> list[str]:
        """Return the streams of decisions whose earlier events are needed to fold these events."""
        return sorted(
            {
                event.subject
                for event in events
                if isinstance(event.data, _READ) and not isinstance(event.data, DecisionRecorded)
            }
        )

    def fold(
        self,
        events: Sequence[EventFacts],
        streams: Mapping[str, Sequence[EventFacts]],
        places: Mapping[str, int],
    ) -> dict[Key, str]:
        """Add the pieces of the next events. `streams` are the changed ones, up to the last event.

        Return the supplied vectors by their keys.
        """
        first = events[0].position
        added = [item for event in events if event.subject not in streams for item in self._added_by(event)]
        for subject, stream in streams.items():
            for piece in self._pieces(stream):
                if piece.position >= first:
                    added.append((piece, subject))
                elif piece.until >= first:
                    row = bisect_left(self._positions, piece.position)
                    self._untils[row], self._wanted[row] = piece.until, not piece.skipped
        for piece, subject in sorted(added, key=lambda item: item[0].position):
            if subject not in places:
                continue  # its first event is left out of the views
            self._positions.append(piece.position)
            self._untils.append(piece.until)
            self._places.append(places[subject])
            self._wanted.append(not piece.skipped)
            self._keys.append(piece.key)
            self._subjects.append(subject)
        self.position = events[-1].position
        return {piece.key: piece.vector for piece, _ in added if piece.vector}

    def _added_by(self, event: EventFacts) -> Iterator[tuple[Piece, str]]:
        """Yield the pieces, with their streams, of an event that needs no earlier event of its stream."""
        if isinstance(event.data, DecisionRecorded):
            for piece in self._pieces([event]):
                yield piece, event.subject
        elif isinstance(event.data, ThoughtEmbedded) and self._usable(event.data):
            self._pending[event.subject] = event.data.vector
        elif isinstance(event.data, ThoughtAdopted) and (vector := self._pending.pop(event.subject, None)):
            yield Piece(event.position, self._key(vector=vector), vector=vector), f"decision/{event.data.decision_id}"

    def _pieces(self, events: Iterable[EventFacts]) -> list[Piece]:
        """Return all pieces of one decision's events, oldest first."""
        pieces: list[Piece] = []
        current: int | None = None
        """The index of the piece of the decision's text."""
        texts = _Texts()
        for event in events:
            piece = self._piece(event, texts)
            if piece is None:
                continue
            if _of_thought(event.data):
                pieces.append(piece)
                continue
            if current is not None:
                ended = pieces[current]
                pieces[current] = ended._replace(until=event.position, skipped=bool(ended.text and piece.vector))
            current = len(pieces)
            pieces.append(piece)
        return pieces

    def _piece(self, event: EventFacts, texts: "_Texts") -> Piece | None:
        """Return the piece of an event; None if it has none. `texts` are those of the events before it."""
        data = event.data
        if isinstance(data, DecisionEmbedded):
            usable = self._usable(data)
            return Piece(event.position, self._key(vector=data.vector), vector=data.vector) if usable else None
        text = texts.after(data)
        return Piece(event.position, self._key(text=text), text) if self._texts and text else None

    def _usable(self, data: DecisionEmbedded | ThoughtEmbedded) -> bool:
        """Return whether a supplied vector is of the model and has its size. The first one sets the size."""
        if data.model != self.model:
            return False
        try:
            size = len(unpack_vector(data.vector))
        except ValueError:
            return False
        self.size = self.size or size
        return size == self.size

    def _key(self, *, text: str = "", vector: str = "") -> Key:
        label = b"text\n" if text else b"vector\n"
        return hashlib.sha256(label + (text or vector).encode(errors="surrogatepass")).digest()

    def missing(self, known: Mapping[Key, int], limit: int) -> list[tuple[Key, str, int]]:
        """Return key, stream and position of texts without a vector: those that are valid now first, newest first."""
        found: dict[Key, tuple[Key, str, int]] = {}
        for valid in (True, False):
            for row in range(len(self._keys) - 1, -1, -1):
                if len(found) == limit:
                    return list(found.values())
                key = self._keys[row]
                if self._wanted[row] and (self._untils[row] == 0) is valid and key not in known:
                    found.setdefault(key, (key, self._subjects[row], self._positions[row]))
        return list(found.values())

    def count_missing(self, known: Mapping[Key, int]) -> int:
        """Count the different texts without a vector."""
        return len({key for key, wanted in zip(self._keys, self._wanted, strict=True) if wanted and key not in known})

    def text_at(self, stream: Sequence[EventFacts], position: int) -> str:
        """Return the text of the piece at a position of a decision's stream."""
        return next(piece.text for piece in self._pieces(stream) if piece.position == position)

    def nearest(self, upto: int, known: Mapping[Key, int], distances: Floats, count: int) -> Floats:
        """Return for each of `count` decisions the least distance of its pieces as of a position; NaN without any.

        `distances` are by the numbers of `known`, and have one place more, for a key that is not known.
        """
        nearest = np.full(count, np.inf)
        positions = as_array(self._positions, np.uint64)
        untils = as_array(self._untils, np.uint64)
        valid = np.flatnonzero((positions <= upto) & ((untils == 0) | (untils > upto)))
        numbers = [known.get(self._keys[row], -1) for row in valid.tolist()]
        np.minimum.at(nearest, as_array(self._places, np.uint32)[valid], distances[np.array(numbers, np.intp)])
        nearest[np.isinf(nearest)] = np.nan
        return nearest


class _Texts:
    """The text of one decision, after each of its events."""

    def __init__(self) -> None:
        self._recorded: DecisionRecorded | None = None
        self._review: dict[str, str] = {}
        self._latest = ""

    def after(self, data: Payload) -> str:
        """Return the text that an event adds or changes; empty if it does neither."""
        if isinstance(data, DecisionThought):
            return thought_text(data.text)
        if isinstance(data, DecisionRecorded):
            self._recorded = data
        elif isinstance(data, DecisionAmended) and self._recorded is not None:
            self._recorded = apply_amendment(self._recorded, data)
        elif isinstance(data, DecisionReviewed):
            self._review |= {name: text for name in REVIEW_FIELDS if (text := getattr(data, name)) is not None}
        text = decision_text(self._recorded, self._review) if self._recorded is not None else ""
        changed, self._latest = text != self._latest, text
        return text if changed else ""


def _of_thought(data: Payload) -> bool:
    return isinstance(data, DecisionThought) or (isinstance(data, DecisionEmbedded) and data.of == "thought")
