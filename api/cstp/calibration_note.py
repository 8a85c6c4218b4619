"""calibrationNote: how an agent's similar decisions turned out."""

from api.auth import Principal
from api.service.calibration import advise
from api.service.ledger import LedgerService
from events.decision import DecisionRecorded
from projections.calibration.advice import PlannedDecision
from projections.calibration.calibration import MIN_DECISIONS


async def note_on_decision(ledger: LedgerService, caller: Principal, decision: DecisionRecorded) -> dict[str, str]:
    """Return the note on a decision just recorded; empty if too few similar ones are reviewed."""
    return await note_on_plan(
        ledger,
        PlannedDecision(
            agent=caller.agent,
            category=decision.category,
            stakes=decision.stakes,
            confidence=decision.confidence,
        ),
    )


async def note_on_plan(ledger: LedgerService, plan: PlannedDecision) -> dict[str, str]:
    """Return the note on a planned decision; empty if fewer than MIN_DECISIONS similar ones are reviewed."""
    found = await advise(ledger, plan)
    return {"calibrationNote": found.message} if found.reviewed >= MIN_DECISIONS else {}
