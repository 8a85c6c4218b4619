"""cstp.getDecision, listDecisions and getStats: return one decision, a page of decisions, or counts."""

import re
from datetime import timedelta
from operator import itemgetter
from typing import Any, Literal

import msgspec

from api.cstp.decision_json import decision_json, decision_row
from api.cstp.jsonrpc import RpcError
from api.cstp.links import related_decisions
from api.cstp.params_schema import ParamsSchema, missing_param_error, parse_period
from api.cstp.unknown_names import name_unknown, unknown_json
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.decisions import DecisionQuery, count_decisions, count_decisions_since, find_decision, select_decisions
from api.service.largest import keep_largest
from api.service.ledger import LedgerService, View
from events.decision import Stakes
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STORED_ID_PATTERN, Labels
from projections.decisions.decision_selection import DecisionSelection, SortField, Status

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


class _ListParams(msgspec.Struct, frozen=True, kw_only=True):
    limit: int = LIMIT_DEFAULT
    offset: int = 0
    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    status: Status | None = None
    project: str | None = None
    feature: str | None = None
    tags: Labels = ()
    date_from: str | None = None
    date_to: str | None = None
    search: str | None = None
    sort: SortField = "created_at"
    order: Literal["asc", "desc"] = "desc"


class _StatsParams(msgspec.Struct, frozen=True, kw_only=True):
    date_from: str | None = None
    date_to: str | None = None
    project: str | None = None


_id_schema: ParamsSchema[_IdParams] = ParamsSchema(_IdParams, aliases={"id": ("id", "decision_id", "decisionId")})
_list_schema: ParamsSchema[_ListParams] = ParamsSchema(_ListParams, ignores_words=True)
_stats_schema: ParamsSchema[_StatsParams] = ParamsSchema(_StatsParams)


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
    query = DecisionQuery(
        selection=DecisionSelection(
            agent=request.agent or None,
            category=request.category or None,
            stakes=request.stakes,
            status=request.status,
            project=request.project or None,
            feature=request.feature or None,
            tags=request.tags,
            range=parse_period(
                request.date_from or None,
                request.date_to or None,
                ledger.clock(),
                names=_ends(_list_schema, params),
            ),
        ),
        sort=request.sort,
        descending=request.order == "desc",
        limit=limit,
        offset=offset,
        search=request.search if request.search and not request.search.isspace() else None,
        history=True,
    )
    page = await select_decisions(ledger, query)
    rows = [decision_row(state) for state in page.decisions]
    answer: dict[str, object] = {"decisions": rows, "total": page.total, "limit": limit, "offset": offset}
    return answer | unknown_json(page.unknown_names)


async def get_stats(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return counts of decisions by their attributes, and of the last day, week and month.

    `cut` has the number of categories and agents that are left out: the smallest beyond COUNTS_MAX.
    """
    request, now = _stats_schema.decode(params), ledger.clock()
    time_range = parse_period(
        request.date_from or None, request.date_to or None, now, names=_ends(_stats_schema, params)
    )
    selection = DecisionSelection(project=request.project or None, range=time_range)
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


def _ends(schema: ParamsSchema[Any], params: dict[str, Any]) -> tuple[str, str]:
    """Return the caller's spellings of the two ends of a range."""
    return schema.spelling("date_from", params), schema.spelling("date_to", params)
