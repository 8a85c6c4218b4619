"""Make `calibrationNote`, a note on the outcomes of an agent's similar decisions."""

from api.principal import Principal
from api.service.advice import advise
from api.service.ledger import LedgerService, View
from events.decision import DecisionRecorded
from projections.calibration.advice import PlannedDecision
from projections.calibration.words import MIN_DECISIONS


async def note_on_decision(ledger: LedgerService, caller: Principal, decision: DecisionRecorded) -> dict[str, str]:
    """Return the note on a recorded decision; empty if too few similar decisions are reviewed."""
    return await note_on_plan(
        ledger,
        PlannedDecision(
            agent=caller.agent,
            category=decision.category,
            stakes=decision.stakes,
            confidence=decision.confidence,
        ),
    )


async def note_on_plan(view: View, plan: PlannedDecision) -> dict[str, str]:
    """Return the note on a planned decision; empty if fewer than MIN_DECISIONS similar decisions are reviewed.

    Decisions of any category with any confidence are not similar to one that states a confidence.
    """
    advice = await advise(view, plan)
    is_similar = advice.category is not None or "confidence" not in advice.widened
    return {"calibrationNote": advice.message} if advice.reviewed >= MIN_DECISIONS and is_similar else {}
