"""cstp.ready: list open actions, the most urgent first."""

from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.answer_names import named, without_none
from api.cstp.params_schema import ParamsSchema
from api.cstp.unknown_names import name_unknown
from api.principal import Principal
from api.service.action_items import ActionItemQuery, list_action_items
from api.service.ledger import View
from projections.decisions.decision_selection import DecisionSelection

LIMIT_DEFAULT = 20
LIMIT_MAX = 50


_schema: ParamsSchema[ActionItemQuery] = ParamsSchema(
    ActionItemQuery,
    aliases={"least": ("minPriority", "min_priority"), "kinds": ("actionTypes", "action_types")},
    types={"offset": Annotated[int, msgspec.Meta(ge=0)]},
    defaults={"limit": LIMIT_DEFAULT},
    reads=True,
)

_FIELDS = (
    "type", "priority", "reason", "suggestion", "decision_id", "category", "date", "title", "detail",
)  # fmt: skip


async def ready(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """List decisions past their review date, decisions without one after 30 days, and categories with drift.

    An action `calibration_drift` has the result of checkDrift for its category. The categories with the most reviewed
    decisions are examined; `cut` says how many were not.
    """
    request = _schema.decode(params)
    query = structs.replace(request, limit=min(max(request.limit, 1), LIMIT_MAX))
    items = await list_action_items(view, query)
    answer: dict[str, object] = {
        "actions": [without_none(named(action, _FIELDS)) for action in items.actions],
        "total": items.total,
        "filtered": items.filtered,
    }
    if not items.total:
        answer |= await name_unknown(view, DecisionSelection(category=query.category))
    return {**answer, "cut": {"driftCategories": items.cut}} if items.cut else answer
