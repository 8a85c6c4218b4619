"""cstp.ready: open actions, the most urgent first."""

from typing import Any

import msgspec

from api.auth import Principal
from api.cstp.params import ParamsSchema
from api.service.action_items import (
    ActionItem,
    ActionItemQuery,
    Kind,
    Priority,
    list_action_items,
)
from api.service.ledger import LedgerService

LIMIT_DEFAULT = 20
LIMIT_MAX = 50


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    min_priority: Priority = "low"
    action_types: tuple[Kind, ...] = ()
    category: str | None = None
    limit: int = LIMIT_DEFAULT


_asked: ParamsSchema[_Asked] = ParamsSchema(_Asked)


async def ready(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """List decisions past their review date, undated ones older than 30 days, and categories with drift.

    `calibration_drift` is the result of checkDrift for a category.
    """
    asked = _asked.decode(params)
    limit = min(max(asked.limit, 1), LIMIT_MAX)
    wanted = ActionItemQuery(
        least=asked.min_priority, kinds=asked.action_types, category=asked.category or None, limit=limit
    )
    found = await list_action_items(ledger, wanted)
    return {"actions": [_row(action) for action in found.actions], "total": found.total, "filtered": found.filtered}


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
