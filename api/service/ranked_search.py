"""Search by meaning, by words, or by both: decisions ranked by vectors, by BM25, or by a weighted sum.

The answer names the mode that was used. Where there are no vectors to compare, it is `keyword`, and a note says why.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from api.service.decisions import DecisionQuery, decision_states, parse_search_words, select_decisions
from api.service.ledger import View
from api.service.retrieval import Ranking
from api.service.vectors import EndpointFailed, go_on
from ledger.errors import InvalidQuery
from projections.arrays import Floats, RowNumbers
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.decisions.embedded_text import query_text
from projections.decisions.search_hits import BridgeSide, SearchHits
from tallystick.shapes.retrieval import MatchScores, RetrievalMode

SCORE_DIGITS = 6


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


class RankedQuery(SearchQuery, frozen=True, kw_only=True):
    """What to search for, and how."""

    ranking: Ranking
    history: bool = True


class RankedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The best of the `total` matches. `words` is how the words matched, if the mode used is `keyword`."""

    mode: RetrievalMode
    requested: RetrievalMode
    decisions: list[DecisionState]
    scores: list[MatchScores]
    total: int
    position: int
    """The position as of which was searched."""
    model: str | None = None
    reason: str | None = None
    """Why the mode is not the requested one."""
    note: str | None = None
    """What is not ranked by its meaning."""
    words: SearchResult | None = None

    def as_search(self) -> SearchResult:
        """Return the result with fits of which the distances are the complement."""
        if self.words is not None:
            return self.words
        fits = [1 - match.distance for match in self.scores]
        return SearchResult(decisions=self.decisions, fits=fits, total=self.total, full=self.total)


class FoundDecisions(NamedTuple):
    """Decisions, how they were found, and the ranked search that found them; None if they were listed."""

    mode: RetrievalMode | Literal["list"]
    result: SearchResult
    ranked: RankedResult | None = None

    @property
    def matched(self) -> Literal["none", "all", "any"]:
        """Which of the query's words each of the decisions contains."""
        if not self.result.total:
            return "none"
        return "all" if len(self.result.decisions) <= self.result.full else "any"

    def mode_notes(self) -> list[str]:
        """Return why the mode is not the requested one, and what is not ranked by its meaning."""
        if self.ranked is None:
            return []
        reason, requested = self.ranked.reason, self.ranked.requested
        fallback = None if reason is None else f"{reason}: {requested} was answered by keyword."
        return [note for note in (fallback, self.ranked.note) if note is not None]

    def words_notes(self) -> list[str]:
        """Return how many of the words the decisions contain, unless each contains all."""
        found, full = len(self.result.decisions), self.result.full
        if self.mode != "keyword" or (full and found <= full):
            return []
        if not self.result.total:
            return ["No decision holds any of its words."]
        if not full:
            return ["No decision holds all the words: ranked by any of them."]
        return [f"The first {full} hold all the words, the others some of them."]


class _Meaning(NamedTuple):
    """The decisions with a vector, those of the selection, their distances; the texts without a vector."""

    model: str
    places: RowNumbers
    distances: Floats
    missing: int


class _NoVectors(Exception):
    """Nothing can be compared; the text says why."""


async def find_or_list(view: View, query: RankedQuery, ranked_max: int, listed_max: int) -> FoundDecisions:
    """Search decisions; list those of the selection, the newest first, if there is neither a text nor a vector.

    At most `ranked_max` are ranked, `listed_max` listed. Errors: InvalidQuery.
    """
    if query.query.strip() or query.ranking.embedding is not None:
        ranked = await ranked_search(view, structs.replace(query, limit=min(query.limit, ranked_max)))
        return FoundDecisions(ranked.mode, ranked.as_search(), ranked)
    listed = DecisionQuery(
        selection=query.selection, limit=min(query.limit, listed_max), offset=query.offset, history=True
    )
    page = await select_decisions(view, listed)
    fits = [1.0] * len(page.decisions)
    return FoundDecisions("list", SearchResult(decisions=page.decisions, fits=fits, total=page.total, full=page.total))


async def ranked_search(view: View, query: RankedQuery) -> RankedResult:
    """Search decisions in a mode; by keyword, if there are no vectors. Errors: InvalidQuery."""
    if query.ranking.mode == "keyword":
        return await _by_words(view, query, None)
    try:
        meaning = await _by_meaning(view, query)
    except _NoVectors as error:
        return await _by_words(view, query, str(error))
    if query.ranking.mode == "semantic":
        return await _semantic(view, query, meaning)
    return await _hybrid(view, query, meaning)


async def _by_words(view: View, query: RankedQuery, reason: str | None) -> RankedResult:
    words = await search_decisions(view, query)
    _, position = await view.at(DecisionIndex)
    scores = [
        MatchScores(decision_id=state.decision_id, distance=_rounded(1 - fit), keyword=fit, combined=fit)
        for state, fit in zip(words.decisions, words.fits, strict=True)
    ]
    decisions = words.decisions
    if not query.history:
        decisions = [structs.replace(state, history=()) for state in decisions]
    return RankedResult(
        mode="keyword",
        requested=query.ranking.mode,
        decisions=decisions,
        scores=scores,
        total=words.total,
        position=position,
        reason=reason,
        words=words,
    )


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


