"""Record a thought for an agent: about a recorded decision, or for its next one. The answer is CSTP's."""

import msgspec

from api.principal import Principal
from api.service.decision_links import find_named
from api.service.decision_thoughts import step_number
from api.service.decision_writer import append_payload, decision_exists
from api.service.ledger import LedgerService
from api.service.supplied_vector import embedding_to_record, record_with_embedding
from events.decision import DecisionThought
from events.envelope import EventId
from events.payload import Label, Text
from events.thought import ThoughtRecorded
from events.vector import Numbers
from projections.decisions.thought_index import ThoughtScope


class Thought(msgspec.Struct, frozen=True, kw_only=True):
    """A thought. With `id` alone it is about that decision; otherwise it is for the next one of its scope."""

    text: Text
    id: str | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    idempotency_key: EventId | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None

    @property
    def about(self) -> str | None:
        """The recorded decision that it is about; None, if it is for the next one."""
        return self.id or None if self.agent_id is None and self.decision_id is None else None


async def record_thought(
    ledger: LedgerService,
    caller: Principal,
    thought: Thought,
    names: tuple[str, str, str] = ("decision_id", "embedding", "embedding_model"),
) -> dict[str, object]:
    """Record a thought: about a recorded decision if only `id` is given, otherwise for the next decision.

    `id` is that of the decision, or an unambiguous prefix of it, which needs the scope `read`.
    The next recordDecision of the same agent with the same `agentId` and `decisionId` adopts it, within 300 seconds.
    `agentId` names the agent that thinks, if the caller may append as that agent. `names` are the caller's names of
    fields. Errors: those of
    `LedgerService.record`.
    """
    embedding = embedding_to_record(thought.embedding, thought.embedding_model, names=names[1:])
    speaker, payload = caller.as_agent(thought.agent_id), await _payload_of(ledger, caller, thought)
    posted = await record_with_embedding(
        ledger,
        speaker,
        embedding,
        lambda: append_payload(ledger, speaker, payload, thought.idempotency_key, ledger.clock()),
        lambda posted: posted.placed,
    )
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
    note = f"No decision has this id. Only a decision recorded with the same {names[0]} adopts the thought."
    return {**answer, "unknown": [thought.decision_id], "note": note}


async def _payload_of(ledger: LedgerService, caller: Principal, thought: Thought) -> ThoughtRecorded | DecisionThought:
    """Return the event of a thought: about a recorded decision, or for the next one."""
    if thought.about is not None:
        decision_id, _ = await find_named(ledger, caller, thought.about, prefix=caller.may("read"))
        return DecisionThought(decision_id=decision_id, text=thought.text)
    return ThoughtRecorded(text=thought.text, agent_id=thought.agent_id, decision_id=thought.decision_id)
