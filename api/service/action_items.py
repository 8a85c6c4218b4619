"""Action items: decisions whose outcome is overdue, and categories whose calibration is getting worse."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Literal, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import structs

from api.service.decisions import count_decisions, decision_states
from api.service.largest import keep_largest
from api.service.ledger import View
from api.service.recent_drift import detect_recent_drift
from projections.arrays import RowNumbers
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.window_comparison import DriftAlert, DriftLimits
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_lists import Order
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.time_range import TimeRange

Kind = Literal["review_outcome", "calibration_drift", "stale_pending"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of action items; of two with the same priority, the more urgent kind comes first."""

Priority = Literal["low", "medium", "high"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

STALE_AFTER = timedelta(days=30)
STALE_LONG_AFTER = timedelta(days=60)
DRIFT_WITHIN = timedelta(days=120)
DRIFT_HIGH = 0.4
"""From this relative change of a score on, drift is of high priority."""

DRIFT_CATEGORIES_MAX = 20
"""Categories that are examined for drift: those with the most reviewed decisions."""

TITLE_CHARS_MAX = 80

OLDEST_FIRST = Order(descending=False)

TIME_RESOLUTION = timedelta(microseconds=1)
"""The smallest difference of two recorded times."""


class ActionItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which action items to list: of priority `least` or higher, at most `limit` after `offset`.

    Without `kinds`, of every kind.
    """

    least: Priority = "low"
    kinds: tuple[Kind, ...] = ()
    category: str | None = None
    limit: int = 20
    offset: int = 0


class ActionItem(msgspec.Struct, frozen=True, kw_only=True):
    """One action: for a decision that has waited too long, or for a category whose calibration has drifted."""

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
    """The most urgent actions; `total` is the number of all, `filtered` of those below the requested priority."""

    actions: list[ActionItem]
    total: int
    filtered: int
    cut: int = 0
    """Categories with reviews in the last 120 days that were not examined for drift: those with the fewest."""


class _Group(NamedTuple):
    """Decisions that need the same action, oldest first, as rows of the index; or finished items, as their indexes.

    `rows` has those that can be on the page, of `total`.
    """

    kind: Kind
    priority: Priority
    total: int
    rows: RowNumbers
    items: Sequence[ActionItem] = ()


async def list_action_items(view: View, query: ActionItemQuery) -> ActionItems:
    """List action items by priority, then by kind, then by age of the decision, the oldest first."""
    now = view.clock()
    drifting, cut = await _list_drift_items(view, query, now)
    projection, position = await view.at(DecisionIndex)
    groups = [*_group_decisions(projection, query, now), *_group_by_priority(drifting)]
    groups.sort(key=lambda group: (-PRIORITIES.index(group.priority), KINDS.index(group.kind)))
    total = sum(group.total for group in groups)
    kept = [group for group in groups if PRIORITIES.index(group.priority) >= PRIORITIES.index(query.least)]
    chosen = list(_take_first(kept, query.offset + query.limit))[query.offset :]
    rows = np.array([row for group, row in chosen if not group.items], dtype=np.intp)
    dues = projection.review_times(rows)
    subjects = await view.engine.names.subjects(projection.positions(rows))
    states = iter(await decision_states(view, subjects, position))
    actions = [
        group.items[row] if group.items else _action_item(group, next(states), dues.get(row), now)
        for group, row in chosen
    ]
    return ActionItems(actions=actions, total=total, filtered=total - sum(group.total for group in kept), cut=cut)


async def _list_drift_items(view: View, query: ActionItemQuery, now: datetime) -> tuple[list[ActionItem], int]:
    """List the categories that were significantly worse in the last 30 days than in the 90 days before.

    The second value is the number of categories that were not examined.
    """
    if query.kinds and "calibration_drift" not in query.kinds:
        return [], 0
    examined = TimeRange(now - DRIFT_WITHIN, None)
    selection = DecisionSelection(category=query.category, status="reviewed", range=examined)
    counts = await count_decisions(view, selection)
    actions = []
    most, cut = keep_largest(sorted(counts.by_category.items()), DRIFT_CATEGORIES_MAX, itemgetter(1))
    for category, _ in most:
        drift = await detect_recent_drift(view, CalibrationFilter(category=category), now, DriftLimits())
        actions += [_drift_item(category, alert) for alert in drift.alerts]
    return actions, cut


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
        items = [action for action in actions if action.priority == priority]
        if items:
            yield _Group("calibration_drift", priority, len(items), np.arange(len(items)), items)


def _group_decisions(projection: DecisionIndex, query: ActionItemQuery, now: datetime) -> Iterator[_Group]:
    pending, most = DecisionSelection(category=query.category, status="pending"), query.offset + query.limit
    if not query.kinds or "review_outcome" in query.kinds:
        overdue = structs.replace(pending, due_before=now)
        high = structs.replace(overdue, stakes=("critical", "high"))
        low = structs.replace(overdue, stakes="low")
        yield _Group("review_outcome", "high", *projection.page(high, OLDEST_FIRST, 0, most))
        yield _Group("review_outcome", "low", *projection.page(low, OLDEST_FIRST, 0, most))
        rows = projection.find(overdue)
        rest = rows[~(projection.passing(rows, high) | projection.passing(rows, low))]
        yield _Group("review_outcome", "medium", *projection.page_among(rest, overdue, OLDEST_FIRST, 0, most))
    if not query.kinds or "stale_pending" in query.kinds:
        undated = structs.replace(pending, dated=False)
        high_before, medium_before = now - STALE_LONG_AFTER, now - STALE_AFTER
        ranges: tuple[tuple[Priority, TimeRange], ...] = (
            ("high", TimeRange(None, high_before - TIME_RESOLUTION)),
            ("medium", TimeRange(high_before, medium_before - TIME_RESOLUTION)),
        )
        for priority, recorded in ranges:
            stale = structs.replace(undated, range=recorded)
            yield _Group("stale_pending", priority, *projection.page(stale, OLDEST_FIRST, 0, most))


def _take_first(groups: Sequence[_Group], limit: int) -> Iterator[tuple[_Group, int]]:
    for group in groups:
        rows = group.rows[:limit].tolist()
        limit -= len(rows)
        yield from ((group, row) for row in rows)


def _action_item(group: _Group, state: DecisionState, due: datetime | None, now: datetime) -> ActionItem:
    reason, detail, suggestion = _describe(group.kind, state, due, now)
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


def _describe(kind: Kind, state: DecisionState, due: datetime | None, now: datetime) -> tuple[str, str, str]:
    """Return the reason, detail and suggestion of an action item for a decision."""
    if kind == "stale_pending":
        days = (now - state.recorded_at).days
        reason = f"It has had no outcome for {days} days."
        return reason, f"pending {days} days", "Review it with what happened, or as abandoned."
    assert due is not None, "an overdue review has a date"
    day, days = due.date().isoformat(), (now - due).days
    reason = f"Its outcome was to be reviewed by {day}, {days} days ago."
    return reason, f"review by {day} ({days}d overdue)", "Review it with what happened."
