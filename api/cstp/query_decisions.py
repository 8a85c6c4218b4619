"""cstp.queryDecisions: search earlier decisions, or list those that match the filters."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Literal

import msgspec

from api.auth import Principal
from api.cstp.calibration_note import note_on_plan
from api.cstp.decision_json import decision_row
from api.cstp.params import ParameterError, ParamsSchema, merge_filters, parse_period, refuse_params
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

AGENT = "cognition-engines"
"""The name of the answering server in the protocol."""

_SUMMARY_AGE, _DIGEST_AGE, _WISDOM_AGE = timedelta(days=7), timedelta(days=30), timedelta(days=90)
_SEVERAL = ("stakes", "status", "tags")
"""Filters that take one value or a list of them."""


class QueryParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of queryDecisions beside its filters."""

    query: str = ""
    limit: int = LIMIT_DEFAULT
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


_asked: ParamsSchema[QueryParams] = ParamsSchema(QueryParams, aliases={"limit": ("limit", "top_k", "topK")})
_filters: ParamsSchema[_Filters] = ParamsSchema(_Filters)


async def query_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return decisions that match a query, the best first; without a query, those that match the filters, newest first.

    Search is by words, without embeddings, also for `semantic` and `hybrid`. `retrievalMode` is the mode that was used,
    `requestedMode` the requested one, and `note` explains the difference. `total` counts all matches, of which `limit`
    are returned. `calibrationNote` describes how decisions in the category turned out, of the agent in the filter or of
    the caller. `distance` is 0 for the best match with every word, and grows with the rank up to 1.
    """
    began = perf_counter()
    asked, selection, now = _asked.decode(params), _selection(ledger, params), ledger.clock()
    if asked.compacted:
        selection = msgspec.structs.replace(selection, compacted_before=now - _WISDOM_AGE)
    if not asked.query.strip():
        mode, found = "list", await _list(ledger, selection, min(max(asked.limit, 1), LIST_LIMIT_MAX))
    else:
        limit = min(max(asked.limit, 1), LIMIT_MAX)
        retrieval = SearchQuery(query=asked.query, selection=selection, limit=limit, side=asked.bridge_side)
        mode, found = "keyword", await search_decisions(ledger, retrieval)
    answer: dict[str, object] = {
        "decisions": decision_rows(found, asked, now),
        "total": found.total,
        "query": asked.query,
        "queryTimeMs": round((perf_counter() - began) * 1000),
        "agent": AGENT,
        "retrievalMode": mode,
        "requestedMode": asked.retrieval_mode,
    }
    if mode == "keyword":
        answer["matched"] = "all" if found.whole else "any" if found.total else "none"
        answer["scores"] = _scores(found)
    if said := " ".join(_notes(asked, mode, found)):
        answer["note"] = said
    agent = selection.agent or caller.agent
    return answer | await note_on_plan(ledger, PlannedDecision(agent=agent, category=selection.category))


def _selection(ledger: LedgerService, params: Mapping[str, Any]) -> DecisionSelection:
    """Return the selection of the filters, from `filters` or beside it; `filters` takes precedence."""
    spelled = {name: _listed(name, value) for name, value in merge_filters(params).items()}
    given = _filters.decode(spelled)
    dates = _filters.spelling("date_after", spelled), _filters.spelling("date_before", spelled)
    if given.min_confidence > given.max_confidence:
        low, high = (_filters.spelling(name, spelled) for name in ("min_confidence", "max_confidence"))
        raise refuse_params([ParameterError(low, f"must not be above {high}")])
    statuses: tuple[Status, ...] = given.status or ("pending", "reviewed")
    if given.has_outcome is not None:
        statuses = tuple(status for status in statuses if (status == "reviewed") is given.has_outcome)
    return DecisionSelection(
        agent=given.agent or None,
        category=given.category or None,
        stakes=given.stakes or None,
        project=given.project or None,
        feature=given.feature or None,
        status=statuses,
        tags=given.tags,
        pr=given.pr,
        confidence_min=given.min_confidence or None,
        confidence_max=given.max_confidence if given.max_confidence < 1 else None,
        range=parse_period(given.date_after or None, given.date_before or None, ledger.clock(), names=dates),
    )


def _listed(name: str, value: object) -> object:
    if name not in _SEVERAL or not isinstance(value, str):
        return value
    return [value] if value else None


async def _list(ledger: LedgerService, selection: DecisionSelection, limit: int) -> SearchResult:
    page = await select_decisions(ledger, DecisionQuery(selection=selection, limit=limit, history=True))
    fits = [1.0] * len(page.decisions)
    return SearchResult(decisions=page.decisions, fits=fits, total=page.total, whole=True)


def decision_rows(found: SearchResult, asked: QueryParams, now: datetime) -> list[dict[str, object]]:
    """Return the decisions that were found as rows of the answer."""
    return [_row(state, fit, asked, now) for state, fit in zip(found.decisions, found.fits, strict=True)]


def _row(state: DecisionState, fit: float, asked: QueryParams, now: datetime) -> dict[str, object]:
    """Return a decision as a row, with the optional fields that it has and the caller requested."""
    whole = decision_row(state)
    row = {
        "id": whole["id"],
        "title": state.decision.decision[:TITLE_CHARS_MAX],
        "category": whole["category"] or "",
    }
    if "confidence" in whole:
        row["confidence"] = whole["confidence"]
    row |= {name: whole[name] for name in ("stakes", "status", "date")}
    row["distance"] = round(1 - fit, 4)
    further = {
        "outcome": whole["outcome"],
        "reasons": whole["reasons"] if asked.include_reasons else None,
        "tags": whole["tags"],
        "pattern": whole["pattern"],
        "compactionLevel": _level(state, now) if asked.compacted else None,
        "lessons": whole["lessons"],
        "actualResult": whole["actual_result"] if asked.include_detail else None,
        "bridge": whole.get("bridge"),
    }
    return row | {name: value for name, value in further.items() if value}


def _level(state: DecisionState, now: datetime) -> str:
    """Return the compaction level for a decision's age; `full` while it is not reviewed."""
    age = now - state.recorded_at
    if state.review is None or age < _SUMMARY_AGE:
        return "full"
    return "summary" if age < _DIGEST_AGE else "digest"


def _scores(found: SearchResult) -> dict[str, dict[str, float]]:
    """Return how well each decision matches, 0..1; without `semantic`, because clients cannot read null there."""
    return {
        state.decision_id: {"keyword": round(fit, 4), "combined": round(fit, 4)}
        for state, fit in zip(found.decisions, found.fits, strict=True)
    }


def _notes(asked: QueryParams, mode: str, found: SearchResult) -> list[str]:
    """Return notes on how the answer was found."""
    notes = []
    if mode == "keyword" and asked.retrieval_mode != mode:
        notes.append(f"There are no embeddings here: {asked.retrieval_mode} was answered by keyword.")
    if mode == "keyword" and not found.total:
        notes.append("No decision holds any of its words.")
    elif mode == "keyword" and not found.whole:
        notes.append("No decision holds all the words: ranked by any of them.")
    if asked.compacted:
        notes.append(f"Decisions that are reviewed and older than {_WISDOM_AGE.days} days are left out.")
    return notes
