"""What an agent is told before it acts: decisions like the one ahead, and how well it has judged so far."""

from typing import Any, cast

from api.auth import ANONYMOUS, Principal
from api.cstp.get_calibration import rounded
from api.cstp.query_decisions import query_decisions
from api.service.decisions import searched
from api.service.ledger import LedgerService
from projections.calibration.calibration import CalibrationGroup
from projections.calibration.scores import CalibrationScores

Row = dict[str, Any]


async def similar(
    ledger: LedgerService, caller: Principal, text: str, field: str, *, limit: int, **asked: object
) -> list[Row]:
    """Earlier decisions that fit a text, the best first, as queryDecisions shows them; none for a text without words.

    Errors: InvalidQuery, naming the field, for too many words.
    """
    if not searched(text, field):
        return []
    found = await query_decisions(ledger, caller, {"query": text, "limit": limit, **asked})
    return cast("dict[str, list[Row]]", found)["decisions"]


def whose(caller: Principal) -> str | None:
    """The agent whose own figures matter to the speaker: itself, where a token names it, and otherwise everybody."""
    return None if caller.agent == ANONYMOUS else caller.agent


def scores(figures: CalibrationScores | CalibrationGroup | None) -> dict[str, object]:
    """The scores of some decisions, as far as there are any; `supported` says whether they carry the interpretation."""
    if figures is None or figures.brier_score is None or figures.accuracy is None or figures.gap is None:
        return {}
    return {
        "brierScore": rounded(figures.brier_score),
        "accuracy": rounded(figures.accuracy),
        "calibrationGap": rounded(figures.gap),
        "interpretation": figures.interpretation,
        "supported": figures.supported,
    }
