"""Ranked search: the decisions that match the words of a query, the best match first."""

from typing import NamedTuple

import msgspec
import numpy as np

from api.service.decisions import decision_states, parse_search_words
from api.service.ledger import View
from projections.arrays import Floats, RowNumbers
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.decisions.search_hits import BridgeSide, SearchHits


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The words to search for, and the decisions to search. Matches on the `side` of a bridge rank higher."""

    query: str
    selection: DecisionSelection = DecisionSelection()
    limit: int = 10
    offset: int = 0
    side: BridgeSide | None = None


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The best of the `total` matches, each with its relevance, 0..1.

    A match has any word of the query. The `full` matches, which have every word, come first. The relevance of the best
    match is the share of the words that it has; the relevance of the others falls with their rank.
    """

    decisions: list[DecisionState]
    fits: list[float]
    total: int
    full: int


class WordMatches(NamedTuple):
    """Every match of a query's words, the best first, with its relevance; the first `full` have every word."""

    places: RowNumbers
    fits: Floats
    full: int


async def search_decisions(view: View, query: SearchQuery) -> SearchResult:
    """Rank decisions by the words of a query (BM25 over their texts). Errors: InvalidQuery, for too many words."""
    projection, position = await view.at(DecisionIndex)
    found = await match_words(view, query, projection, position)
    page = slice(query.offset, query.offset + query.limit)
    best = await view.engine.names.subjects(projection.positions(found.places[page]))
    return SearchResult(
        decisions=await decision_states(view, best, position, history=True),
        fits=found.fits[page].tolist(),
        total=len(found.places),
        full=found.full,
    )


async def match_words(view: View, query: SearchQuery, projection: DecisionIndex, position: int) -> WordMatches:
    """Rank all decisions of the selection that have a word of the query. Errors: InvalidQuery, for too many words."""
    words, projection = parse_search_words(query.query, "query"), projection.frozen()
    hits = await view.indexes.words.find(words, position, projection.numbers, rank=True, side=query.side)
    ranked = hits.ranked(hits.places[projection.passing(hits.places, query.selection)])
    has_all = ranked.words_found == len(words)
    full, partial = np.flatnonzero(has_all), np.flatnonzero(~has_all)
    fits = _fits(ranked, full, len(words), best=1.0)
    return WordMatches(
        places=ranked.places[np.concatenate([full, partial])],
        fits=np.concatenate([fits, _fits(ranked, partial, len(words), best=fits[-1] if len(fits) else 1.0)]),
        full=len(full),
    )


def _fits(ranked: SearchHits, indexes: RowNumbers, words: int, best: float) -> Floats:
    """Return the relevance of some hits, in their order: in proportion to their scores, and at most `best`."""
    if not len(indexes):
        return np.empty(0)
    scores = ranked.scores[indexes]
    fits: Floats = best * ranked.words_found[indexes[0]] / words * scores / scores[0]
    return fits
