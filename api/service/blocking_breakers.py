"""The circuit breakers that block an action, and why."""

from collections.abc import Iterable
from datetime import datetime

from api.service.ledger import LedgerService
from events.breaker import BreakersConfigured
from events.registry import VOCABULARY
from ledger.log import Query
from projections.breaker_states import BreakerStates, BreakerView, scopes_of

_CONFIGURED = VOCABULARY.names_of(BreakersConfigured)


async def blocking_breakers(
    ledger: LedgerService,
    *,
    agent: str | None,
    category: str | None,
    stakes: str | None,
    tags: Iterable[str] = (),
    before: tuple[int, datetime] | None = None,
    recorded_by: tuple[str, str] | None = None,
) -> list[BreakerView]:
    """Return the circuit breakers that block an action with these facts: open ones, and ones that wait for a review.

    `before` is the position and the time of the decision that was recorded for the action: the answer is as of then.
    `recorded_by` are the source and the event id of this call's decision: if a half-open breaker let through a decision
    with them, this call repeats that one, and is not blocked.
    """
    if not (await ledger.reader.read(Query(types=_CONFIGURED, limit=1))).positions:
        return []
    position, now = (None, ledger.clock()) if before is None else (before[0] - 1, before[1])
    projection, _ = await ledger.engine.at(BreakerStates, position)
    scopes = scopes_of(agent, category, stakes, tags)
    blocking = [breaker for breaker in projection.view(now, scopes) if breaker.blocks]
    if recorded_by is None:
        return blocking
    return [breaker for breaker in blocking if await _recorded_by(ledger, breaker.probe) != recorded_by]


async def _recorded_by(ledger: LedgerService, decision_id: str | None) -> tuple[str, str] | None:
    """Return the source and the id of the event that recorded a decision."""
    if decision_id is None:
        return None
    page = await ledger.reader.read(Query(subjects=(f"decision/{decision_id}",), limit=1))
    event = VOCABULARY.event(page.ndjson)
    return event.source, event.id


def describe_block(breaker: BreakerView) -> str:
    """Return why a breaker blocks."""
    if breaker.state == "half_open":
        return f"Circuit breaker HALF_OPEN for {breaker.scope}: {breaker.probe} waits for its review"
    counted = f"{breaker.failure_count}/{breaker.failure_threshold}"
    return f"Circuit breaker OPEN for {breaker.scope}: {counted} failures in window"
