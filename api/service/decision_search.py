"""List decisions, or rank them by a search: what `GET /decisions` and the command `decisions` answer."""

from datetime import datetime

from msgspec import UNSET

from api.parameters import time_range
from api.service.decision_params import DecisionListParams
from api.service.decisions import DecisionPage, DecisionQuery, find_unknown, select_decisions, select_models
from api.service.ledger import View
from api.service.model_names import MODEL_NAMES
from api.service.operation import Link, operation
from api.service.retrieval import HYBRID_WEIGHT_DEFAULT, Ranking
from api.service.supplied_vector import parse_embedding, read_embedding
from ledger.errors import InvalidQuery
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from tallystick.shapes.retrieval import Retrieval


@operation(
    "/decisions",
    "decisions",
    links={"decision": Link("get_decision", "decision_id", "$response.body#/decisions/0/decision_id")},
)
async def get_decisions(view: View, params: DecisionListParams) -> DecisionPage:
    """List decisions in their current state, newest first.

    With `retrieval_mode` the search is ranked, the best match first, by meaning, by words or by both.
    """
    return await find_decisions(view, to_query(params, view.clock()))


def to_query(params: DecisionListParams, now: datetime) -> DecisionQuery:
    """Return the query for a list of decisions, or for a ranked search. Errors: InvalidQuery."""
    return DecisionQuery(
        selection=DecisionSelection(
            **params.keys(),
            status=params.status or None,
            outcome=params.outcome or None,
            tags=params.tag,
            cluster=params.cluster,
            range=time_range(params.since, params.until, params.window, now),
        ),
        sort=params.sort,
        descending=params.order == "desc",
        limit=params.limit,
        offset=params.offset,
        search=params.search,
        model=params.model,
        ranking=_ranking(params),
    )


def _ranking(params: DecisionListParams) -> Ranking | None:
    """Return how a search is ranked; None if it is not. Errors: InvalidQuery."""
    if params.retrieval_mode is None:
        for name in ("hybrid_weight", "embedding", "embedding_model"):
            if getattr(params, name) is not None:
                raise InvalidQuery(name, "is of no use without retrieval_mode.", "Add retrieval_mode.")
        return None
    for name, default in (("sort", "created_at"), ("order", "desc"), ("offset", 0)):
        if getattr(params, name) != default:
            raise InvalidQuery(name, "does not apply to a ranked search.", "Omit it, or retrieval_mode.")
    if not (params.search or params.embedding):
        raise InvalidQuery("retrieval_mode", "there is nothing to search for.", "Add search, or embedding.")
    vector = parse_embedding(params.embedding) if params.embedding is not None else None
    return Ranking(
        mode=params.retrieval_mode,
        weight=HYBRID_WEIGHT_DEFAULT if params.hybrid_weight is None else params.hybrid_weight,
        embedding=read_embedding(vector, params.embedding_model),
    )


async def find_decisions(view: View, query: DecisionQuery) -> DecisionPage:
    """List decisions; with a ranking, return the best matches of the search. Errors: InvalidQuery."""
    if query.ranking is None:
        return await select_decisions(view, query)
    from api.service.ranked_search import RankedQuery, ranked_search  # noqa: PLC0415 - a plain list ranks nothing

    also = () if query.model is None else MODEL_NAMES
    projection, position = await view.at(DecisionIndex, also=also)
    selection = await select_models(view, projection, query)
    ranked = await ranked_search(
        await view.past(position),
        RankedQuery(
            query=query.search or "",
            ranking=query.ranking,
            selection=selection,
            limit=query.limit,
            history=query.history,
        ),
    )
    notes = [f"{ranked.reason}: answered by keyword." if ranked.reason is not None else None, ranked.note]
    unknown = UNSET
    if not ranked.total:
        projection, _ = await view.engine.at(DecisionIndex, position)
        unknown = find_unknown(projection, selection, query.model)  # type: ignore[assignment]
    return DecisionPage(
        decisions=ranked.decisions,
        total=ranked.total,
        next=None,
        as_of=await view.dated(position),
        unknown_names=unknown,
        retrieval=Retrieval(
            mode=ranked.mode,
            requested=query.ranking.mode,
            model=ranked.model,
            note=" ".join(note for note in notes if note is not None) or None,
            scores=tuple(ranked.scores),
        ),
    )
