"""The texts of a decision, as the pieces in which they came: what was stated, each thought, what a review said.

An amendment states everything anew; a review takes over what the one before it said and it leaves out. A piece stands
from its event's position until that of the event which restates it, so that the texts of any past position are known.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from events.decision import Bridge, DecisionAmended, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import EventFacts
from events.payload import Payload
from projections.decisions.decision_state import apply_amendment
from projections.decisions.tokenizer import fold_text

_RESTATED = frozenset({"decision", "context", "reasons", "tags", "pattern", "bridge"})
_REVIEWED = ("actual_result", "lessons", "notes")


class TextPiece(NamedTuple):
    """Folded text of one event; the two sides of a bridge stand apart. `until` is None while it stands."""

    position: int
    review: bool
    text: str
    structure: str = ""
    function: str = ""
    until: int | None = None


def piece_from_event(position: int, data: Payload) -> TextPiece | None:
    """The piece of an event that restates nothing; None where it has no text to search."""
    if isinstance(data, DecisionRecorded):
        return _statement(position, data)
    if isinstance(data, DecisionThought):
        return TextPiece(position, False, fold_text(data.text))
    if isinstance(data, DecisionReviewed) and has_searchable_text(data):
        return TextPiece(position, True, _joined(getattr(data, name) for name in _REVIEWED))
    return None


def has_searchable_text(data: Payload) -> bool:
    """Whether an amendment or a review says something that is searched."""
    if isinstance(data, DecisionAmended):
        return any(getattr(data, name) is not None for name in _RESTATED)
    return isinstance(data, DecisionReviewed) and any(getattr(data, name) is not None for name in _REVIEWED)


def pieces_from_stream(events: Iterable[EventFacts]) -> list[TextPiece]:
    """All pieces of one decision's events, oldest first."""
    pieces: list[TextPiece] = []
    live: dict[bool, int] = {}
    stated: DecisionRecorded | None = None
    said: dict[str, str] = {}
    for event in events:
        data = event.data
        if isinstance(data, DecisionRecorded):
            stated = data
        if isinstance(data, DecisionAmended):
            if not has_searchable_text(data):
                continue
            assert stated is not None, "a decision opens with decision.recorded"
            stated = apply_amendment(stated, data)
            piece: TextPiece | None = _statement(event.position, stated)
        elif isinstance(data, DecisionReviewed) and has_searchable_text(data):
            said |= {name: text for name in _REVIEWED if (text := getattr(data, name)) is not None}
            piece = TextPiece(event.position, True, _joined(said.values()))
        else:
            piece = piece_from_event(event.position, data)
        if piece is None:
            continue
        if not isinstance(data, DecisionThought):
            if (before := live.get(piece.review)) is not None:
                pieces[before] = pieces[before]._replace(until=event.position)
            live[piece.review] = len(pieces)
        pieces.append(piece)
    return pieces


def _statement(position: int, stated: DecisionRecorded) -> TextPiece:
    bridge = stated.bridge or Bridge()
    structure, function = fold_text(bridge.structure or ""), fold_text(bridge.function or "")
    return TextPiece(position, False, _joined(_stated(stated)), structure, function)


def _stated(stated: DecisionRecorded) -> Iterator[str | None]:
    yield from (stated.decision, stated.context, stated.pattern, stated.category, stated.project, stated.feature)
    yield from stated.tags
    yield from (reason.text for reason in stated.reasons)
    if stated.bridge is not None:
        yield from (*stated.bridge.tolerance, *stated.bridge.enforcement, *stated.bridge.prevention)
    if stated.deliberation is not None:
        yield from (seen.text for seen in stated.deliberation.inputs)
        yield from (step.thought for step in stated.deliberation.steps)
    for step in stated.trace:
        yield from (step.thought, step.output, *step.tags)


def _joined(texts: Iterable[str | None]) -> str:
    return "\n".join(fold_text(text) for text in texts if text)
