"""Check before any work whether the caller may record events as another agent, such as a judge.

A server does not tell its callers what their tokens may do. So this appends an event that can never be admitted, since
it expects a version that no stream has: permission is checked before versions, and nothing is written either way.
"""

import secrets

from api.principal import Forbidden
from api.service.store import EventStore
from events.decision import DecisionRecorded, DecisionReviewed
from events.envelope import agent_of, source_of
from events.payload import COUNT_MAX, Payload
from events.registry import VOCABULARY
from ledger.errors import StreamConflict


async def require_judge(store: EventStore, agent: str) -> None:
    """Check that the caller may record decisions as a judge. Errors: Forbidden; those of appending."""
    decision = DecisionRecorded(decision_id=secrets.token_hex(16), decision="May this caller record as the judge?")
    if not await _may_append(store, decision, source_of(agent)):
        raise Forbidden(
            f"The token may not record verdicts as {agent}; nothing was asked.",
            f"Use a token with the scope 'import': tallystick token add NAME --scope append --scope read "
            f"--scope import; or one of {agent} itself.",
        )


async def may_review_as(store: EventStore, source: str) -> bool:
    """Return whether the caller may record reviews with a source. Errors: those of appending."""
    assert agent_of(source), "a source names an agent"
    return await _may_append(store, DecisionReviewed(decision_id=secrets.token_hex(16), outcome="success"), source)


async def _may_append(store: EventStore, payload: Payload, source: str) -> bool:
    try:
        await store.append([VOCABULARY.draft_of(payload, source=source, expectedversion=COUNT_MAX)])
    except StreamConflict:
        return True
    except Forbidden:
        return False
    raise AssertionError("an event at a version that no stream has was admitted")
