"""Automatic deliberation: track the calls that an agent makes before a decision, for the decision that adopts them.

It is opt-in: `token add --deliberation auto`, or `"deliberation": "auto"` in the call. A tracked call is an event, so
that a restart loses none; `decision_thoughts` adopts it with the agent's thoughts.
"""

from collections.abc import Sequence
from hashlib import sha256

from api.principal import Principal
from api.service.deliberation_steps import input_id
from api.service.ledger import LedgerService
from events.envelope import Draft
from events.registry import VOCABULARY
from events.thought import RelatedDecision, ThoughtTracked
from ledger.errors import IdentityConflict, LifecycleViolation

RELATED_MAX = 5
"""Decisions of each query that are related to the decision after it."""

DIGITS = 3
"""Digits of a distance."""

QUOTED_CHARS_MAX = 50
"""Characters of a call's text that its input quotes."""


def query_call(
    text: str, found: int, mode: str, method: str, distances: Sequence[tuple[str, float]], agent_id: str | None = None
) -> ThoughtTracked:
    """Return the tracked call of a search that found decisions, with their distances, the nearest first.

    A listing has no query: it is tracked, and what it lists is related to nothing.
    """
    nearest = sorted(distances, key=lambda pair: pair[1])[:RELATED_MAX] if text.strip() else []
    related = [RelatedDecision(decision_id=name, distance=round(max(far, 0.0), DIGITS)) for name, far in nearest]
    return ThoughtTracked(
        kind="query",
        text=f"Queried '{text[:QUOTED_CHARS_MAX]}': {found} results ({mode})",
        method=method,
        related=tuple(related),
        agent_id=agent_id,
    )


def check_call(description: str, violations: int, method: str, agent_id: str | None = None) -> ThoughtTracked:
    """Return the tracked call of a check of guardrails."""
    verdict = f"blocked ({violations} violations)" if violations else "allowed"
    text = f"Checked '{description[:QUOTED_CHARS_MAX]}': {verdict}"
    return ThoughtTracked(kind="guardrail", text=text, method=method, agent_id=agent_id)


def lookup_call(decision_id: str, decision: str, method: str, agent_id: str | None = None) -> ThoughtTracked:
    """Return the tracked call that read one decision."""
    text = f"Looked up {decision_id}: '{decision[:QUOTED_CHARS_MAX]}'"
    return ThoughtTracked(kind="lookup", text=text, method=method, agent_id=agent_id)


def stats_call(decisions: int, reviewed: int, method: str, agent_id: str | None = None) -> ThoughtTracked:
    """Return the tracked call that read the statistics of reasons."""
    text = f"Read reason statistics: {decisions} decisions, {reviewed} reviewed"
    return ThoughtTracked(kind="stats", text=text, method=method, agent_id=agent_id)


async def track_calls(
    ledger: LedgerService, caller: Principal, calls: Sequence[ThoughtTracked], key: str | None = None
) -> list[str]:
    """Append tracked calls, and return the ids of their inputs. They stay pending for the agent's next decision.

    `key` is the idempotency key of the call that made them: its repetition tracks nothing again, and returns no ids.
    Errors: those of `LedgerService.record`.
    """
    now = ledger.clock()
    drafts: list[Draft] = [
        VOCABULARY.draft_of(call, id=None if key is None else _event_id(key, index), time=now)
        for index, call in enumerate(calls)
    ]
    try:
        placed = await ledger.record(drafts, caller)
    except (IdentityConflict, LifecycleViolation):
        if key is None:
            raise
        return []  # the first call tracked its own results, which may differ from those of this repetition
    return [input_id(event.subject.removeprefix("thought/"), call) for event, call in zip(placed, calls, strict=True)]


def _event_id(key: str, index: int) -> str:
    """Return the event id of a tracked call, of a length that does not depend on the key."""
    return f"tracked/{sha256(key.encode()).hexdigest()}/{index}"
