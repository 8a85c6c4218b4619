"""The searchable text of a decision, in pieces: its statement, each thought, and its review.

An amendment replaces the statement. A review replaces the previous review, but keeps the fields that it leaves out. A
piece is valid from the position of its event until the position of the event that replaces it, so the text as of any
past position can be searched.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from events.decision import Bridge, DecisionAmended, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import EventFacts
from events.payload import Payload
from projections.decisions.decision_state import apply_amendment
from projections.decisions.tokenizer import fold_text

_STATEMENT_FIELDS = frozenset({"decision", "context", "reasons", "tags", "pattern", "bridge"})
_REVIEW_FIELDS = ("actual_result", "lessons", "notes")


class TextPiece(NamedTuple):
    """The folded text of one event; the two sides of a bridge are separate. `until` is None while it is valid."""

    position: int
    review: bool
    text: str
    structure: str = ""
    function: str = ""
    until: int | None = None


def piece_from_event(position: int, data: Payload) -> TextPiece | None:
    """Return the piece of an event that replaces no other piece; None if it has no searchable text."""
    if isinstance(data, DecisionRecorded):
        return _statement(position, data)
    if isinstance(data, DecisionThought):
        return TextPiece(position, False, fold_text(data.text))
    if isinstance(data, DecisionReviewed) and has_searchable_text(data):
        return TextPiece(position, True, _joined(getattr(data, name) for name in _REVIEW_FIELDS))
    return None


def has_searchable_text(data: Payload) -> bool:
    """Tell whether an amendment or a review changes searchable text."""
    if isinstance(data, DecisionAmended):
        return any(getattr(data, name) is not None for name in _STATEMENT_FIELDS)
    return isinstance(data, DecisionReviewed) and any(getattr(data, name) is not None for name in _REVIEW_FIELDS)


def pieces_from_stream(events: Iterable[EventFacts]) -> list[TextPiece]:
    """Return all pieces of one decision's events, oldest first."""
    pieces: list[TextPiece] = []
    current: dict[bool, int] = {}
    """Index of the current statement (False) and of the current review (True)."""
    recorded: DecisionRecorded | None = None
    review_texts: dict[str, str] = {}
    for event in events:
        data = event.data
        if isinstance(data, DecisionRecorded):
            recorded = data
        if isinstance(data, DecisionAmended):
            if not has_searchable_text(data):
                continue
            assert recorded is not None, "a decision opens with decision.recorded"
            recorded = apply_amendment(recorded, data)
            piece: TextPiece | None = _statement(event.position, recorded)
        elif isinstance(data, DecisionReviewed) and has_searchable_text(data):
            review_texts |= {name: text for name in _REVIEW_FIELDS if (text := getattr(data, name)) is not None}
            piece = TextPiece(event.position, True, _joined(review_texts.values()))
        else:
            piece = piece_from_event(event.position, data)
        if piece is None:
            continue
        if not isinstance(data, DecisionThought):
            if (replaced := current.get(piece.review)) is not None:
                pieces[replaced] = pieces[replaced]._replace(until=event.position)
            current[piece.review] = len(pieces)
        pieces.append(piece)
    return pieces


def whole_text(pieces: Iterable[TextPiece]) -> str:
    """Return the text of a decision: of all its pieces that are not replaced."""
    return "\n".join(f"{one.text}\n{one.structure}\n{one.function}" for one in pieces if one.until is None)


def _statement(position: int, recorded: DecisionRecorded) -> TextPiece:
    bridge = recorded.bridge or Bridge()
    structure, function = fold_text(bridge.structure or ""), fold_text(bridge.function or "")
    return TextPiece(position, False, _joined(_statement_texts(recorded)), structure, function)


def _statement_texts(recorded: DecisionRecorded) -> Iterator[str | None]:
    yield from (
        recorded.decision,
        recorded.context,
        recorded.pattern,
        recorded.category,
        recorded.project,
        recorded.feature,
    )
    yield from recorded.tags
    yield from (reason.text for reason in recorded.reasons)
    if recorded.bridge is not None:
        yield from (*recorded.bridge.tolerance, *recorded.bridge.enforcement, *recorded.bridge.prevention)
    if recorded.deliberation is not None:
        yield from (item.text for item in recorded.deliberation.inputs)
        yield from (step.thought for step in recorded.deliberation.steps)
    for step in recorded.trace:
        yield from (step.thought, step.output, *step.tags)


def _joined(texts: Iterable[str | None]) -> str:
    return "\n".join(fold_text(text) for text in texts if text)
