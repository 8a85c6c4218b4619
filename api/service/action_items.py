"""Action items: decisions whose outcome is overdue, and categories whose calibration is getting worse."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import structs

from api.service.calibration import detect_recent_drift
from api.service.decisions import count_decisions, decision_states
from api.service.ledger import LedgerService
from projections.arrays import Places
from projections.calibration.calibration import CalibrationFilter
from projections.calibration.recent_drift import DriftAlert, DriftLimits
from projections.decisions.decision_index import DecisionIndex, DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.time_range import TimeRange

Kind = Literal["review_outcome", "calibration_drift", "stale_pending"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of action, the more pressing of two with one priority first."""

Priority = Literal["low", "medium", "high"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

STALE_AFTER = timedelta(days=30)
STALE_LONG_AFTER = timedelta(days=60)
DRIFT_WITHIN = timedelta(days=120)
DRIFT_HIGH = 0.4
"""Part of what a figure was, from which on its change is of high priority."""

TITLE_CHARS_MAX = 80

INSTANT = timedelta(microseconds=1)
"""The least difference of two times."""


class ActionItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which action items to list, at most `limit`. Without `kinds`, every kind."""

    least: Priority = "low"
    kinds: tuple[Kind, ...] = ()
    category: str | None = None
    limit: int = 20


class ActionItem(msgspec.Struct, frozen=True, kw_only=True):
    """One action: for a decision, with how long it has waited, or for a category with drift."""

    type: Kind
    priority: Priority
    reason: str
    suggestion: str
    decision_id: str | None = None
    category: str | None
    date: str | None = None
    title: str | None = None
    detail: str | None = None


class ActionItems(msgspec.Struct, frozen=True, kw_only=True):
    """The most pressing actions; `total` counts all, `filtered` those below the least priority."""

    actions: list[ActionItem]
    total: int
    filtered: int


class _Group(NamedTuple):
    """Decisions that need the same action, oldest first; or action items made already, by their numbers."""

    kind: Kind
    priority: Priority
    places: Places
    made: Sequence[ActionItem] = ()


async def list_action_items(ledger: LedgerService, query: ActionItemQuery) -> ActionItems:
    """List the most pressing items first; of equals the more pressing kind, then the older decision."""
    now = ledger.clock()
    drifting = await _list_drift_items(ledger, query, now)
    projection, position = await ledger.engine.at(DecisionIndex)
    groups = [*_group_decisions(projection, query, now), *_group_by_priority(drifting)]
    groups.sort(key=lambda group: (-PRIORITIES.index(group.priority), KINDS.index(group.kind)))
    total = sum(len(group.places) for group in groups)
    kept = [one for one in groups if PRIORITIES.index(one.priority) >= PRIORITIES.index(query.least)]
    chosen = list(_take_first(kept, query.limit))
    places = np.array([place for group, place in chosen if not group.made], dtype=np.intp)
    dues = projection.review_times(places)
    states = iter(await decision_states(ledger, projection.subjects(places), position))
    actions = [
        group.made[place] if group.made else _action_item(group, next(states), dues.get(place), now)
        for group, place in chosen
    ]
    return ActionItems(actions=actions, total=total, filtered=total - sum(len(group.places) for group in kept))


async def _list_drift_items(ledger: LedgerService, query: ActionItemQuery, now: datetime) -> list[ActionItem]:
    """List the categories whose last 30 days are worse than the 90 before, beyond chance."""
    if query.kinds and "calibration_drift" not in query.kinds:
        return []
    lately = TimeRange(now - DRIFT_WITHIN, None)
    counted = await count_decisions(ledger, DecisionSelection(category=query.category, status="reviewed", range=lately))
    actions = []
    for category in sorted(counted.by_category):
        found = await detect_recent_drift(ledger, CalibrationFilter(category=category), now, DriftLimits())
        actions += [_drift_item(category, alert) for alert in found.alerts]
    return actions


def _drift_item(category: str, alert: DriftAlert) -> ActionItem:
    name = "Brier score" if alert.type == "brier_degradation" else "success rate"
    return ActionItem(
        type="calibration_drift",
        priority="high" if abs(alert.change) >= DRIFT_HIGH else "medium",
        reason=f"In {category} the {name} went from {alert.historical:.2f} to {alert.recent:.2f} within 30 days.",
        suggestion="Look at its decisions of the last 30 days; checkDrift has the figures.",
        category=category,
    )


def _group_by_priority(actions: Sequence[ActionItem]) -> Iterator[_Group]:
    for priority in PRIORITIES:
        made = [action for action in actions if action.priority == priority]
        if made:
            yield _Group("calibration_drift", priority, np.arange(len(made)), made)


def _group_decisions(projection: DecisionIndex, query: ActionItemQuery, now: datetime) -> Iterator[_Group]:
    pending = DecisionSelection(category=query.category, status="pending")
    if not query.kinds or "review_outcome" in query.kinds:
        overdue = structs.replace(pending, due_before=now)
        high = _find(projection, structs.replace(overdue, stakes=("critical", "high")))
        low = _find(projection, structs.replace(overdue, stakes="low"))
        yield _Group("review_outcome", "high", high)
        yield _Group("review_outcome", "low", low)
        rest = np.setdiff1d(projection.find(overdue), np.concatenate([high, low]))
        yield _Group("review_outcome", "medium", projection.sort_places(rest, "created_at", descending=False))
    if not query.kinds or "stale_pending" in query.kinds:
        undated = structs.replace(pending, dated=False)
        long_ago, a_while_ago = now - STALE_LONG_AFTER, now - STALE_AFTER
        stale = TimeRange(long_ago, a_while_ago - INSTANT)
        yield _Group("stale_pending", "high", _find(projection, _within(undated, TimeRange(None, long_ago - INSTANT))))
        yield _Group("stale_pending", "medium", _find(projection, _within(undated, stale)))


def _within(selection: DecisionSelection, when: TimeRange) -> DecisionSelection:
    return structs.replace(selection, range=when)


def _find(projection: DecisionIndex, selection: DecisionSelection) -> Places:
    return projection.sort_places(projection.find(selection), "created_at", descending=False)


def _take_first(groups: Sequence[_Group], most: int) -> Iterator[tuple[_Group, int]]:
    for group in groups:
        places = group.places[:most].tolist()
        most -= len(places)
        yield from ((group, place) for place in places)


def _action_item(group: _Group, state: DecisionState, due: datetime | None, now: datetime) -> ActionItem:
    reason, detail, suggestion = _DESCRIPTIONS[group.kind](state, due, now)
    return ActionItem(
        type=group.kind,
        priority=group.priority,
        reason=reason,
        suggestion=suggestion,
        decision_id=state.decision_id,
        category=state.decision.category,
        date=state.recorded_at.date().isoformat(),
        title=state.decision.decision[:TITLE_CHARS_MAX],
        detail=detail,
    )


def _describe_overdue(state: DecisionState, due: datetime | None, now: datetime) -> tuple[str, str, str]:
    assert due is not None, "an overdue review has its day"
    day, days = due.date().isoformat(), (now - due).days
    suggestion = "Review it with what happened."
    return (
        f"Its outcome was to be reviewed by {day}, {days} days ago.",
        f"review by {day} ({days}d overdue)",
        suggestion,
    )


def _describe_stale(state: DecisionState, due: datetime | None, now: datetime) -> tuple[str, str, str]:
    days = (now - state.recorded_at).days
    reason = f"It has had no outcome for {days} days."
    return reason, f"pending {days} days", "Review it with what happened, or as abandoned."


_DESCRIPTIONS: dict[Kind, Callable[[DecisionState, datetime | None, datetime], tuple[str, str, str]]] = {
    "review_outcome": _describe_overdue,
    "stale_pending": _describe_stale,
}
"""Reason, detail and suggestion of each kind."""
