"""Compare a row with the decision that the ledger has: what is new in the row, and what contradicts the ledger.

A new outcome is a review, a new question replaces the old one, and an empty cell states nothing. Everything else that
differs is a conflict, because the ledger cannot know which value is right.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from api.importers.decisions.rows import DecisionRow, IdentifiedRow
from api.text_format import format_time
from events.decision import DecisionAsked, DecisionRecorded, DecisionReviewed
from events.envelope import Draft, Event, source_of, timestamp
from events.payload import Payload
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState, HistoryEntry, fold_decision
from tallystick.shapes.decisions import Outcome

RETRACTED = "decision.retracted.v1"
"""The type of the event that takes a decision out of every figure. Its decision gets no more events."""

IMPORTED = "import-"
"""How the ids of events begin that an import wrote."""

EVENT_ID_CHARS = 32
"""Characters of the digest in the id of an event."""

COMPARED = ("confidence", "category", "stakes", "project", "feature", "cluster", "model")
"""Fields of a decision that a row may not change."""

AFTER_THE_FACT = "a confidence that is stated later is not a forecast"

_asked = VOCABULARY.event_types["decision.asked.v1"].draft
_reviewed = VOCABULARY.event_types["decision.reviewed.v1"].draft


class RowConflict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row that contradicts the ledger: its line, the field, and both values. `decision_id` is empty if unknown."""

    line: int
    decision_id: str
    field: str
    ledger: str | None
    """The ledger's value; null where it has none."""
    file: str
    """The file's value."""
    reason: str | None = None
    """Why it is a conflict, where the values do not show it."""


class KnownDecision(NamedTuple):
    """A decision of the ledger, and the positions of its events that an import wrote."""

    state: DecisionState
    imported: frozenset[int]

    def entries(self, kind: type[Payload]) -> list[HistoryEntry]:
        """Return its events of a type, oldest first."""
        return [entry for entry in self.state.history if isinstance(entry.data, kind)]


class RowChanges(NamedTuple):
    """The result of a comparison: drafts to append, conflicts, and the positions of events that the ledger has."""

    drafts: list[Draft]
    conflicts: list[RowConflict]
    positions: list[int]
    reviewed_since: bool = False
    """Whether the row's outcome was imported before, and someone else has changed it since."""
    is_other_decision: bool = False
    """Whether a conflict means that the row is about another decision, so that nothing of it may be imported."""


def known_decisions(lines: bytes) -> dict[str, KnownDecision]:
    """Return the decisions of some streams by id. `lines` are all their events, oldest first."""
    streams: dict[str, list[Event]] = {}
    for event in VOCABULARY.events(lines):
        streams.setdefault(event.subject, []).append(event)
    known = {}
    for events in streams.values():
        state = fold_decision(events)
        assert state is not None
        imported = frozenset(event.position for event in events if event.id.startswith(IMPORTED))
        known[state.decision_id] = KnownDecision(state, imported)
    return known


def new_decision(identified: IdentifiedRow) -> list[Draft]:
    """Return the events of a row whose decision the ledger does not have."""
    row, decision_id = identified.row, identified.decision_id
    values = {field: getattr(row, field) for field in ("decision", *COMPARED)}
    recorded = DecisionRecorded(decision_id=decision_id, **values)
    event_id = f"{IMPORTED}{_digest(decision_id)}"
    drafts: list[Draft] = [VOCABULARY.draft_of(recorded, id=event_id, source=source_of(row.agent), time=row.time)]
    if row.question is not None:
        drafts.append(_question(row, decision_id, row.question, 0))
    if row.outcome is not None:
        drafts.append(_review(row, decision_id, row.outcome, 0))
    return drafts


def compare_row(identified: IdentifiedRow, known: KnownDecision) -> RowChanges:
    """Compare a row with the decision that it has in the ledger."""
    row, decision_id = identified.row, known.state.decision_id
    drafts, positions = [], [known.state.position]
    since = False
    if row.question is not None:
        asked = known.entries(DecisionAsked)
        if asked and asked[-1].data.question == row.question:
            positions.append(asked[-1].position)
        else:
            drafts.append(_question(row, decision_id, row.question, len(asked)))
    if row.outcome is not None:
        reviews = known.entries(DecisionReviewed)
        stated = _find_review(row, reviews, known.imported)
        since = stated is not None and stated is not reviews[-1]
        if stated is not None:
            positions.append(stated.position)
        else:
            drafts.append(_review(row, decision_id, row.outcome, len(reviews)))
    conflicts = list(_conflicts(identified, known))
    return RowChanges(
        drafts, conflicts, positions, since, any(conflict.field in ("agent", "decision") for conflict in conflicts)
    )


def _find_review(row: DecisionRow, reviews: Sequence[HistoryEntry], imported: frozenset[int]) -> HistoryEntry | None:
    """Return the review that a row states: the newest, or the newest imported one, which others may have replaced."""
    newest_imported = next((review for review in reversed(reviews) if review.position in imported), None)
    for review in (reviews[-1] if reviews else None, newest_imported):
        same_time = review is not None and row.review_time in (None, review.time)
        if review is not None and review.data.outcome == row.outcome and same_time:
            return review
    return None


def _conflicts(identified: IdentifiedRow, known: KnownDecision) -> Iterator[RowConflict]:
    row, state = identified.row, known.state
    now, first = state.decision, state.history[0].data  # a file may state the value of either
    pairs: list[tuple[str, object, tuple[object, ...]]] = [
        ("agent", row.agent, (state.agent,)),
        ("decision", row.decision, (now.decision, first.decision)),
        *((field, getattr(row, field), (getattr(now, field), getattr(first, field))) for field in COMPARED),
    ]
    if row.id is not None:
        pairs.append(("time", row.time, (state.recorded_at,)))
    for field, value, ledger_values in pairs:
        if value is None or value in ledger_values:
            continue
        late = field == "confidence" and ledger_values[0] is None
        yield RowConflict(
            line=identified.line,
            decision_id=state.decision_id,
            field=field,
            ledger=None if ledger_values[0] is None else _shown(ledger_values[0]),
            file=_shown(value),
            reason=AFTER_THE_FACT if late else None,
        )


def _shown(value: Any) -> str:  # noqa: ANN401 - a value of any field
    return format_time(value) if isinstance(value, datetime) else str(value)


def _question(row: DecisionRow, decision_id: str, question: str, number: int) -> Draft:
    data = DecisionAsked(decision_id=decision_id, question=question)
    event_id = _event_id(decision_id, f"asked {question}", number)
    return _asked(id=event_id, source=source_of(row.agent), time=row.time, data=data)


def _review(row: DecisionRow, decision_id: str, outcome: Outcome, number: int) -> Draft:
    """Return a review. `number` counts the reviews before it, so that an outcome may come back."""
    data = DecisionReviewed(decision_id=decision_id, outcome=outcome)
    when = timestamp(row.review_time) if row.review_time is not None else ""
    event_id = _event_id(decision_id, f"{outcome} {when}", number)
    return _reviewed(id=event_id, source=source_of(row.agent), time=row.review_time, data=data)


def _event_id(decision_id: str, content: str, number: int) -> str:
    repeated = f" {number}" if number else ""
    return IMPORTED + _digest(f"{_digest(decision_id)} {content}{repeated}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:EVENT_ID_CHARS]
