"""A decision as this protocol shows it: what it names comes first, what it lost or never had comes after."""

from msgspec import structs

from api.service.deliberation import build_deliberation
from events.decision import DecisionReviewed
from projections.decisions.decision_state import DecisionState, HistoryEntry

_FURTHER = ("file", "line", "commit", "mental_state", "review_by", "pre_decision")
"""Recorded fields that stand in a row only where they are known."""


def row_of(standing: DecisionState) -> dict[str, object]:
    """One row of a list. A confidence that nobody stated is not there, because its clients cannot read null for one.

    What was learned stays when a later review leaves it out; `reviews` tells which review said what.
    """
    decision, review = standing.decision, standing.review
    reviews = [entry for entry in standing.history if isinstance(entry.data, DecisionReviewed)]
    row: dict[str, object] = {"id": standing.decision_id, "decision": decision.decision}
    if decision.confidence is not None:
        row["confidence"] = decision.confidence + 0.0  # which turns -0.0 into 0.0
    row |= {
        "category": decision.category,
        "stakes": decision.stakes,
        "status": "pending" if review is None else "reviewed",
        "context": decision.context,
        "recorded_by": standing.agent,
        "project": decision.project,
        "feature": decision.feature,
        "pr": decision.pr,
        "pattern": decision.pattern,
        "outcome": review and review.outcome,
        "reviewed_at": review and review.reviewed_at.isoformat(),
        "created_at": standing.recorded_at.isoformat(),
        "updated_at": standing.updated_at.isoformat(),
        "actual_result": _latest(reviews, "actual_result"),
        "lessons": _latest(reviews, "lessons"),
        "review_notes": _latest(reviews, "notes"),
        "date": standing.recorded_at.date().isoformat(),
        "tags": decision.tags,
        "reasons": decision.reasons,
    }
    if decision.bridge is not None:
        row["bridge"] = decision.bridge
    row |= {name: value for name in _FURTHER if (value := getattr(decision, name)) is not None}
    if standing.question is not None:
        row["question"] = standing.question
    if decision.kpi_indicators:
        row["kpi_indicators"] = decision.kpi_indicators
    if review is not None:
        row["reviewed_by"] = review.reviewed_by
    if (kpis := _latest(reviews, "affected_kpis")) is not None:
        row["affected_kpis"] = kpis
    return row


def decision_of(standing: DecisionState) -> dict[str, object]:
    """A row with what is too much for a list: deliberation, trace, thoughts, and every review, the oldest first.

    What was thought since the decision stands in `thoughts`, and as the last steps of the deliberation, too.
    """
    row, decision = row_of(standing), standing.decision
    if (deliberation := build_deliberation(standing)) is not None:
        row["deliberation"] = deliberation
    if decision.trace:
        row["trace"] = decision.trace
    if standing.thoughts:
        row["thoughts"] = standing.thoughts
    if standing.review is not None:
        row["reviews"] = [_review(entry) for entry in standing.history if isinstance(entry.data, DecisionReviewed)]
    return row


def _latest(reviews: list[HistoryEntry], name: str) -> object:
    """What the newest review that says something says."""
    stated = (getattr(entry.data, name) for entry in reversed(reviews))
    return next((value for value in stated if value is not None), None)


def _review(entry: HistoryEntry) -> dict[str, object]:
    said = {name: value for name, value in structs.asdict(entry.data).items() if value is not None}
    said.pop("decision_id")
    return {**said, "reviewed_at": entry.time.isoformat(), "reviewed_by": entry.agent}
