"""cstp.recordDecision: record a decision."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from api.cstp.breakers import breaker_violations, warning_of
from api.cstp.calibration_note import note_on_decision
from api.cstp.decision_params import OPTIONS, RecordRequest, check_params, with_review_date
from api.cstp.tracked_calls import deliberates
from api.principal import Principal
from api.service.decision_quality import quality_of
from api.service.decision_thoughts import DecisionResult, Thinker, record_with_thoughts
from api.service.decision_writer import decision_exists
from api.service.derived_bridge import add_derived_bridge, derive_bridge
from api.service.guardrails.decision_check import context_of_check, count_inputs, warnings_of_decision
from api.service.ledger import LedgerService
from api.service.link_target import LinkTarget
from api.service.supplied_vector import record_with_embedding
from events.decision import DecisionRecorded
from projections.decisions.thought_index import ThoughtScope


async def record_decision(
    ledger: LedgerService,
    caller: Principal,
    params: dict[str, Any],
    *,
    action_context: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `calibrationNote` describes the outcomes of the agent's similar decisions with similar confidence.

    `"deliberation": "auto"`, or a token made so, adds the calls that the agent made before as inputs and steps, links
    the decision to those that its queries found, and derives a bridge if none is stated.

    `agentId` names the agent that decides, if the caller may append as that agent; `recorded_by` is then in the answer.
    `agentId` and `decisionId` also select the thoughts, of those of the agent and the caller; `decisionId` does not set
    the decision's id. Thoughts beyond the decision's limits stay pending: `thoughts_pending` counts them.

    `question` names the question that the decision answers. It is unique within project and category, so that agents
    that answered the same question can be compared.

    `cluster` names what its outcome depends on together with others: a task, a session, a day. `model` is the language
    model that decides, and `reportedModel` the one that the endpoint named in its answer.

    `relatedTo` (or `related_to`) lists earlier decisions, each with its `id`, and optionally `summary` and `distance`.
    The new decision is linked to each: `graph_edges_created` counts the links, those of queries too, and `unknown`
    names decisions that are not in the ledger.

    `idempotencyKey` (or `idempotency_key`, 1..128 printable characters, unique to the agent) makes a retry safe: the
    same key with the same parameters returns the first answer again; with other parameters it is an error.

    `guardrail_warnings` lists the circuit breakers that block the decision and the guardrails that fire on it; it is
    recorded nevertheless. `checkId` is that of checkGuardrails: the decision is then evaluated with the context of the
    planned action, too. `action_context` is that context for preAction.

    `embedding` is a vector of the decision that the caller made, and `embeddingModel` the model that made it: a search
    by meaning compares it.
    """
    auto = deliberates(caller, params, or_object=True)
    request = check_params(params)
    decision, options, targets = request.decision, request.options, request.targets
    if options.check_id is not None:
        action_context = await context_of_check(ledger, caller, options.check_id)
    speaker = caller.as_agent(options.agent_id)
    stated = msgspec.to_builtins(decision)
    breakers = await breaker_violations(ledger, speaker, stated)
    decided = await _decide(ledger, caller, speaker, request, auto=auto)
    if decided.placed.duplicate:
        breakers = await breaker_violations(ledger, speaker, stated, before=(decided.placed.position, decided.moment))
    answer = _first_fields(decided)
    if decision.confidence is not None:
        answer |= await note_on_decision(ledger, speaker, decision)
    answer |= _thoughts_of(decided, decision, targets)
    if unknown := [one.decision_id for one in targets if not await decision_exists(ledger, one.decision_id)]:
        answer["unknown"] = unknown
    if options.decision_id is not None and not decided.adopted:
        name = OPTIONS.spelling("decision_id", params)
        answer["note"] = f"No pending thought has this {name}. It selects thoughts; the id of the decision is in `id`."
    if auto and decision.bridge is None:
        answer |= _bridge_of(decided.decision)
    if options.agent_id is not None:
        answer["recorded_by"] = speaker.agent
    warnings = [warning_of(breaker) for breaker in breakers]
    warnings += await _guardrail_warnings(ledger, speaker, decided, decision, action_context)
    return {**answer, "guardrail_warnings": warnings} if warnings else answer


async def _decide(
    ledger: LedgerService, caller: Principal, speaker: Principal, request: RecordRequest, *, auto: bool
) -> DecisionResult:
    """Record a decision of a speaker, with the pending thoughts of the speaker and the caller, links and vector."""
    decision, options, key = request.decision, request.options, request.options.idempotency_key

    def made(moment: datetime) -> DecisionRecorded:
        dated = with_review_date(decision, options.review_in, moment)
        return add_derived_bridge(dated, speaker.source, key) if auto else dated

    scope = ThoughtScope(options.agent_id, options.decision_id)
    thinker = Thinker(frozenset({caller.source, speaker.source}), scope)
    return await record_with_embedding(
        ledger,
        speaker,
        request.embedding,
        lambda: record_with_thoughts(ledger, speaker, thinker, made, key, options.question, request.targets, auto=auto),
        lambda recorded: recorded.placed,
    )


def _first_fields(decided: DecisionResult) -> dict[str, object]:
    subject = decided.placed.subject
    return {
        "success": True,
        "id": subject.removeprefix("decision/"),
        "path": subject,
        "indexed": True,
        "timestamp": decided.moment.isoformat(),
        "quality": quality_of(decided.decision),
    }


def _thoughts_of(decided: DecisionResult, stated: DecisionRecorded, targets: Sequence[LinkTarget]) -> dict[str, object]:
    """Return what an answer says about adopted thoughts and about related decisions: stated ones, and found ones."""
    answer: dict[str, object] = {}
    if decided.adopted:
        answer |= {"deliberation_auto": True, "deliberation_inputs_count": count_inputs(stated) + decided.adopted}
    if links := len(targets) + len(decided.related):
        answer |= {"related_count": links, "graph_edges_created": links}
    if decided.left:
        answer["thoughts_pending"] = decided.left
    return answer


def _bridge_of(decision: DecisionRecorded) -> dict[str, object]:
    """Return what an answer says about a derived bridge."""
    if decision.bridge is None:
        return {}
    derived = derive_bridge(decision)
    return {"bridge_auto": True, "bridge_method": derived[1] if derived is not None else "rule"}


async def _guardrail_warnings(
    ledger: LedgerService,
    caller: Principal,
    decided: DecisionResult,
    stated: DecisionRecorded,
    context: Mapping[str, Any] | None,
) -> list[dict[str, object]]:
    """Return the guardrails that fired on a decision."""
    decision_id = decided.placed.subject.removeprefix("decision/")
    inputs = count_inputs(stated) + decided.adopted
    fired = await warnings_of_decision(ledger, caller, decided.decision, decision_id, inputs=inputs, context=context)
    return [msgspec.structs.asdict(warning) for warning in fired]
