"""Ranked search: the decisions that match the words of a query, the best match first."""

import msgspec

from api.service.decisions import decision_states, parse_search_words
from api.service.ledger import LedgerService
from projections.decisions.decision_index import DecisionIndex, DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.decisions.full_text_search import BridgeSide


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The words to search for, and the decisions to search. Matches on the `side` of a bridge rank higher."""

    query: str
    selection: DecisionSelection = DecisionSelection()
    limit: int = 10
    offset: int = 0
    side: BridgeSide | None = None


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The best of the `total` matches, each with its relevance, 0..1.

    `whole` is true if the matches contain every word of the query. If no decision does, the matches are those with any
    of the words. The relevance of the best match is the share of the words that it contains; that of the others is in
    proportion to their scores.
    """

    decisions: list[DecisionState]
    fits: list[float]
    total: int
    whole: bool


async def search_decisions(ledger: LedgerService, query: SearchQuery) -> SearchResult:
    """Rank decisions by the words of a query (BM25 over their texts). Errors: InvalidQuery, for too many words."""
    words = parse_search_words(query.query, "query")
    projection, position = await ledger.engine.at(DecisionIndex)
    rows = projection.find(query.selection)
    hits = await ledger.search.find(words, position, projection.index, rank=True, side=query.side)
    whole = hits.filter_places(rows, len(words))
    ranked = hits.ranked(whole if len(whole) else rows)
    page = slice(query.offset, query.offset + query.limit)
    best = projection.subjects(ranked.places[page])
    fits = [float(ranked.words_found[0] / len(words) * score / ranked.scores[0]) for score in ranked.scores[page]]
    return SearchResult(
        decisions=await decision_states(ledger, best, position, history=True),
        fits=fits,
        total=len(ranked.places),
        whole=bool(len(whole)),
    )