async def _by_meaning(view: View, query: RankedQuery) -> _Meaning:
    """Return the decisions of the selection that have a vector, the nearest first; of equal ones the newest first.

    Errors: _NoVectors; InvalidQuery, for a vector that cannot be compared.
    """
    index = await view.indexes.vectors.index()
    if index is None:
        raise _NoVectors("There are no embeddings here")
    vector = await _query_vector(view, query, index.model)
    projection, position = await view.at(DecisionIndex)
    total, projection = projection.total(query.selection), projection.frozen()
    try:
        places, distances, missing = await index.find(vector, position, projection.numbers, go_on)
    except ValueError as error:
        if query.ranking.embedding is None:
            raise _NoVectors(f"The embedding of the query {error}") from None
        raise InvalidQuery("embedding", f"{error}.", "Send the vector as the model made it.") from None
    selected = projection.passing(places, query.selection)
    places, distances = places[selected], distances[selected]
    if not len(places):
        raise _NoVectors(f"No decision here has an embedding of {index.model}" + (" yet" if missing else ""))
    order = np.lexsort((-places, distances))
    return _Meaning(index.model, places[order], distances[order], total - len(places))


async def _query_vector(view: View, query: RankedQuery, model: str) -> Sequence[float]:
    """Return the vector of the query. Errors: InvalidQuery, for a supplied one of another model or size; _NoVectors."""
    if query.ranking.embedding is not None:
        if query.ranking.embedding.model != model:
            raise InvalidQuery(
                "embedding_model",
                f"{query.ranking.embedding.model!r} is not {model!r}, the model of this view's vectors.",
                f"Make the vector with {model!r}, or leave it out.",
            )
        numbers, size = query.ranking.embedding.numbers, await view.indexes.vectors.size(model)
        if size and len(numbers) != size:
            detail = f"must have {size:,} numbers, as every vector of {model}, got {len(numbers):,}."
            raise InvalidQuery("embedding", detail, "Send the vector as the model made it.")
        return numbers
    if view.indexes.vectors.endpoint is None:
        raise _NoVectors(f"There is no embeddings endpoint, and the query has no `embedding` of {model}")
    try:
        return await view.indexes.vectors.ask_query(query_text(query.query, query.side))
    except EndpointFailed as error:
        raise _NoVectors(f"{str(error)[0].upper()}{str(error)[1:]}") from None


async def _semantic(view: View, query: RankedQuery, meaning: _Meaning) -> RankedResult:
    projection, position = await view.at(DecisionIndex)
    page = slice(query.offset, query.offset + query.limit)
    subjects = await view.engine.names.subjects(projection.positions(meaning.places[page]))
    scores = [
        MatchScores(
            decision_id=_id(subject), distance=_rounded(distance), semantic=_rounded(1 - distance),
            combined=_rounded(1 - distance),
        )
        for subject, distance in zip(subjects, meaning.distances[page].tolist(), strict=True)
    ]  # fmt: skip
    return RankedResult(
        mode="semantic",
        requested=query.ranking.mode,
        decisions=await decision_states(view, subjects, position, history=query.history),
        scores=scores,
        total=len(meaning.places),
        position=position,
        model=meaning.model,
        note=_missing_note(meaning, "left out"),
    )


async def _hybrid(view: View, query: RankedQuery, meaning: _Meaning) -> RankedResult:
    """Rank all matches of both lists by the weighted sum of their scores, each list's from 0 for its last to 1.

    The ranks depend on no page, so that pages never overlap, and together have every match.
    """
    projection, position = await view.at(DecisionIndex)
    words = await match_words(view, query, projection, position)
    places: RowNumbers = np.union1d(meaning.places, words.places)
    cosines, fits = np.full(len(places), np.nan), np.full(len(places), np.nan)
    cosines[np.searchsorted(places, meaning.places)] = 1 - meaning.distances
    fits[np.searchsorted(places, words.places)] = words.fits
    weight = query.ranking.weight
    combined = np.round(weight * _scaled(cosines) + (1 - weight) * _scaled(fits), SCORE_DIGITS)
    best = np.lexsort((-places, -combined))[query.offset : query.offset + query.limit]
    subjects = await view.engine.names.subjects(projection.positions(places[best]))
    scores = [
        MatchScores(
            decision_id=_id(subject),
            distance=_rounded(1 - combined[at]),
            semantic=_rounded(cosines[at]) if np.isfinite(cosines[at]) else None,
            keyword=_rounded(fits[at]) if np.isfinite(fits[at]) else None,
            combined=_rounded(combined[at]),
        )
        for at, subject in zip(best.tolist(), subjects, strict=True)
    ]
    return RankedResult(
        mode="hybrid",
        requested=query.ranking.mode,
        decisions=await decision_states(view, subjects, position, history=query.history),
        scores=scores,
        total=len(places),
        position=position,
        model=meaning.model,
        note=_missing_note(meaning, "found by their words only"),
    )


def _scaled(scores: Floats) -> Floats:
    """Scale scores to 0..1, from the least to the greatest; equal ones are all 1, and missing ones 0."""
    known = scores[np.isfinite(scores)]
    if not len(known):
        return np.zeros(len(scores))
    low, high = known.min(), known.max()
    scaled: Floats = (scores - low) / (high - low) if high > low else scores - low + 1
    return np.nan_to_num(scaled)


def _missing_note(meaning: _Meaning, effect: str) -> str | None:
    if not meaning.missing:
        return None
    those = "1 decision has" if meaning.missing == 1 else f"{meaning.missing:,} decisions have"
    return f"{those} no embedding of {meaning.model}, and {'is' if meaning.missing == 1 else 'are'} {effect}."


def _id(subject: str) -> str:
    return subject.removeprefix("decision/")


def _rounded(value: float) -> float:
    return round(float(value), SCORE_DIGITS) + 0.0
