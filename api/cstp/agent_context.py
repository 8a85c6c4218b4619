"""Context for an agent before it acts: similar decisions, and its calibration so far."""

from typing import Any

from api.auth import ANONYMOUS, Principal
from api.cstp.get_calibration import rounded
from api.cstp.query_decisions import QueryParams, decision_rows
from api.service.decisions import parse_search_words
from api.service.ledger import LedgerService
from api.service.search import SearchQuery, search_decisions
from projections.calibration.calibration import CalibrationGroup
from projections.calibration.scores import CalibrationScores
from projections.decisions.decision_index import DecisionSelection

Row = dict[str, Any]


async def similar_decisions(
    ledger: LedgerService,
    text: str,
    field: str,
    *,
    limit: int,
    category: str | None = None,
    include_reasons: bool = False,
) -> list[Row]:
    """Return earlier decisions that match a text, the best first, as rows of queryDecisions; none for an empty text.

    Errors: InvalidQuery, naming the field, for too many words.
    """
    if not parse_search_words(text, field):
        return []
    selection = DecisionSelection(category=category, status=("pending", "reviewed"))
    found = await search_decisions(ledger, SearchQuery(query=text, selection=selection, limit=limit))
    return decision_rows(found, QueryParams(query=text, include_reasons=include_reasons), ledger.clock())


def own_agent(caller: Principal) -> str | None:
    """Return the agent of the caller's token, whose figures it sees; None, for all agents, without a token."""
    return None if caller.agent == ANONYMOUS else caller.agent


def scores_json(figures: CalibrationScores | CalibrationGroup | None) -> dict[str, object]:
    """Return the scores of some decisions, if any; `supported` says whether the data supports the interpretation."""
    if figures is None or figures.brier_score is None or figures.accuracy is None or figures.gap is None:
        return {}
    return {
        "brierScore": rounded(figures.brier_score),
        "accuracy": rounded(figures.accuracy),
        "calibrationGap": rounded(figures.gap),
        "interpretation": figures.interpretation,
        "supported": figures.supported,
    }
