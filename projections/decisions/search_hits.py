"""What a search in the full-text index finds by score: every decision that has a word of the query."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import aiosqlite
import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers
from projections.decisions.index_rows import rows_of
from projections.decisions.kept_hits import KeptHits, ScoredWord

BridgeSide = Literal["structure", "function"]

_SIDE_WEIGHT = 4.0
"""The weight of a word on the requested side of the bridge. A word anywhere else has weight 1."""

_SCORE_UNIT = 1e-9

_MATCHES = """
SELECT coalesce(group_concat(printf('%08x0000000000000000', pieces.place), ''), '')
FROM words JOIN pieces ON pieces.position = words.rowid
WHERE words MATCH ?1 AND words.rowid <= ?2 AND (pieces.until IS NULL OR pieces.until > ?2)
"""
"""Selects the pieces with a word. SQLite joins them to one row in one step, during which Python releases its lock."""

_RANKED_MATCHES = """
WITH found AS MATERIALIZED (
  SELECT rowid AS position, bm25(words, 1.0, {structure}, {function}) AS score
  FROM words WHERE words MATCH ?1 AND rowid <= ?2
)
SELECT coalesce(group_concat(printf('%08x%016x', pieces.place, CAST(-found.score / {unit} AS INTEGER)), ''), '')
FROM found JOIN pieces USING (position) WHERE pieces.until IS NULL OR pieces.until > ?2
"""
"""Selects the same pieces with their bm25 scores."""

_hit = np.dtype([("place", ">u4"), ("score", ">i8")])
_small_hit = np.dtype([("place", "u4"), ("score", "u4")])


class SearchHits(NamedTuple):
    """Row numbers of decisions, oldest first, and for each its score and the number of words that it has.

    Scores are bm25, higher is better. `words_found` counts different words of the query.
    """

    places: RowNumbers
    scores: npt.NDArray[np.float64]
    words_found: npt.NDArray[np.int64]

    def with_words(self, words_min: int) -> RowNumbers:
        """Return the row numbers that have at least `words_min` of the words, ascending."""
        return self.places[self.words_found >= words_min]

    def ranked(self, places: RowNumbers) -> "SearchHits":
        """Return the hits in `places`, the highest score first; of equal scores, the newest first."""
        newest_first = np.flatnonzero(np.isin(self.places, places))[::-1]
        ranked = newest_first[np.argsort(-self.scores[newest_first], kind="stable")]
        return SearchHits(self.places[ranked], self.scores[ranked], self.words_found[ranked])


def hits_statement(side: BridgeSide | None, *, rank: bool) -> str:
    """Return the statement that selects the pieces with a word."""
    if not rank:
        return _MATCHES
    weights = {name: _SIDE_WEIGHT if side == name else 1.0 for name in ("structure", "function")}
    return _RANKED_MATCHES.format(unit=_SCORE_UNIT, **weights)


async def collect_hits(
    connection: aiosqlite.Connection, statement: str, words: Sequence[str], upto: int, size: int, kept: KeptHits
) -> SearchHits:
    """Search for each word whose hits are not kept, and add up scores and numbers of words by decision."""
    scores, words_found = np.zeros(size), np.zeros(size, np.int64)
    for word in words:
        asked = ScoredWord(statement, word, upto)
        hits = kept.find(asked)
        if hits is None:
            ((joined,),) = await rows_of(connection, statement, (f'"{word}"', upto))
            hits = _narrow(np.frombuffer(bytes.fromhex(joined), dtype=_hit))
            del joined
            kept.keep(asked, hits)
        rows = hits["place"].astype(np.intp)
        scores += np.bincount(rows, hits["score"] * _SCORE_UNIT, size)
        words_found += np.bincount(rows, minlength=size) > 0
    places = np.flatnonzero(words_found)
    return SearchHits(places, scores[places], words_found[places])


def _narrow(hits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return hits in two thirds of the bytes if each score is small, as it is for a word that many decisions have."""
    scores = hits["score"]
    if scores.min(initial=0) < 0 or scores.max(initial=0) >= 1 << 32:
        return hits
    small = np.empty(len(hits), _small_hit)
    small["place"], small["score"] = hits["place"], scores
    return small
