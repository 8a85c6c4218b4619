"""The context of a planned action, which is recorded as a decision, in one call. The answer is CSTP's."""

from collections.abc import Sequence
from hashlib import sha256
from time import perf_counter
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.principal import Principal
from api.service.agent_calls.guardrails import breaker_violations, check_reference, guardrail_results
from api.service.agent_calls.query_decisions import scores_json, similar_notes, similar_rows
from api.service.agent_calls.record_decision import Recording, record_decision
from api.service.agent_calls.tracked_calls import tracked_fields
from api.service.agent_context import find_similar_decisions, own_agent
from api.service.auto_deliberation import check_call, query_call
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.guardrails.action_check import PlannedAction, check_action
from api.service.ledger import LedgerService
from api.service.retrieval import SuppliedEmbedding
from events.envelope import EventId
from events.payload import Label
from events.vector import Numbers

QUERY_LIMIT, QUERY_LIMIT_MAX = 5, 50
EXAMPLES_MAX = 3

METHOD = "cstp:preAction"


class PreActionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell about an action, and whether to record it."""

    query_limit: Annotated[int, msgspec.Meta(ge=1)] = QUERY_LIMIT
    auto_record: bool = True
    include_patterns: bool = True
    agent_id: Label | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


class ActionCall(msgspec.Struct, frozen=True, kw_only=True):
    """A planned action, and how it is recorded; None: it is not.

    `embedding` is a vector of it. `tags` and `agent`, by default the one that the options name, select circuit
    breakers. `automatic`: the call takes part in automatic deliberation.
    """

    action: PlannedAction
    options: PreActionOptions
    recording: Recording | None
    embedding: SuppliedEmbedding | None = None
    key: EventId | None = None
    agent: str | None = None
    tags: Sequence[str] = ()
    automatic: bool = False


async def pre_action(ledger: LedgerService, caller: Principal, call: ActionCall) -> dict[str, Any]:
    """Evaluate an action against the guardrails; return similar decisions, and the calibration of its category.

    `blockReasons` says why an action is not allowed: guardrails and open circuit breakers block it. Unless `autoRecord`
    is false, an allowed action is recorded as recordDecision does, with the parameters beside `action`: reasons, tags,
    pattern, idempotencyKey and so on. A missing confidence stays unknown. Nothing is recorded if a parameter is wrong.
    The evaluation is an event, so that with guardrails the caller must be able to append.
    """
    start_s = perf_counter()
    action, options, recording = call.action, call.options, call.recording
    if recording is not None:
        caller.require("append")
    limit = min(options.query_limit, QUERY_LIMIT_MAX)
    similar = await find_similar_decisions(
        ledger,
        action.description,
        "action.description",
        limit=limit,
        category=action.category or None,
        embedding=call.embedding,
    )
    mode = "keyword" if similar is None else similar.mode
    rows = similar_rows(similar, ledger.clock(), include_reasons=True, compacted=True)
    scored = CalibrationParams(agent=own_agent(caller.as_agent(options.agent_id)), category=action.category or None)
    overall = (await compute_calibration(ledger, scored)).answer.overall
    reviewed = (await compute_calibration(ledger, structs.replace(scored, min_decisions=1))).answer.overall
    checked = await check_action(
        ledger, caller, action, phase="pre_action", event_id=None if recording is None else _check_key(call.key)
    )
    speaker = caller.as_agent(options.agent_id)
    recorded_by = None if call.key is None else (speaker.source, call.key)
    breakers = await breaker_violations(ledger, call.agent or speaker.agent, action, call.tags, recorded_by=recorded_by)
    tracked = await _track(ledger, caller, call, mode, rows, len(checked.violations) + len(breakers))
    allowed = checked.allowed and not breakers
    recorded = None
    if recording is not None and allowed:
        recorded = await record_decision(ledger, caller, recording, action.context)
    answer: dict[str, object] = {
        "allowed": allowed,
        "decisionId": recorded["id"] if recorded is not None else None,
        "relevantDecisions": rows,
        "guardrailResults": guardrail_results(checked, breakers),
        "calibrationContext": {"reviewedDecisions": reviewed.reviewed if reviewed else 0, **scores_json(overall)},
        "patternsSummary": _patterns(rows) if options.include_patterns else [],
        "queryTimeMs": round((perf_counter() - start_s) * 1000),
        **check_reference(checked),
        **similar_notes(similar),
    }
    reasons = [*(rule.message for rule in checked.violations), *(breaker["message"] for breaker in breakers)]
    if reasons:
        answer["blockReasons"] = reasons
    return {**answer, **tracked} if recorded is None else {**answer, **tracked, "recorded": recorded}


async def _track(
    ledger: LedgerService,
    caller: Principal,
    call: ActionCall,
    mode: str,
    rows: list[dict[str, Any]],
    violations: int,
) -> dict[str, object]:
    """Track the query and the check of this call, if it takes part in automatic deliberation."""
    if not call.automatic:
        return {}
    distances = [(row["id"], row["distance"]) for row in rows]
    query = query_call(call.action.description, len(rows), mode, METHOD, distances)
    check = check_call(call.action.description, violations, METHOD)
    return await tracked_fields(ledger, caller, [query, check], call.key)


def _check_key(key: str | None) -> str | None:
    """Return the event id of the evaluation, so that a retry of the recording is a retry of it, too."""
    return None if key is None else f"check/{sha256(key.encode()).hexdigest()}"


def _patterns(rows: list[dict[str, Any]]) -> list[dict[str, object]]:
    """Return the patterns of the decisions, each with the ids of its first decisions."""
    ids_by_pattern: dict[str, list[str]] = {}
    for row in rows:
        if "pattern" in row:
            ids_by_pattern.setdefault(row["pattern"], []).append(row["id"])
    return [
        {"pattern": pattern, "count": len(ids), "exampleIds": ids[:EXAMPLES_MAX]}
        for pattern, ids in ids_by_pattern.items()
    ]
