"""One decision, and the open actions, as CSTP names their fields."""

from api.service.action_items import ActionItemQuery, list_action_items
from api.service.agent_calls.answer_names import name_unknown, named, without_none
from api.service.agent_calls.decision_json import decision_json
from api.service.agent_calls.links import related_decisions
from api.service.decisions import find_decision
from api.service.ledger import View
from projections.decisions.decision_selection import DecisionSelection

_ACTION = (
    "type", "priority", "reason", "suggestion", "decision_id", "category", "date", "title", "detail",
)  # fmt: skip


async def get_decision(view: View, decision_id: str) -> dict[str, object]:
    """Return one decision, by its id or an unambiguous prefix of it. Errors: NotFound."""
    state = await find_decision(view, decision_id, prefix=True)
    related = await related_decisions(view, state.decision_id)
    return {"found": True, "decision": decision_json(state) | ({"related_to": related} if related else {})}


async def ready(view: View, query: ActionItemQuery) -> dict[str, object]:
    """List decisions past their review date, decisions without one after 30 days, and categories with drift.

    An action `calibration_drift` has the result of checkDrift for its category. The categories with the most reviewed
    decisions are examined; `cut` says how many were not.
    """
    items = await list_action_items(view, query)
    answer: dict[str, object] = {
        "actions": [without_none(named(action, _ACTION)) for action in items.actions],
        "total": items.total,
        "filtered": items.filtered,
    }
    if not items.total:
        answer |= await name_unknown(view, DecisionSelection(category=query.category))
    return {**answer, "cut": {"driftCategories": items.cut}} if items.cut else answer
