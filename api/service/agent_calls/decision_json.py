"""Convert a decision to the JSON of CSTP: first the fields of the protocol, then the fields that we add."""

from typing import Any

from msgspec import structs

from api.service.deliberation_steps import build_deliberation
from events.decision import DecisionReviewed
from projections.decisions.decision_selection import Status
from projections.decisions.decision_state import DecisionState, HistoryEntry

_OPTIONAL = (
    "file",
    "line",
    "commit",
    "mental_state",
    "review_by",
    "pre_decision",
    "cluster",
    "model",
    "reported_model",
)
"""Fields that a row has only if the decision states them."""


_DEFAULTS = {"category": "process", "stakes": "medium"}
"""What CSTP reads for a decision that does not state it. Filters and figures count what is stated."""

UNSTATED = "unstated"
"""The field of a row that names those of its fields that are defaults."""


def with_defaults(row: dict[str, object]) -> dict[str, object]:
    """Return a row with the protocol's defaults; `unstated` names them."""
    unstated = [name for name in _DEFAULTS if not row[name]]
    return {**row, **{name: _DEFAULTS[name] for name in unstated}, UNSTATED: unstated} if unstated else row


def without_defaults(answer: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return an answer of CSTP without what its rows name as unstated: other interfaces have no defaults."""
    if isinstance(answer, list | tuple):
        return [without_defaults(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    left_out = (UNSTATED, *answer.get(UNSTATED, ()))
    return {name: without_defaults(value) for name, value in answer.items() if name not in left_out}


def decision_row(state: DecisionState) -> dict[str, object]:
    """Return a row of a list. Without a stated confidence the row has no such key, because clients cannot read null.

    Category and stakes have the protocol's defaults if the decision does not state them.
    `review_by` is the date of the review in UTC, as in the protocol, and `review_due` its time.
    If a later review omits lessons, the row keeps those of the earlier one; `reviews` shows the lessons of each.
    """
    decision, review = state.decision, state.review
    reviews = [entry for entry in state.history if isinstance(entry.data, DecisionReviewed)]
    row: dict[str, object] = {"id": state.decision_id, "decision": decision.decision}
    if decision.confidence is not None:
        row["confidence"] = decision.confidence + 0.0  # turns -0.0 into 0.0
    row |= {
        "category": decision.category,
        "stakes": decision.stakes,
        "status": _status(state),
        "context": decision.context,
        "recorded_by": state.agent,
        "project": decision.project,
        "feature": decision.feature,
        "pr": decision.pr,
        "pattern": decision.pattern,
        "outcome": review and review.outcome,
        "reviewed_at": review and review.reviewed_at.isoformat(),
        "created_at": state.recorded_at.isoformat(),
        "updated_at": state.updated_at.isoformat(),
        "actual_result": _latest(reviews, "actual_result"),
        "lessons": _latest(reviews, "lessons"),
        "review_notes": _latest(reviews, "notes"),
        "date": state.recorded_at.date().isoformat(),
        "tags": decision.tags,
        "reasons": decision.reasons,
    }
    if decision.bridge is not None:
        row["bridge"] = decision.bridge
    row |= {name: value for name in _OPTIONAL if (value := getattr(decision, name)) is not None}
    if decision.review_by is not None:
        row |= {"review_by": decision.review_by.date().isoformat(), "review_due": decision.review_by.isoformat()}
    if state.question is not None:
        row["question"] = state.question
    if decision.kpi_indicators:
        row["kpi_indicators"] = decision.kpi_indicators
    if review is not None:
        row["reviewed_by"] = review.reviewed_by
    if (kpis := _latest(reviews, "affected_kpis")) is not None:
        row["affected_kpis"] = kpis
    marks = {"preserve": state.preserve, "superseded_by": state.superseded_by}
    row |= {name: value for name, value in marks.items() if value}
    if (retracted := state.retracted) is not None:
        row["retracted"] = {"at": retracted.at.isoformat(), "by": retracted.by, "reason": retracted.reason}
    return with_defaults(row)


def decision_json(state: DecisionState) -> dict[str, object]:
    """Return a row with the long fields: deliberation, trace, thoughts, and every review, the oldest first.

    `thoughts` are those after the decision; they are also the last steps of the deliberation.
    """
    row, decision = decision_row(state), state.decision
    if (deliberation := build_deliberation(state)) is not None:
        row["deliberation"] = deliberation
    if decision.trace:
        row["trace"] = decision.trace
    if state.thoughts:
        row["thoughts"] = state.thoughts
    if state.review is not None:
        row["reviews"] = [_review(entry) for entry in state.history if isinstance(entry.data, DecisionReviewed)]
    return row


def _status(state: DecisionState) -> Status:
    if state.retracted is not None:
        return "retracted"
    return "pending" if state.review is None else "reviewed"


def _latest(reviews: list[HistoryEntry], name: str) -> object:
    """Return the value of a field in the newest review that has the field."""
    values = (getattr(entry.data, name) for entry in reversed(reviews))
    return next((value for value in values if value is not None), None)


def _review(entry: HistoryEntry) -> dict[str, object]:
    fields = {name: value for name, value in structs.asdict(entry.data).items() if value is not None}
    fields.pop("decision_id")
    return {**fields, "reviewed_at": entry.time.isoformat(), "reviewed_by": entry.agent}
