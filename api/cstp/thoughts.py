"""cstp.recordThought and debugTracker: record thoughts before and after a decision, and list pending thoughts."""

from datetime import datetime
from typing import Any

import msgspec

from api.cstp.idempotency_key import check_key
from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema, missing_param_error
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.decision_thoughts import (
    PendingThoughts,
    StoredThought,
    list_adopted,
    list_pending,
    step_number,
)
from api.service.decision_writer import AppendedPayload, append_payload, is_unknown_decision
from api.service.deliberation_steps import STEP_TYPE
from api.service.ledger import LedgerService
from api.service.retrieval import SuppliedEmbedding
from api.service.supplied_vector import (
    embedding_to_record,
    record_with_embedding,
)
from events.decision import DecisionThought
from events.envelope import EventId
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX
from events.payload import Label, Text
from events.thought import ThoughtRecorded
from events.vector import Numbers
from ledger.errors import LifecycleViolation
from projections.decisions.thought_index import ThoughtScope

CONSUMED_MAX = 20
"""Decisions whose adopted thoughts debugTracker lists."""

SUMMARY_THOUGHTS = 10
SUMMARY_CHARS = 80

SOURCE = "cstp:recordThought"
"""The source of a thought in the protocol."""


class _Thought(msgspec.Struct, frozen=True, kw_only=True):
    text: Text | None = None
    id: str | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    idempotency_key: EventId | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


class _TrackerParams(msgspec.Struct, frozen=True, kw_only=True):
    key: str | None = None
    include_consumed: bool = False


_thought: ParamsSchema[_Thought] = ParamsSchema(_Thought)
_tracker: ParamsSchema[_TrackerParams] = ParamsSchema(_TrackerParams)


async def record_thought(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Record a thought: about a recorded decision if only `id` is given, otherwise for the next decision.

    The next recordDecision of the same agent with the same `agentId` and `decisionId` adopts it, within 300 seconds.
    `idempotencyKey`, `embedding` and `embeddingModel` work as in recordDecision.
    """
    thought = _thought.decode(params)
    if not thought.text:
        raise missing_param_error("text")
    check_key(thought.idempotency_key, _thought.spelling("idempotency_key", params))
    names = _thought.spelling("embedding", params), _thought.spelling("embedding_model", params)
    embedding = embedding_to_record(thought.embedding, thought.embedding_model, names=names)
    if thought.id and thought.agent_id is None and thought.decision_id is None:
        addition = DecisionThought(decision_id=thought.id, text=thought.text)
        return await _add_to_decision(ledger, caller, addition, thought.idempotency_key, embedding)
    payload = ThoughtRecorded(text=thought.text, agent_id=thought.agent_id, decision_id=thought.decision_id)
    posted = await _append(ledger, caller, payload, thought.idempotency_key, embedding)
    return {
        "success": True,
        "mode": "pre-decision",
        "tracker_key": ThoughtScope(thought.agent_id, thought.decision_id).key(caller.agent),
        "agent_id": thought.agent_id or caller.agent,
        "thought_id": posted.placed.subject.removeprefix("thought/"),
    }


async def _append(
    ledger: LedgerService,
    caller: Principal,
    payload: ThoughtRecorded | DecisionThought,
    key: str | None,
    embedding: SuppliedEmbedding | None,
) -> AppendedPayload:
    """Append a thought with its vector, if it has one."""
    return await record_with_embedding(
        ledger,
        caller,
        embedding,
        lambda: append_payload(ledger, caller, payload, key, ledger.clock()),
        lambda posted: posted.placed,
    )


async def _add_to_decision(
    ledger: LedgerService,
    caller: Principal,
    thought: DecisionThought,
    key: str | None,
    embedding: SuppliedEmbedding | None,
) -> object:
    """Record a thought about a recorded decision."""
    try:
        posted = await _append(ledger, caller, thought, key, embedding)
    except (LifecycleViolation, InvalidEvent) as error:
        if not is_unknown_decision(error):
            raise
        raise _not_found(thought.decision_id) from None
    return {
        "success": True,
        "mode": "post-decision",
        "decision_id": thought.decision_id,
        "step_number": await step_number(ledger, posted.placed),
    }


async def debug_tracker(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """List the pending thoughts of every tracker key, or only of the key in `key`.

    A key lists as many thoughts as one decision can adopt. `includeConsumed` adds the thoughts that the latest
    decisions adopted.
    """
    request, now = _tracker.decode(params), ledger.clock()
    pending = await list_pending(ledger, request.key or None, ITEMS_MAX)
    answer: dict[str, object] = {
        "sessions": [thoughts.key for thoughts in pending],
        "sessionCount": len(pending),
        "detail": {
            thoughts.key: {
                "key": thoughts.key,
                "inputCount": thoughts.total,
                "inputs": [_input(stored, now) for stored in thoughts.first],
            }
            for thoughts in pending
        },
    }
    if request.include_consumed:
        answer["consumed"] = [
            _consumed(thoughts, now) for thoughts in await list_adopted(ledger, CONSUMED_MAX, SUMMARY_THOUGHTS)
        ]
    return answer


def _input(stored: StoredThought, now: datetime) -> dict[str, object]:
    return {
        "id": stored.thought.thought_id,
        "type": STEP_TYPE,
        "text": stored.text,
        "source": SOURCE,
        "ageSeconds": max(0, int(stored.thought.age(now).total_seconds())),
        "agent": stored.agent,
    }


def _consumed(thoughts: PendingThoughts, now: datetime) -> dict[str, object]:
    assert thoughts.moment is not None, "an adopted thought has a time"
    return {
        "key": thoughts.key,
        "consumedAt": max(0, int((now - thoughts.moment).total_seconds())),
        "inputCount": thoughts.total,
        "agentId": thoughts.agent_id,
        "decisionId": thoughts.decision_id,
        "status": "consumed",
        "inputsSummary": [
            {"id": stored.thought.thought_id, "type": STEP_TYPE, "text": stored.text[:SUMMARY_CHARS]}
            for stored in thoughts.first
        ],
    }


def _not_found(decision_id: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Decision not found: {decision_id}", {"fields": ["id"]})
