"""cstp.ready: list open actions, the most urgent first."""

from typing import Annotated, Any

import msgspec

from api.cstp.params_schema import ParamsSchema
from api.cstp.unknown_names import name_unknown
from api.principal import Principal
from api.service.action_items import (
    ActionItem,
    ActionItemQuery,
    Kind,
    Priority,
    list_action_items,
)
from api.service.ledger import View
from projections.decisions.decision_selection import DecisionSelection

LIMIT_DEFAULT = 20
LIMIT_MAX = 50


class _ReadyParams(msgspec.Struct, frozen=True, kw_only=True):
    min_priority: Priority = "low"
    action_types: tuple[Kind, ...] = ()
    category: str | None = None
    limit: int = LIMIT_DEFAULT
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


_schema: ParamsSchema[_ReadyParams] = ParamsSchema(_ReadyParams, ignores_words=True)


async def ready(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """List decisions past their review date, decisions without one after 30 days, and categories with drift.

    An action `calibration_drift` has the result of checkDrift for its category. The categories with the most reviewed
    decisions are examined; `cut` says how many were not.
    """
    request = _schema.decode(params)
    limit = min(max(request.limit, 1), LIMIT_MAX)
    query = ActionItemQuery(
        least=request.min_priority,
        kinds=request.action_types,
        category=request.category or None,
        limit=limit,
        offset=request.offset,
    )
    items = await list_action_items(view, query)
    answer: dict[str, object] = {
        "actions": [_row(action) for action in items.actions],
        "total": items.total,
        "filtered": items.filtered,
    }
    if not items.total:
        answer |= await name_unknown(view, DecisionSelection(category=query.category))
    return {**answer, "cut": {"driftCategories": items.cut}} if items.cut else answer


def _row(action: ActionItem) -> dict[str, object]:
    row: dict[str, object] = {
        "type": action.type,
        "priority": action.priority,
        "reason": action.reason,
        "suggestion": action.suggestion,
    }
    optional = {
        "decisionId": action.decision_id,
        "category": action.category,
        "date": action.date,
        "title": action.title,
        "detail": action.detail,
    }
    return row | {name: value for name, value in optional.items() if value is not None}
