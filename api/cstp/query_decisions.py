"""cstp.queryDecisions: search earlier decisions, or list the decisions that match the filters."""

from collections.abc import Mapping
from datetime import datetime
from time import perf_counter
from typing import Annotated, Any

import msgspec

from api.cstp.answer_names import name_unknown, named, to_camel, without_none
from api.cstp.decision_json import UNSTATED, decision_row
from api.cstp.params_schema import (
    ParameterError,
    ParamsSchema,
    merge_filters,
    wrong_params_error,
)
from api.principal import Principal
from api.service.advice import note_on_plan
from api.service.compaction import SHOWN_LEVELS
from api.service.ledger import View
from api.service.ranked_search import RankedQuery, RankedResult, find_or_list
from api.service.retrieval import Ranking
from api.service.search import SearchResult
from api.service.supplied_vector import read_embedding
from events.decision import Stakes
from events.payload import Confidence, Count, Label, Labels
from events.vector import Numbers
from projections.calibration.advice import PlannedDecision
from projections.decisions.compaction import WISDOM_DAYS, LevelFilter, level_of
from projections.decisions.decision_selection import DecisionSelection, Status
from projections.decisions.decision_state import DecisionState
from projections.decisions.search_hits import BridgeSide
from projections.shared_params import DecisionFilterParams, Since, Until
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationGroup, CalibrationScores
from tallystick.shapes.retrieval import RetrievalMode

LIMIT_DEFAULT = 10
LIMIT_MAX, LIST_LIMIT_MAX = 50, 500
TITLE_CHARS_MAX = 50
FIT_DIGITS = 4

_FIRST_FIELDS = ("id", "title", "category", "confidence")
"""The first fields of a row."""

_REQUIRED = ("id", "title", "category", "confidence", "stakes", "status", "date", "distance", "decision")
_DETAIL = ["actual_result", "reviewed_by"]
_OPTIONAL = (
    "outcome", "reasons", "tags", "pattern", "compaction_level", "lessons", *_DETAIL, "bridge", UNSTATED,
)  # fmt: skip

AGENT = "cognition-engines"
"""The name of the server in the protocol's answers."""

_LIST_FILTERS = ("stakes", "status", "tags")
"""Filters whose value may be one text or a list of texts."""


class QueryParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of queryDecisions, without its filters."""

    query: str = ""
    limit: int = LIMIT_DEFAULT
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    retrieval_mode: RetrievalMode = "semantic"
    hybrid_weight: Confidence = 0.7
    bridge_side: BridgeSide | None = None
    include_reasons: bool = False
    include_detail: bool = False
    compacted: bool = False
    embedding: Numbers | None = None
    embedding_model: Label | None = None


class _Filters(DecisionFilterParams, frozen=True, kw_only=True):
    status: tuple[Status, ...] = ()
    pr: Count | None = None
    has_outcome: bool | None = None
    tags: Labels = ()
    min_confidence: Confidence = 0.0
    max_confidence: Confidence = 1.0
    since: Since = None
    until: Until = None


_schema: ParamsSchema[QueryParams] = ParamsSchema(
    QueryParams, aliases={"limit": ("limit", "top_k", "topK")}, reads=True
)
_filters: ParamsSchema[_Filters] = ParamsSchema(
    _Filters,
    aliases={"since": ("dateAfter", "date_after"), "until": ("dateBefore", "date_before")},
    types={"stakes": tuple[Stakes, ...]},
    reads=True,
)


async def query_decisions(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return decisions that match a query, the best first; without a query, decisions that match the filters.

    `semantic` compares vectors: of the operator's embeddings endpoint, or those that callers supply as `embedding` with
    `embeddingModel`. Without them the search is by words. `retrievalMode` is the mode that was used, `requestedMode`
    the requested one, and `note` explains the difference. `total` counts all matches; `limit` of them are returned,
    after the first `offset`. By words, decisions with every word come first, then those with some; `matchedAll` counts
    those with every word. `calibrationNote` describes the outcomes of decisions in the category, of the agent in the
    filter or of the caller.

    `distance` is the cosine distance, 0..2, in the mode `semantic`. In `keyword` it is 0 for the best match with every
    word, and grows with the rank up to 1. In `hybrid` it is 1 minus the weighted sum of both scores, where
    `hybridWeight` is the weight of the meaning.

    The row of a decision without a confidence has `confidence: null` if the call names a `retrievalMode`. Otherwise it
    has no such key. Clients that name a mode read the key; the others cannot read null.
    """
    start_s = perf_counter()
    request, selection, now = _schema.decode(params), _selection(params), view.clock()
    if request.compacted:
        selection = msgspec.structs.replace(selection, compaction=LevelFilter(levels=SHOWN_LEVELS, now=now))
    found = await find_or_list(view, _ranked_query(request, selection, params), LIMIT_MAX, LIST_LIMIT_MAX)
    mode, result, ranked = found
    rows = decision_rows(result, request, now)
    if _schema.states("retrieval_mode", params):
        rows = [{name: row.get(name) for name in dict.fromkeys((*_FIRST_FIELDS, *row))} for row in rows]
    answer: dict[str, object] = {
        "decisions": rows,
        "total": result.total,
        "query": request.query,
        "queryTimeMs": round((perf_counter() - start_s) * 1000),
        "agent": AGENT,
        "retrievalMode": mode,
        "requestedMode": request.retrieval_mode,
    }
    if ranked is not None:
        if mode == "keyword":
            answer["matched"] = found.matched
        answer["scores"] = _scores(ranked)
        if mode == "keyword":
            answer["matchedAll"] = result.full
        if ranked.model is not None:
            answer["embeddingModel"] = ranked.model
    unknown = {} if result.total else await name_unknown(view, selection)
    notes = ["No decision has a name of the filter: see unknownNames."] if unknown else found.words_notes()
    if request.compacted:
        notes.append(f"Decisions that are reviewed, not preserved and older than {WISDOM_DAYS} days are left out.")
    if notes := [*found.mode_notes(), *notes]:
        answer["note"] = " ".join(notes)
    answer |= unknown
    agent = selection.agent or caller.agent
    note_on_outcomes = await note_on_plan(view, PlannedDecision(agent=agent, category=selection.category))
    return answer if note_on_outcomes is None else {**answer, "calibrationNote": note_on_outcomes}


