"""Parameters of ranked searches of decisions, beside those of their list."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from api.parameters import choice_parameter, probability_parameter, text_parameter
from api.service.decision_params import DECISIONS_PARAMETERS, SEARCH, SORT, parse_decision_query
from api.service.decisions import DecisionQuery
from api.service.event_params import OFFSET, ORDER_DESCENDING, Parameters
from api.service.retrieval import HYBRID_WEIGHT_DEFAULT, RETRIEVAL_MODES, Ranking
from api.service.supplied_vector import parse_embedding, read_embedding
from ledger.errors import InvalidQuery

RETRIEVAL_MODE = choice_parameter(
    "retrieval_mode",
    "Rank the search, the best match first: by its meaning, by its words, or by both. Without vectors, by its words.",
    RETRIEVAL_MODES,
)
HYBRID_WEIGHT = probability_parameter(
    "hybrid_weight", "The weight of the meaning in the mode `hybrid`; 0.7 without it."
)
EMBEDDING = text_parameter(
    "embedding", "The vector of the search: a JSON array, or 32-bit floats, the lower byte first, in Base64."
)
EMBEDDING_MODEL = text_parameter("embedding_model", "The model that made `embedding`.")

SEARCH_PARAMETERS: Parameters = (
    *DECISIONS_PARAMETERS, RETRIEVAL_MODE, HYBRID_WEIGHT, EMBEDDING, EMBEDDING_MODEL,
)  # fmt: skip


def parse_decision_search(parameters: Mapping[str, str], now: datetime) -> DecisionQuery:
    """Return the query for a list of decisions, or for a ranked search. Errors: InvalidQuery."""
    return structs.replace(parse_decision_query(parameters, now), ranking=_parse_ranking(parameters))


def _parse_ranking(parameters: Mapping[str, str]) -> Ranking | None:
    """Return how a search is ranked; None if it is not. Errors: InvalidQuery."""
    mode = RETRIEVAL_MODE.find(parameters)
    if mode is None:
        for name in (HYBRID_WEIGHT.name, EMBEDDING.name, EMBEDDING_MODEL.name):
            if name in parameters:
                raise InvalidQuery(name, "is of no use without retrieval_mode.", "Add retrieval_mode.")
        return None
    for name in (SORT.name, ORDER_DESCENDING.name, OFFSET.name):
        if name in parameters:
            raise InvalidQuery(name, "does not apply to a ranked search.", "Omit it, or retrieval_mode.")
    embedding = EMBEDDING.find(parameters)
    if not (SEARCH.find(parameters) or embedding):
        raise InvalidQuery("retrieval_mode", "there is nothing to search for.", "Add search, or embedding.")
    weight = HYBRID_WEIGHT.find(parameters)
    vector = parse_embedding(embedding) if embedding is not None else None
    return Ranking(
        mode=mode,
        weight=HYBRID_WEIGHT_DEFAULT if weight is None else weight,
        embedding=read_embedding(vector, EMBEDDING_MODEL.find(parameters)),
    )
