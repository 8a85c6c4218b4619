"""calibrationNote: what an agent's decisions like the one at hand have come to."""

from api.access import Speaker
from api.operations import House
from events.decision import DecisionRecorded
from projections import MIN_DECISIONS, Plan


async def calibration_note(house: House, speaker: Speaker, decision: DecisionRecorded) -> dict[str, str]:
    """The note on a decision just recorded; nothing where too few like it are reviewed."""
    return await note(
        house,
        Plan(
            agent=speaker.agent,
            category=decision.category,
            stakes=decision.stakes,
            confidence=decision.confidence,
        ),
    )


async def note(house: House, plan: Plan) -> dict[str, str]:
    """The note on a decision planned; nothing where fewer than MIN_DECISIONS like it are reviewed."""
    found = await house.advice(plan)
    return {"calibrationNote": found.message} if found.reviewed >= MIN_DECISIONS else {}