def _ranked_query(request: QueryParams, selection: DecisionSelection, params: Mapping[str, Any]) -> RankedQuery:
    names = _schema.spelling("embedding", params), _schema.spelling("embedding_model", params)
    is_list = not request.query.strip() and request.embedding is None
    model = None if is_list else request.embedding_model
    return RankedQuery(
        query=request.query,
        ranking=Ranking(
            mode=request.retrieval_mode,
            weight=request.hybrid_weight,
            embedding=read_embedding(request.embedding, model, names=names),
        ),
        selection=selection,
        limit=max(request.limit, 1),
        offset=request.offset,
        side=request.bridge_side,
    )


def _selection(params: Mapping[str, Any]) -> DecisionSelection:
    """Return the selection of the filters, from `filters` or beside it; `filters` takes precedence."""
    merged = {name: _to_list(name, value) for name, value in merge_filters(params).items()}
    filters = _filters.decode(merged)
    if filters.min_confidence > filters.max_confidence:
        low, high = (_filters.spelling(name, merged) for name in ("min_confidence", "max_confidence"))
        raise wrong_params_error([ParameterError(low, f"must not be above {high}")])
    statuses: tuple[Status, ...] = filters.status or ("pending", "reviewed")
    if filters.has_outcome is not None:
        statuses = tuple(status for status in statuses if (status == "reviewed") is filters.has_outcome)
    return DecisionSelection(
        **{**filters.keys(), "stakes": filters.stakes or None},
        status=statuses,
        tags=filters.tags,
        pr=filters.pr,
        confidence_min=filters.min_confidence or None,
        confidence_max=filters.max_confidence if filters.max_confidence < 1 else None,
        range=TimeRange(filters.since, filters.until),
    )


def _to_list(name: str, value: object) -> object:
    """Return the value of a filter, with one text as a list; None for an empty text."""
    if name not in _LIST_FILTERS or not isinstance(value, str):
        return value
    return [value] if value else None


def decision_rows(result: SearchResult, request: QueryParams, now: datetime) -> list[dict[str, object]]:
    """Return the decisions of a result as rows of the answer."""
    return [_row(state, fit, request, now) for state, fit in zip(result.decisions, result.fits, strict=True)]


def _row(state: DecisionState, fit: float, request: QueryParams, now: datetime) -> dict[str, object]:
    """Return a decision as a row. An optional field is left out if the decision lacks it or it was not requested."""
    full_row = decision_row(state)
    left_out = ([] if request.include_reasons else ["reasons"]) + ([] if request.include_detail else _DETAIL)
    row = {
        **full_row,
        "title": state.decision.decision[:TITLE_CHARS_MAX],
        "distance": round(1 - fit, FIT_DIGITS),
        "compaction_level": level_of(state, now) if request.compacted else None,
    }
    optional = {to_camel(name): row.get(name) for name in _OPTIONAL if name not in left_out}
    return {name: row[name] for name in _REQUIRED if name in row} | {
        name: value for name, value in optional.items() if value
    }


def _scores(ranked: RankedResult) -> dict[str, dict[str, float]]:
    """Return the scores of each decision. One that it lacks is left out, because clients cannot read null there."""
    return {
        match.decision_id: {
            name: round(value, FIT_DIGITS)
            for name in ("semantic", "keyword", "combined")
            if (value := getattr(match, name)) is not None
        }
        for match in ranked.scores
    }


def similar_rows(
    found: RankedResult | None, now: datetime, *, include_reasons: bool = False, compacted: bool = False
) -> list[dict[str, Any]]:
    """Return similar decisions as rows. With `compacted`, each states its compaction level; none is left out."""
    params = QueryParams(include_reasons=include_reasons, compacted=compacted)
    return [] if found is None else decision_rows(found.as_search(), params, now)


def similar_notes(found: RankedResult | None) -> dict[str, object]:
    """Return what an answer says about the search for similar decisions, if the ledger has vectors."""
    if found is None or found.requested == "keyword":
        return {}
    reason = f"{found.reason}: the decisions are ranked by keyword." if found.reason is not None else found.note
    return without_none({"retrievalMode": found.mode, "retrievalNote": reason})


def scores_json(scores: CalibrationScores | CalibrationGroup | None) -> dict[str, object]:
    """Return scores as CSTP names them, or {} without scores. `supported`: the data supports the interpretation."""
    if scores is None or scores.brier_score is None or scores.accuracy is None or scores.gap is None:
        return {}
    return named(scores, ("brier_score", "accuracy", "gap", "interpretation", "supported"), {"gap": "calibrationGap"})
