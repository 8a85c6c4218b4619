"""cstp.getDecision, listDecisions, queryDecisions, getStats, reindex, ready and getSessionContext."""

import re
from datetime import timedelta
from operator import itemgetter
from time import perf_counter
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParameterError, ParamsSchema, merge_filters, missing_param_error, wrong_params_error
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.action_items import ActionItemQuery
from api.service.agent_calls import get_decisions as shown
from api.service.agent_calls import query_decisions as agent_search
from api.service.agent_calls import session_context as session
from api.service.agent_calls.answer_names import name_unknown, unknown_json
from api.service.agent_calls.decision_json import decision_row
from api.service.agent_calls.query_decisions import QueryFilters, QueryParams
from api.service.agent_calls.session_context import SessionParams
from api.service.decision_params import DecisionListParams
from api.service.decision_search import to_query
from api.service.decisions import count_decisions, count_decisions_since, select_decisions
from api.service.largest import keep_largest
from api.service.ledger import LedgerService, View
from events.decision import Stakes
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
    return await shown.get_decision(view, decision_id)


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


async def ready(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """List decisions past their review date, decisions without one after 30 days, and categories with drift."""
    request = _ready.decode(params)
    return await shown.ready(view, structs.replace(request, limit=min(max(request.limit, 1), ACTIONS_MAX)))


_LIST_FILTERS = ("stakes", "status", "tags")
"""Filters whose value may be one text or a list of texts."""

_query: ParamsSchema[QueryParams] = ParamsSchema(QueryParams, aliases={"limit": ("limit", "top_k", "topK")}, reads=True)
_search_filters: ParamsSchema[QueryFilters] = ParamsSchema(
    QueryFilters,
    aliases={"since": ("dateAfter", "date_after"), "until": ("dateBefore", "date_before")},
    types={"stakes": tuple[Stakes, ...]},
    reads=True,
)


async def query_decisions(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return decisions that match a query, the best first; without a query, decisions that match the filters.

    A filter may be in `filters` or beside it; `filters` takes precedence.
    """
    request = _query.decode(params)
    merged = {name: _to_list(name, value) for name, value in merge_filters(params).items()}
    filters = _search_filters.decode(merged)
    if filters.min_confidence > filters.max_confidence:
        low, high = (_search_filters.spelling(name, merged) for name in ("min_confidence", "max_confidence"))
        raise wrong_params_error([ParameterError(low, f"must not be above {high}")])
    embedding = request.supplied((_query.spelling("embedding", params), _query.spelling("embedding_model", params)))
    names_mode = _query.states("retrieval_mode", params)
    return await agent_search.query_decisions(view, caller, request, filters, embedding, names_mode=names_mode)


def _to_list(name: str, value: object) -> object:
    """Return the value of a filter, with one text as a list; None for an empty text."""
    if name not in _LIST_FILTERS or not isinstance(value, str):
        return value
    return [value] if value else None


_session: ParamsSchema[SessionParams] = ParamsSchema(
    SessionParams, aliases={"agent": ("agent", "agentId", "agent_id")}, reads=True
)


async def get_session_context(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return the context of a session. Unknown words in `include` and `format` are ignored."""
    names = [_session.spelling(name, params) for name in ("task_description", "embedding", "embedding_model")]
    return await session.get_session_context(view, caller, _session.decode(params), (names[0], names[1], names[2]))
