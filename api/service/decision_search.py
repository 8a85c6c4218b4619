"""List decisions, or rank them by a search: what `GET /decisions` and the command `decisions` answer."""

from msgspec import UNSET

from api.service.decisions import DecisionPage, DecisionQuery, find_unknown, select_decisions, select_models
from api.service.ledger import LedgerService
from api.service.model_names import MODEL_NAMES
from projections.decisions.decision_index import DecisionIndex
from tallystick.shapes.retrieval import Retrieval


async def find_decisions(ledger: LedgerService, query: DecisionQuery, as_of: int | None = None) -> DecisionPage:
    """List decisions; with a ranking, return the best matches of the search. Errors: InvalidQuery."""
    if query.ranking is None:
        return await select_decisions(ledger, query, as_of)
    from api.service.ranked_search import RankedQuery, ranked_search  # noqa: PLC0415 - a plain list ranks nothing

    also = () if query.model is None else MODEL_NAMES
    projection, position = await ledger.engine.at(DecisionIndex, as_of, also=also)
    selection = await select_models(ledger, projection, query, position)
    ranked = await ranked_search(
        ledger,
        RankedQuery(
            query=query.search or "",
            ranking=query.ranking,
            selection=selection,
            limit=query.limit,
            history=query.history,
        ),
        position,
    )
    notes = [f"{ranked.reason}: answered by keyword." if ranked.reason is not None else None, ranked.note]
    unknown = UNSET
    if not ranked.total:
        projection, _ = await ledger.engine.at(DecisionIndex, position)
        unknown = find_unknown(projection, selection, query.model)  # type: ignore[assignment]
    return DecisionPage(
        decisions=ranked.decisions,
        total=ranked.total,
        next=None,
        as_of=await ledger.dated(position),
        unknown_names=unknown,
        retrieval=Retrieval(
            mode=ranked.mode,
            requested=query.ranking.mode,
            model=ranked.model,
            note=" ".join(note for note in notes if note is not None) or None,
            scores=tuple(ranked.scores),
        ),
    )
