"""cstp.queryDecisions: search earlier decisions, or list the decisions that match the filters."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from time import perf_counter
from typing import Annotated, Any, Literal

import msgspec

from api.cstp.calibration_note import note_on_plan
from api.cstp.decision_json import decision_row
from api.cstp.params_schema import (
    ParameterError,
    ParamsSchema,
    merge_filters,
    parse_period,
    wrong_params_error,
)
from api.principal import Principal
from api.service.decisions import DecisionQuery, select_decisions
from api.service.ledger import LedgerService
from api.service.search import SearchQuery, SearchResult, search_decisions
from events.decision import Stakes
from events.payload import Confidence, Count, Labels
from projections.calibration.advice import PlannedDecision
from projections.decisions.decision_index import DecisionSelection, Status
from projections.decisions.decision_state import DecisionState
from projections.decisions.full_text_search import BridgeSide

LIMIT_DEFAULT = 10
LIMIT_MAX = 50
LIST_LIMIT_MAX = 500
TITLE_CHARS_MAX = 50
FIT_DIGITS = 4

AGENT = "cognition-engines"
"""The name of the server in the protocol's answers."""

_SUMMARY_AGE, _DIGEST_AGE, _WISDOM_AGE = timedelta(days=7), timedelta(days=30), timedelta(days=90)
_LIST_FILTERS = ("stakes", "status", "tags")
"""Filters whose value may be one text or a list of texts."""


class QueryParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of queryDecisions, without its filters."""

    query: str = ""
    limit: int = LIMIT_DEFAULT
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    retrieval_mode: Literal["semantic", "keyword", "hybrid"] = "semantic"
    hybrid_weight: Confidence = 0.7
    bridge_side: BridgeSide | None = None
    include_reasons: bool = False
    include_detail: bool = False
    compacted: bool = False


class _Filters(msgspec.Struct, frozen=True, kw_only=True):
    agent: str | None = None
    category: str | None = None
    stakes: tuple[Stakes, ...] = ()
    status: tuple[Status, ...] = ()
    project: str | None = None
    feature: str | None = None
    pr: Count | None = None
    has_outcome: bool | None = None
    tags: Labels = ()
    min_confidence: Confidence = 0.0
    max_confidence: Confidence = 1.0
    date_after: str | None = None
    date_before: str | None = None


_schema: ParamsSchema[QueryParams] = ParamsSchema(QueryParams, aliases={"limit": ("limit", "top_k", "topK")})
_filters: ParamsSchema[_Filters] = ParamsSchema(_Filters)


async def query_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return decisions that match a query, the best first; without a query, decisions that match the filters.

    Search is by words, without embeddings, also for `semantic` and `hybrid`. `retrievalMode` is the mode that was used,
    `requestedMode` the requested one, and `note` explains the difference. `total` counts all matches; `limit` of them
    are returned, after the first `offset`. `calibrationNote` describes the outcomes of decisions in the category, of
    the agent in the filter or of the caller. `distance` is 0 for the best match with every word, and grows with the
    rank up to 1.
    """
    start_s = perf_counter()
    request, selection, now = _schema.decode(params), _selection(ledger, params), ledger.clock()
    if request.compacted:
        selection = msgspec.structs.replace(selection, compacted_before=now - _WISDOM_AGE)
    if not request.query.strip():
        mode, result = "list", await _list(ledger, selection, request)
    else:
        limit = min(max(request.limit, 1), LIMIT_MAX)
        retrieval = SearchQuery(
            query=request.query,
            selection=selection,
            limit=limit,
            offset=request.offset,
            side=request.bridge_side,
        )
        mode, result = "keyword", await search_decisions(ledger, retrieval)
    answer: dict[str, object] = {
        "decisions": decision_rows(result, request, now),
        "total": result.total,
        "query": request.query,
        "queryTimeMs": round((perf_counter() - start_s) * 1000),
        "agent": AGENT,
        "retrievalMode": mode,
        "requestedMode": request.retrieval_mode,
    }
    if mode == "keyword":
        answer["matched"] = _matched_words(result)
        answer["scores"] = _scores(result)
    if note := " ".join(_notes(request, mode, result)):
        answer["note"] = note
    agent = selection.agent or caller.agent
    return answer | await note_on_plan(ledger, PlannedDecision(agent=agent, category=selection.category))


