"""cstp.getDecision, listDecisions, getStats, reindex and ready: decisions, their counts, and open actions."""

import re
from datetime import timedelta
from operator import itemgetter
from time import perf_counter
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.answer_names import name_unknown, named, unknown_json, without_none
from api.cstp.decision_json import decision_json, decision_row
from api.cstp.jsonrpc import RpcError
from api.cstp.links import related_decisions
from api.cstp.params_schema import ParamsSchema, missing_param_error
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.action_items import ActionItemQuery, list_action_items
from api.service.decision_params import DecisionListParams
from api.service.decision_search import to_query
from api.service.decisions import count_decisions, count_decisions_since, find_decision, select_decisions
from api.service.largest import keep_largest
from api.service.ledger import LedgerService, View
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STORED_ID_PATTERN, Labels
from projections.decisions.decision_selection import DecisionSelection, Status

LIMIT_DEFAULT = 20
LIMIT_MAX = 500
DAYS_MAX = 30
TAGS_MAX = 20
COUNTS_MAX = 100
"""Categories, and agents, that getStats counts: the largest."""

_RECENT_SPANS = {"last24h": timedelta(hours=24), "last7d": timedelta(days=7), "last30d": timedelta(days=30)}
_COUNTS = {"byCategory": "by_category", "byStakes": "by_stakes", "byStatus": "by_status", "byAgent": "by_agent"}
_stream_id = re.compile(STORED_ID_PATTERN)


class _IdParams(msgspec.Struct, frozen=True, kw_only=True):
    id: str | None = None


_id_schema: ParamsSchema[_IdParams] = ParamsSchema(_IdParams, aliases={"id": ("id", "decision_id", "decisionId")})
_DATES = {"since": ("dateFrom", "date_from"), "until": ("dateTo", "date_to")}
_list_schema: ParamsSchema[DecisionListParams] = ParamsSchema(
    DecisionListParams,
    aliases={**_DATES, "tag": ("tags",)},
    types={"status": Status | None, "tag": Labels, "limit": int, "offset": int},
    defaults={"limit": LIMIT_DEFAULT},
    without=("outcome", "window", "retrieval_mode", "hybrid_weight", "embedding", "embedding_model"),
    reads=True,
)
_stats_schema: ParamsSchema[DecisionListParams] = ParamsSchema(
    DecisionListParams, aliases=_DATES, only=("since", "until", "project"), reads=True
)


async def get_decision(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return one decision, by its id or an unambiguous prefix of it."""
    decision_id = _id_schema.decode(params).id
    if not decision_id:
        raise missing_param_error("id")
    if len(decision_id) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(decision_id) is None:
        raise RpcError(INVALID_PARAMS, f"Invalid decision ID: {decision_id}", {"fields": ["id"]})
    state = await find_decision(view, decision_id, prefix=True)
    related = await related_decisions(view, state.decision_id)
    return {"found": True, "decision": decision_json(state) | ({"related_to": related} if related else {})}


async def list_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return a page of decisions."""
    request = _list_schema.decode(params)
    limit, offset = min(max(request.limit, 1), LIMIT_MAX), max(request.offset, 0)
    if request.search is not None and request.search.isspace():
        request = structs.replace(request, search=None)
    query = structs.replace(to_query(request, ledger.clock()), limit=limit, offset=offset, history=True)
    page = await select_decisions(ledger, query)
    rows = [decision_row(state) for state in page.decisions]
    answer: dict[str, object] = {"decisions": rows, "total": page.total, "limit": limit, "offset": offset}
    return answer | unknown_json(page.unknown_names)


async def get_stats(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return counts of decisions by their attributes, and of the last day, week and month.

    `cut` has the number of categories and agents that are left out: the smallest beyond COUNTS_MAX.
    """
    now = ledger.clock()
    selection = to_query(_stats_schema.decode(params), now).selection
    counts = await count_decisions(ledger, selection)
    recent = await count_decisions_since(ledger, selection, [now - span for span in _RECENT_SPANS.values()])
    every = {name: tuple(getattr(counts, field).items()) for name, field in _COUNTS.items()}
    kept = {name: keep_largest(found, COUNTS_MAX, itemgetter(1)) for name, found in every.items()}
    cut = {name: others for name, (_, others) in kept.items() if others}
    return {
        "total": counts.total,
        **{name: dict(shown) for name, (shown, _) in kept.items()},
        **({"cut": cut} if cut else {}),
        "byDay": [{"date": day, "count": count} for day, count in counts.by_day[:DAYS_MAX]],
        "topTags": [{"tag": tag, "count": count} for tag, count in counts.top_tags[:TAGS_MAX]],
        "recentActivity": dict(zip(_RECENT_SPANS, recent, strict=True)),
        **({} if counts.total else await name_unknown(ledger, selection)),
    }


async def reindex(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Update the views from the log. Views follow the log, so none has to be rebuilt."""
    start_s = perf_counter()
    counts = await count_decisions(ledger, DecisionSelection())
    elapsed_ms = int((perf_counter() - start_s) * 1000)
    message = f"All {counts.total} decisions are in the views, which follow the log: nothing had to be rebuilt."
    answer = {"success": True, "decisionsIndexed": counts.total, "errors": 0, "durationMs": elapsed_ms}
    return {**answer, "message": message}


ACTIONS_DEFAULT = 20
ACTIONS_MAX = 50


_ready: ParamsSchema[ActionItemQuery] = ParamsSchema(
    ActionItemQuery,
    aliases={"least": ("minPriority", "min_priority"), "kinds": ("actionTypes", "action_types")},
    types={"offset": Annotated[int, msgspec.Meta(ge=0)]},
    defaults={"limit": ACTIONS_DEFAULT},
    reads=True,
)

_ACTION = (
    "type", "priority", "reason", "suggestion", "decision_id", "category", "date", "title", "detail",
)  # fmt: skip


async def ready(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """List decisions past their review date, decisions without one after 30 days, and categories with drift.

    An action `calibration_drift` has the result of checkDrift for its category. The categories with the most reviewed
    decisions are examined; `cut` says how many were not.
    """
    request = _ready.decode(params)
    query = structs.replace(request, limit=min(max(request.limit, 1), ACTIONS_MAX))
    items = await list_action_items(view, query)
    answer: dict[str, object] = {
        "actions": [without_none(named(action, _ACTION)) for action in items.actions],
        "total": items.total,
        "filtered": items.filtered,
    }
    if not items.total:
        answer |= await name_unknown(view, DecisionSelection(category=query.category))
    return {**answer, "cut": {"driftCategories": items.cut}} if items.cut else answer
