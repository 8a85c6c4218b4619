"""cstp.recordThought and debugTracker: record thoughts before and after a decision, and list pending thoughts."""

from datetime import datetime
from typing import Any

import msgspec

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema, missing_param_error
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.agent_calls import thoughts as recorder
from api.service.agent_calls.thoughts import Thought
from api.service.decision_thoughts import PendingThoughts, StoredThought, list_adopted, list_expired, list_pending
from api.service.decision_writer import is_unknown_decision
from api.service.deliberation_steps import STEP_TYPE, THOUGHT_SOURCE, input_of
from api.service.ledger import LedgerService
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX
from events.thought import ThoughtTracked
from ledger.errors import LifecycleViolation

CONSUMED_MAX = 20
"""Decisions whose adopted thoughts debugTracker lists."""

SUMMARY_THOUGHTS = 10
SUMMARY_CHARS = 80


class _TrackerParams(msgspec.Struct, frozen=True, kw_only=True):
    key: str | None = None
    include_consumed: bool = False


_thought: ParamsSchema[Thought] = ParamsSchema(Thought, defaults={"text": ""})
_tracker: ParamsSchema[_TrackerParams] = ParamsSchema(_TrackerParams)


async def record_thought(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Record a thought. `idempotencyKey`, `embedding` and `embeddingModel` work as in recordDecision."""
    thought = _thought.decode(params)
    if not thought.text.strip():
        raise missing_param_error("text")
    scope, *vector = (_thought.spelling(name, params) for name in ("decision_id", "embedding", "embedding_model"))
    try:
        return await recorder.record_thought(ledger, caller, thought, (scope, vector[0], vector[1]))
    except (LifecycleViolation, InvalidEvent) as error:
        if thought.about is None or not is_unknown_decision(error):
            raise
        raise RpcError(INVALID_PARAMS, f"Decision not found: {thought.about}", {"fields": ["id"]}) from None


async def debug_tracker(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """List the pending thoughts and tracked calls of every tracker key, or only of the key in `key`.

    A key lists as many as one decision can adopt. `includeConsumed` adds those that the latest decisions adopted, and
    those of the last 30 minutes that expired.
    """
    request, now = _tracker.decode(params), ledger.clock()
    pending = await list_pending(ledger, request.key or None, ITEMS_MAX)
    detail = {
        thoughts.key: {
            "key": thoughts.key,
            "inputCount": thoughts.total,
            "inputs": [_input(stored, now) for stored in thoughts.first],
        }
        for thoughts in pending
    }
    answer: dict[str, object] = {"sessions": list(detail), "sessionCount": len(detail), "detail": detail}
    if request.include_consumed:
        groups = await list_adopted(ledger, CONSUMED_MAX, SUMMARY_THOUGHTS)
        groups += await list_expired(ledger, CONSUMED_MAX, SUMMARY_THOUGHTS)
        ended = sorted((_consumed(thoughts, now) for thoughts in groups), key=lambda row: row["consumedAt"])
        answer["consumed"] = ended[:CONSUMED_MAX]
    return answer


def _id_and_type(stored: StoredThought) -> dict[str, object]:
    """Return the id and the type of a thought, or of a tracked call as an input of a deliberation."""
    data = stored.event.data
    if isinstance(data, ThoughtTracked):
        return {"id": input_of(stored.event).id, "type": data.kind}
    return {"id": stored.thought.thought_id, "type": STEP_TYPE}


def _input(stored: StoredThought, now: datetime) -> dict[str, object]:
    return {
        **_id_and_type(stored),
        "text": stored.text,
        "source": input_of(stored.event).source or THOUGHT_SOURCE,
        "ageSeconds": max(0, int(stored.thought.age(now).total_seconds())),
        "agent": stored.agent,
    }


def _consumed(thoughts: PendingThoughts, now: datetime) -> dict[str, Any]:
    assert thoughts.moment is not None, "an adopted or expired thought has a time"
    return {
        "key": thoughts.key,
        "consumedAt": max(0, int((now - thoughts.moment).total_seconds())),
        "inputCount": thoughts.total,
        "agentId": thoughts.agent_id,
        "decisionId": thoughts.decision_id,
        "status": "expired" if thoughts.expired else "consumed",
        "inputsSummary": [{**_id_and_type(stored), "text": stored.text[:SUMMARY_CHARS]} for stored in thoughts.first],
    }
