"""cstp.recordThought and debugTracker: record thoughts before and after a decision, and list pending thoughts."""

from datetime import datetime
from typing import Any

import msgspec

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema, missing_param_error
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.decision_links import find_named
from api.service.decision_thoughts import (
    PendingThoughts,
    StoredThought,
    list_adopted,
    list_expired,
    list_pending,
    step_number,
)
from api.service.decision_writer import append_payload, decision_exists, is_unknown_decision
from api.service.deliberation_steps import STEP_TYPE, THOUGHT_SOURCE, input_of
from api.service.ledger import LedgerService
from api.service.supplied_vector import (
    embedding_to_record,
    record_with_embedding,
)
from events.decision import DecisionThought
from events.envelope import EventId
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX
from events.payload import Label, Text
from events.thought import ThoughtRecorded, ThoughtTracked
from events.vector import Numbers
from ledger.errors import LifecycleViolation
from projections.decisions.thought_index import ThoughtScope

CONSUMED_MAX = 20
"""Decisions whose adopted thoughts debugTracker lists."""

SUMMARY_THOUGHTS = 10
SUMMARY_CHARS = 80


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

    `id` is that of the decision, or an unambiguous prefix of it, which needs the scope `read`.
    The next recordDecision of the same agent with the same `agentId` and `decisionId` adopts it, within 300 seconds.
    `agentId` names the agent that thinks, if the caller may append as that agent.
    `idempotencyKey`, `embedding` and `embeddingModel` work as in recordDecision.
    """
    thought = _thought.decode(params)
    if thought.text is None or thought.text.isspace():
        raise missing_param_error("text")
    names = _thought.spelling("embedding", params), _thought.spelling("embedding_model", params)
    embedding = embedding_to_record(thought.embedding, thought.embedding_model, names=names)
    speaker, payload = caller.as_agent(thought.agent_id), await _payload_of(ledger, caller, thought, thought.text)
    try:
        posted = await record_with_embedding(
            ledger,
            speaker,
            embedding,
            lambda: append_payload(ledger, speaker, payload, thought.idempotency_key, ledger.clock()),
            lambda posted: posted.placed,
        )
    except (LifecycleViolation, InvalidEvent) as error:
        if isinstance(payload, ThoughtRecorded) or not is_unknown_decision(error):
            raise
        raise RpcError(INVALID_PARAMS, f"Decision not found: {payload.decision_id}", {"fields": ["id"]}) from None
    if isinstance(payload, DecisionThought):
        step = await step_number(ledger, posted.placed)
        return {"success": True, "mode": "post-decision", "decision_id": payload.decision_id, "step_number": step}
    answer: dict[str, object] = {
        "success": True,
        "mode": "pre-decision",
        "tracker_key": ThoughtScope(thought.agent_id, thought.decision_id).key(caller.agent),
        "agent_id": thought.agent_id or caller.agent,
        "thought_id": posted.placed.subject.removeprefix("thought/"),
    }
    if thought.decision_id is None or await decision_exists(ledger, thought.decision_id):
        return answer
    name = _thought.spelling("decision_id", params)
    note = f"No decision has this id. Only a decision recorded with the same {name} adopts the thought."
    return {**answer, "unknown": [thought.decision_id], "note": note}


async def _payload_of(
    ledger: LedgerService, caller: Principal, thought: _Thought, text: str
) -> ThoughtRecorded | DecisionThought:
    """Return the event of a thought: about a recorded decision, or for the next one."""
    if thought.id and thought.agent_id is None and thought.decision_id is None:
        decision_id, _ = await find_named(ledger, caller, thought.id, prefix=caller.may("read"))
        return DecisionThought(decision_id=decision_id, text=text)
    return ThoughtRecorded(text=text, agent_id=thought.agent_id, decision_id=thought.decision_id)


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