def _selection(ledger: LedgerService, params: Mapping[str, Any]) -> DecisionSelection:
    """Return the selection of the filters, from `filters` or beside it; `filters` takes precedence."""
    merged = {name: _to_list(name, value) for name, value in merge_filters(params).items()}
    filters = _filters.decode(merged)
    dates = _filters.spelling("date_after", merged), _filters.spelling("date_before", merged)
    if filters.min_confidence > filters.max_confidence:
        low, high = (_filters.spelling(name, merged) for name in ("min_confidence", "max_confidence"))
        raise wrong_params_error([ParameterError(low, f"must not be above {high}")])
    statuses: tuple[Status, ...] = filters.status or ("pending", "reviewed")
    if filters.has_outcome is not None:
        statuses = tuple(status for status in statuses if (status == "reviewed") is filters.has_outcome)
    return DecisionSelection(
        agent=filters.agent or None,
        category=filters.category or None,
        stakes=filters.stakes or None,
        project=filters.project or None,
        feature=filters.feature or None,
        status=statuses,
        tags=filters.tags,
        pr=filters.pr,
        confidence_min=filters.min_confidence or None,
        confidence_max=filters.max_confidence if filters.max_confidence < 1 else None,
        range=parse_period(filters.date_after or None, filters.date_before or None, ledger.clock(), names=dates),
    )


def _to_list(name: str, value: object) -> object:
    """Return the value of a filter, with one text as a list; None for an empty text."""
    if name not in _LIST_FILTERS or not isinstance(value, str):
        return value
    return [value] if value else None


async def _list(ledger: LedgerService, selection: DecisionSelection, request: QueryParams) -> SearchResult:
    limit = min(max(request.limit, 1), LIST_LIMIT_MAX)
    query = DecisionQuery(selection=selection, limit=limit, offset=request.offset, history=True)
    page = await select_decisions(ledger, query)
    fits = [1.0] * len(page.decisions)
    return SearchResult(decisions=page.decisions, fits=fits, total=page.total, whole=True)


def decision_rows(result: SearchResult, request: QueryParams, now: datetime) -> list[dict[str, object]]:
    """Return the decisions of a result as rows of the answer."""
    return [_row(state, fit, request, now) for state, fit in zip(result.decisions, result.fits, strict=True)]


def _row(state: DecisionState, fit: float, request: QueryParams, now: datetime) -> dict[str, object]:
    """Return a decision as a row. An optional field is left out if the decision lacks it or it was not requested."""
    full_row = decision_row(state)
    row = {
        "id": full_row["id"],
        "title": state.decision.decision[:TITLE_CHARS_MAX],
        "category": full_row["category"] or "",
    }
    if "confidence" in full_row:
        row["confidence"] = full_row["confidence"]
    row |= {name: full_row[name] for name in ("stakes", "status", "date")}
    row["distance"] = round(1 - fit, FIT_DIGITS)
    optional = {
        "outcome": full_row["outcome"],
        "reasons": full_row["reasons"] if request.include_reasons else None,
        "tags": full_row["tags"],
        "pattern": full_row["pattern"],
        "compactionLevel": _level(state, now) if request.compacted else None,
        "lessons": full_row["lessons"],
        "actualResult": full_row["actual_result"] if request.include_detail else None,
        "reviewedBy": full_row.get("reviewed_by") if request.include_detail else None,
        "bridge": full_row.get("bridge"),
    }
    return row | {name: value for name, value in optional.items() if value}


def _level(state: DecisionState, now: datetime) -> str:
    """Return the compaction level for a decision's age; `full` if it is not reviewed."""
    age = now - state.recorded_at
    if state.review is None or age < _SUMMARY_AGE:
        return "full"
    return "summary" if age < _DIGEST_AGE else "digest"


def _matched_words(result: SearchResult) -> str:
    """Return which of the query's words each decision contains."""
    if result.whole:
        return "all"
    return "any" if result.total else "none"


def _scores(result: SearchResult) -> dict[str, dict[str, float]]:
    """Return a score of 0..1 for each decision. `semantic` is left out, because clients cannot read null there."""
    return {
        state.decision_id: dict.fromkeys(("keyword", "combined"), round(fit, FIT_DIGITS))
        for state, fit in zip(result.decisions, result.fits, strict=True)
    }


def _notes(request: QueryParams, mode: str, result: SearchResult) -> list[str]:
    """Return notes on how the answer was found."""
    notes = []
    if mode == "keyword" and request.retrieval_mode != mode:
        notes.append(f"There are no embeddings here: {request.retrieval_mode} was answered by keyword.")
    if mode == "keyword" and not result.total:
        notes.append("No decision holds any of its words.")
    elif mode == "keyword" and not result.whole:
        notes.append("No decision holds all the words: ranked by any of them.")
    if request.compacted:
        notes.append(f"Decisions that are reviewed and older than {_WISDOM_AGE.days} days are left out.")
    return notes
