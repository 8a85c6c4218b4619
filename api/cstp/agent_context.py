"""The context for an agent before it acts: similar decisions, and the agent's calibration."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from api.cstp.answer_names import named
from api.cstp.query_decisions import QueryParams, as_result, decision_rows
from api.principal import Principal
from api.service.decisions import parse_search_words
from api.service.ledger import View
from api.service.ranked_search import RankedQuery, ranked_search
from api.service.retrieval import Ranking, RetrievalMode, SuppliedEmbedding
from events.envelope import ANONYMOUS
from projections.calibration.calibration_view import CalibrationGroup
from projections.calibration.scores import CalibrationScores
from projections.decisions.decision_selection import DecisionSelection

Row = dict[str, Any]


class SimilarDecisions(NamedTuple):
    """Rows of queryDecisions, the mode of the search, and what the answer says about it if the ledger has vectors."""

    rows: list[Row]
    mode: RetrievalMode = "keyword"
    notes: Mapping[str, object] = MappingProxyType({})


async def similar_decisions(
    view: View,
    text: str,
    field: str,
    *,
    limit: int,
    category: str | None = None,
    embedding: SuppliedEmbedding | None = None,
    include_reasons: bool = False,
    compacted: bool = False,
) -> SimilarDecisions:
    """Return earlier decisions that match a text, the best first; none for an empty text.

    They are ranked by meaning and words. Without vectors only words count, and the answer has no note. With
    `compacted`, each row states its compaction level; none is left out.

    Errors: InvalidQuery, naming the field, for too many words, and for a vector that cannot be compared.
    """
    if not parse_search_words(text, field):
        return SimilarDecisions([])
    by_meaning = embedding is not None or await view.indexes.vectors.model() is not None
    query = RankedQuery(
        query=text,
        ranking=Ranking(mode="hybrid" if by_meaning else "keyword", embedding=embedding),
        selection=DecisionSelection(category=category, status=("pending", "reviewed")),
        limit=limit,
    )
    found = await ranked_search(view, query)
    params = QueryParams(query=text, include_reasons=include_reasons, compacted=compacted)
    rows = decision_rows(as_result(found), params, view.clock())
    if not by_meaning:
        return SimilarDecisions(rows)
    reason = f"{found.reason}: the decisions are ranked by keyword." if found.reason is not None else found.note
    notes: dict[str, object] = {"retrievalMode": found.mode}
    return SimilarDecisions(rows, found.mode, notes if reason is None else {**notes, "retrievalNote": reason})


def own_agent(caller: Principal) -> str | None:
    """Return the agent whose figures the caller sees; None, for all agents, if neither token nor header names it."""
    return None if caller.agent == ANONYMOUS else caller.agent


def scores_json(scores: CalibrationScores | CalibrationGroup | None) -> dict[str, object]:
    """Return scores as CSTP names them, or {} without scores. `supported`: the data supports the interpretation."""
    if scores is None or scores.brier_score is None or scores.accuracy is None or scores.gap is None:
        return {}
    return named(scores, ("brier_score", "accuracy", "gap", "interpretation", "supported"), {"gap": "calibrationGap"})
