"""Search earlier decisions, or list the decisions that match the filters; name decisions and scores as CSTP does."""

from datetime import datetime
from time import perf_counter
from typing import Annotated, Any

import msgspec

from api.principal import Principal
from api.service.advice import note_on_plan
from api.service.agent_calls.answer_names import name_unknown, named, to_camel, without_none
from api.service.agent_calls.decision_json import UNSTATED, decision_row
from api.service.agent_calls.guardrails import AGENT
from api.service.compaction import SHOWN_LEVELS
from api.service.ledger import View
from api.service.ranked_search import RankedQuery, RankedResult, SearchResult, find_or_list
from api.service.retrieval import Ranking, SuppliedEmbedding
from api.service.supplied_vector import read_embedding
from events.payload import Confidence, Count, Label, Labels
from events.vector import Numbers
from ledger.errors import InvalidQuery
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


class QueryParams(msgspec.Struct, frozen=True, kw_only=True):
    """A search for decisions, without its filters."""

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

    def supplied(self, names: tuple[str, str]) -> SuppliedEmbedding | None:
        """Return the vector of the query; None without one. `names` are the fields' names. Errors: InvalidQuery."""
        is_list = not self.query.strip() and self.embedding is None
        return read_embedding(self.embedding, None if is_list else self.embedding_model, names=names)


class QueryFilters(DecisionFilterParams, frozen=True, kw_only=True):
    """Which decisions to search."""

    status: tuple[Status, ...] = ()
    pr: Count | None = None
    has_outcome: bool | None = None
    tags: Labels = ()
    min_confidence: Confidence = 0.0
    max_confidence: Confidence = 1.0
    since: Since = None
    until: Until = None

    def selection(self) -> DecisionSelection:
        """Return the selection. Errors: InvalidQuery."""
        if self.min_confidence > self.max_confidence:
            raise InvalidQuery("min_confidence", "must not be above max_confidence.", "Exchange them.")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise InvalidQuery("since", "begins after until ends.", "Exchange them.")
        statuses: tuple[Status, ...] = self.status or ("pending", "reviewed")
        if self.has_outcome is not None:
            statuses = tuple(status for status in statuses if (status == "reviewed") is self.has_outcome)
        return DecisionSelection(
            **{**self.keys(), "stakes": self.stakes or None},
            status=statuses,
            tags=self.tags,
            pr=self.pr,
            confidence_min=self.min_confidence or None,
            confidence_max=self.max_confidence if self.max_confidence < 1 else None,
            range=TimeRange(self.since, self.until),
        )


async def query_decisions(
    view: View,
    caller: Principal,
    request: QueryParams,
    filters: QueryFilters,
    embedding: SuppliedEmbedding | None,
    *,
    names_mode: bool,
) -> dict[str, object]:
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

    The row of a decision without a confidence has `confidence: null` if the call `names_mode`, the mode of the search.
    Otherwise it has no such key. Clients that name a mode read the key; the others cannot read null.
    Errors: InvalidQuery.
    """
    start_s = perf_counter()
    selection, now = filters.selection(), view.clock()
    if request.compacted:
        selection = msgspec.structs.replace(selection, compaction=LevelFilter(levels=SHOWN_LEVELS, now=now))
    found = await find_or_list(view, _ranked_query(request, selection, embedding), LIMIT_MAX, LIST_LIMIT_MAX)
    mode, result, ranked = found
    rows = decision_rows(result, request, now)
    if names_mode:
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


def _ranked_query(
    request: QueryParams, selection: DecisionSelection, embedding: SuppliedEmbedding | None
) -> RankedQuery:
    return RankedQuery(
        query=request.query,
        ranking=Ranking(mode=request.retrieval_mode, weight=request.hybrid_weight, embedding=embedding),
        selection=selection,
        limit=max(request.limit, 1),
        offset=request.offset,
        side=request.bridge_side,
    )


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
