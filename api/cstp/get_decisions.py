"""cstp.getDecision, listDecisions and getStats: one decision, a page of them, and counts."""

import re
from datetime import timedelta
from typing import Any, cast, get_args

import msgspec
from msgspec import structs

from api.auth import Principal
from api.cstp.decision_json import decision_json, decision_row
from api.cstp.jsonrpc import RpcError
from api.cstp.params import ParamsSchema, missing_param, parse_period
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
_VALUES: dict[str, tuple[str, ...]] = {
    "stakes": get_args(Stakes),
    "status": get_args(Status),
    "sort": get_args(SortField),
    "order": ("asc", "desc"),
}
_stream_id = re.compile(STREAM_ID_PATTERN)


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
    """Return one decision, by its id or an unambiguous prefix of it."""
    decision_id = _named.decode(params).id
    if not decision_id:
        raise missing_param("id")
    if len(decision_id) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(decision_id) is None:
        raise RpcError(INVALID_PARAMS, f"Invalid decision ID: {decision_id}", {"fields": ["id"]})
    return {"found": True, "decision": decision_json(await find_decision(ledger, decision_id, prefix=True))}


async def list_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return a page of decisions.

    As in the protocol, unknown values of stakes, status, sort and order are ignored; `ignored` names these parameters.
    """
    wanted = _listing.decode(params)
    words = {name: getattr(wanted, name) for name in _VALUES}
    ignored = [name for name, word in words.items() if word and word not in _VALUES[name]]
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
            range=parse_period(
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
    rows = [decision_row(state) for state in page.decisions]
    answer: dict[str, object] = {"decisions": rows, "total": page.total, "limit": limit, "offset": offset}
    return {**answer, "ignored": ignored} if ignored else answer


async def get_stats(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return counts of decisions by their attributes, and of the last day, week and month."""
    wanted, now = _stats.decode(params), ledger.clock()
    when = parse_period(wanted.date_from or None, wanted.date_to or None, now, names=_dates(_stats, params))
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
    """Return the caller's names of the two ends of a range."""
    return shape.spelling("date_from", params), shape.spelling("date_to", params)


_BY = {"byCategory": "by_category", "byStakes": "by_stakes", "byStatus": "by_status", "byAgent": "by_agent"}
