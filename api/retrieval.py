"""Retrieval: the decisions whose words fit a query best, the best first."""

import msgspec

from api.operations import House, searched
from projections import Decisions, Selection, Side, Standing


class Retrieval(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for, among which decisions. `side` favours one side of a bridge."""

    query: str
    selection: Selection = Selection()
    limit: int = 10
    side: Side | None = None


class Retrieved(msgspec.Struct, frozen=True, kw_only=True):
    """The best of the `total` that were found, each with how well it fits, 0..1.

    `whole` says whether they hold every word of the query; where no decision does, those that hold any are found. The
    best fits by the share of the words that it holds, the others less, as their scores stand to its own.
    """

    decisions: list[Standing]
    fits: list[float]
    total: int
    whole: bool


async def retrieve(house: House, asked: Retrieval) -> Retrieved:
    """Rank decisions by the words of a query (BM25 over their texts). Errors: InvalidQuery, for too many words."""
    words = searched(asked.query, "query")
    projection, position = await house.engine.at(Decisions)
    places = projection.find(asked.selection)
    hits = await house.search.find(words, position, projection.index, rank=True, side=asked.side)
    whole = hits.holding(places, len(words))
    ranked = hits.ranked(whole if len(whole) else places)
    best = projection.subjects(ranked.places[: asked.limit])
    fits = [float(ranked.held[0] / len(words) * score / ranked.scores[0]) for score in ranked.scores[: asked.limit]]
    return Retrieved(
        decisions=await house.standings(best, position, history=True),
        fits=fits,
        total=len(ranked.places),
        whole=bool(len(whole)),
    )
