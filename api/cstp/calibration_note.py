"""calibrationNote: what an agent's decisions like the one at hand have come to."""

from api.auth import Principal
from api.service.calibration import advise
from api.service.ledger import LedgerService
from events.decision import DecisionRecorded
from projections.calibration.advice import PlannedDecision
from projections.calibration.calibration import MIN_DECISIONS


async def calibration_note(ledger: LedgerService, caller: Principal, decision: DecisionRecorded) -> dict[str, str]:
    """The note on a decision just recorded; nothing where too few like it are reviewed."""
    return await note(
        ledger,
        PlannedDecision(
            agent=caller.agent,
            category=decision.category,
            stakes=decision.stakes,
            confidence=decision.confidence,
        ),
    )


async def note(ledger: LedgerService, plan: PlannedDecision) -> dict[str, str]:
    """The note on a decision planned; nothing where fewer than MIN_DECISIONS like it are reviewed."""
    found = await advise(ledger, plan)
    return {"calibrationNote": found.message} if found.reviewed >= MIN_DECISIONS else {}
