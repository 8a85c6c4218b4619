"""cstp.getDecision, listDecisions and getStats: what was decided, one by one and counted."""

import re
from datetime import timedelta
from typing import Any, cast, get_args

import msgspec
from msgspec import structs

from api.auth import Principal
from api.cstp.decision_json import decision_of, row_of
from api.cstp.jsonrpc import RpcError
from api.cstp.params import ParamsSchema, missing, period_of
from api.errors import INVALID_PARAMS
from api.service.decisions import DecisionQuery, count_decisions, count_decisions_since, find_decision, select_decisions
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, Labels
from projections.decisions.decision_index import DecisionSelection, SortField, Status

LIMIT_DEFAULT = 20
LIMIT_MAX = 500
DAYS_MAX = 30
TAGS_MAX = 20

_RECENT = {"last24h": timedelta(hours=24), "last7d": timedelta(days=7), "last30d": timedelta(days=30)}
_WORDS: dict[str, tuple[str, ...]] = {
    "stakes": get_args(Stakes),
    "status": get_args(Status),
    "sort": get_args(SortField),
    "order": ("asc", "desc"),
}
_shape_of_id = re.compile(STREAM_ID_PATTERN)


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    id: str | None = None


class _Listing(msgspec.Struct, frozen=True, kw_only=True):
    limit: int = LIMIT_DEFAULT
    offset: int = 0
    agent: str | None = None
    category: str | None = None
    stakes: str | None = None
    status: str | None = None
    project: str | None = None
    feature: str | None = None
    tags: Labels = ()
    date_from: str | None = None
    date_to: str | None = None
    search: str | None = None
    sort: str | None = None
    order: str | None = None


class _Stats(msgspec.Struct, frozen=True, kw_only=True):
    date_from: str | None = None
    date_to: str | None = None
    project: str | None = None


_named: ParamsSchema[_Named] = ParamsSchema(_Named, aliases={"id": ("id", "decision_id", "decisionId")})
_listing: ParamsSchema[_Listing] = ParamsSchema(_Listing)
_stats: ParamsSchema[_Stats] = ParamsSchema(_Stats)


async def get_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """One decision, by its id or by a beginning that no other id has."""
    decision_id = _named.decode(params).id
    if not decision_id:
        raise missing("id")
    if len(decision_id) > STREAM_ID_CHARS_MAX or _shape_of_id.fullmatch(decision_id) is None:
        raise RpcError(INVALID_PARAMS, f"Invalid decision ID: {decision_id}", {"fields": ["id"]})
    return {"found": True, "decision": decision_of(await find_decision(ledger, decision_id, prefix=True))}


async def list_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """A page of decisions.

    Words the protocol does not know for stakes, status, sort and order count as absent there, and so here; `ignored`
    names them.
    """
    wanted = _listing.decode(params)
    words = {name: getattr(wanted, name) for name in _WORDS}
    ignored = [name for name, word in words.items() if word and word not in _WORDS[name]]
    words |= dict.fromkeys(ignored)
    limit, offset = min(max(wanted.limit, 1), LIMIT_MAX), max(wanted.offset, 0)
    query = DecisionQuery(
        selection=DecisionSelection(
            agent=wanted.agent or None,
            category=wanted.category or None,
            stakes=words["stakes"] or None,
            status=cast("Status | None", words["status"] or None),
            project=wanted.project or None,
            feature=wanted.feature or None,
            tags=wanted.tags,
            range=period_of(
                wanted.date_from or None, wanted.date_to or None, ledger.clock(), names=_dates(_listing, params)
            ),
        ),
        sort=cast("SortField", words["sort"] or "created_at"),
        descending=words["order"] != "asc",
        limit=limit,
        offset=offset,
        search=wanted.search if wanted.search and not wanted.search.isspace() else None,
        history=True,
    )
    page = await select_decisions(ledger, query)
    rows = [row_of(standing) for standing in page.decisions]
    answer: dict[str, object] = {"decisions": rows, "total": page.total, "limit": limit, "offset": offset}
    return {**answer, "ignored": ignored} if ignored else answer


async def get_stats(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Counts of decisions by what they are about, and of the last day, week and month."""
    wanted, now = _stats.decode(params), ledger.clock()
    when = period_of(wanted.date_from or None, wanted.date_to or None, now, names=_dates(_stats, params))
    selection = DecisionSelection(project=wanted.project or None, range=when)
    counted = await count_decisions(ledger, selection)
    recent = await count_decisions_since(ledger, selection, [now - span for span in _RECENT.values()])
    counts = structs.asdict(counted)
    return {
        "total": counted.total,
        **{name: counts[field] for name, field in _BY.items()},
        "byDay": [{"date": day, "count": count} for day, count in counted.by_day[:DAYS_MAX]],
        "topTags": [{"tag": tag, "count": count} for tag, count in counted.top_tags[:TAGS_MAX]],
        "recentActivity": dict(zip(_RECENT, recent, strict=True)),
    }


def _dates(shape: ParamsSchema[Any], params: dict[str, Any]) -> tuple[str, str]:
    """What the caller calls the two ends."""
    return shape.spelling("date_from", params), shape.spelling("date_to", params)


_BY = {"byCategory": "by_category", "byStakes": "by_stakes", "byStatus": "by_status", "byAgent": "by_agent"}
