"""The context for an agent before it acts: similar decisions, and the agent's calibration."""

from typing import Any

from api.cstp.get_calibration import rounded
from api.cstp.query_decisions import QueryParams, decision_rows
from api.principal import Principal
from api.service.decisions import parse_search_words
from api.service.ledger import LedgerService
from api.service.search import SearchQuery, search_decisions
from events.envelope import ANONYMOUS
from projections.calibration.calibration_view import CalibrationGroup
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
    compacted: bool = False,
) -> list[Row]:
    """Return earlier decisions that match a text, the best first, as rows of queryDecisions; no rows for an empty text.

    With `compacted`, each row states its compaction level; none is left out.

    Errors: InvalidQuery, naming the field, for too many words.
    """
    if not parse_search_words(text, field):
        return []
    selection = DecisionSelection(category=category, status=("pending", "reviewed"))
    result = await search_decisions(ledger, SearchQuery(query=text, selection=selection, limit=limit))
    shown = QueryParams(query=text, include_reasons=include_reasons, compacted=compacted)
    return decision_rows(result, shown, ledger.clock())


def own_agent(caller: Principal) -> str | None:
    """Return the agent whose figures the caller sees; None, for all agents, if neither token nor header names it."""
    return None if caller.agent == ANONYMOUS else caller.agent


def scores_json(scores: CalibrationScores | CalibrationGroup | None) -> dict[str, object]:
    """Return scores as CSTP names them, or {} without scores. `supported`: the data supports the interpretation."""
    if scores is None or scores.brier_score is None or scores.accuracy is None or scores.gap is None:
        return {}
    return {
        "brierScore": rounded(scores.brier_score),
        "accuracy": rounded(scores.accuracy),
        "calibrationGap": rounded(scores.gap),
        "interpretation": scores.interpretation,
        "supported": scores.supported,
    }
