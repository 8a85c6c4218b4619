"""What an agent is told before it acts: decisions like the one ahead, and how well it has judged so far."""

from typing import Any, cast

from api.access import ANONYMOUS, Speaker
from api.cstp.calibration import rounded
from api.cstp.query import query_decisions
from api.operations import House, searched
from projections import Figures, Group

Row = dict[str, Any]


async def similar(house: House, speaker: Speaker, text: str, field: str, *, limit: int, **asked: object) -> list[Row]:
    """Earlier decisions that fit a text, the best first, as queryDecisions shows them; none for a text without words.

    Errors: InvalidQuery, naming the field, for too many words.
    """
    if not searched(text, field):
        return []
    found = await query_decisions(house, speaker, {"query": text, "limit": limit, **asked})
    return cast("dict[str, list[Row]]", found)["decisions"]


def whose(speaker: Speaker) -> str | None:
    """The agent whose own figures matter to the speaker: itself, where a token names it, and otherwise everybody."""
    return None if speaker.agent == ANONYMOUS else speaker.agent


def scores(figures: Figures | Group | None) -> dict[str, object]:
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
