"""cstp.preAction: return the context of an action, and record the action as a decision, in one call."""

from hashlib import sha256
from time import perf_counter
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.guardrails import breaker_violations, check_reference, guardrail_results, parse_planned_action
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors, wrong_params_error
from api.cstp.query_decisions import scores_json, similar_notes, similar_rows
from api.cstp.record_decision import DECISION, check_params, record_decision
from api.cstp.tracked_calls import deliberates, stated_deliberation, tracked_fields
from api.principal import Principal
from api.service.agent_context import find_similar_decisions, own_agent
from api.service.auto_deliberation import check_call, query_call
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.guardrails.action_check import PlannedAction, check_action
from api.service.ledger import LedgerService
from api.service.retrieval import SuppliedEmbedding
from api.service.supplied_vector import read_embedding
from events.decode_error_messages import json_type
from events.payload import Label
from events.vector import Numbers

QUERY_LIMIT, QUERY_LIMIT_MAX = 5, 50
EXAMPLES_MAX = 3

METHOD = "cstp:preAction"

_NOT_RECORDED = ("action", "options")


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    query_limit: Annotated[int, msgspec.Meta(ge=1)] = QUERY_LIMIT
    auto_record: bool = True
    include_patterns: bool = True
    agent_id: Label | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


_options: ParamsSchema[_Options] = ParamsSchema(_Options)


async def pre_action(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Evaluate an action against the guardrails; return similar decisions, and the calibration of its category.

    `blockReasons` says why an action is not allowed: guardrails and open circuit breakers block it. Unless `autoRecord`
    is false, an allowed action is recorded as recordDecision does, with the parameters beside `action`: reasons, tags,
    pattern, idempotencyKey and so on. A missing confidence stays unknown. Nothing is recorded if a parameter is wrong.
    The evaluation is an event, so that with guardrails the caller must be able to append.
    """
    start_s = perf_counter()
    action, options = parse_planned_action(params), _options_of(params)
    recording = _recording(params, action) if options.auto_record else None
    if recording is not None:
        caller.require("append")
        check_params(recording)
    limit = min(options.query_limit, QUERY_LIMIT_MAX)
    similar = await find_similar_decisions(
        ledger,
        action.description,
        "action.description",
        limit=limit,
        category=action.category or None,
        embedding=_embedding(params, options),
    )
    mode = "keyword" if similar is None else similar.mode
    rows = similar_rows(similar, ledger.clock(), include_reasons=True, compacted=True)
    scored = CalibrationParams(agent=own_agent(caller.as_agent(options.agent_id)), category=action.category or None)
    overall = (await compute_calibration(ledger, scored)).answer.overall
    reviewed = (await compute_calibration(ledger, structs.replace(scored, min_decisions=1))).answer.overall
    key = _key(params)
    checked = await check_action(
        ledger, caller, action, phase="pre_action", event_id=None if recording is None else _check_key(key)
    )
    planned = {"tags": params.get("tags"), **params["action"]}
    speaker = caller.as_agent(options.agent_id)
    breakers = await breaker_violations(ledger, speaker, planned, key=key)
    tracked = await _track(ledger, caller, params, action, mode, rows, len(checked.violations) + len(breakers))
    allowed = checked.allowed and not breakers
    recorded = None
    if recording is not None and allowed:
        recorded = await record_decision(ledger, caller, recording, action_context=action.context)
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
    params: dict[str, Any],
    action: PlannedAction,
    mode: str,
    rows: list[dict[str, Any]],
    violations: int,
) -> dict[str, object]:
    """Track the query and the check of this call, if it takes part in automatic deliberation."""
    if not deliberates(caller, params, or_object=True):
        return {}
    distances = [(row["id"], row["distance"]) for row in rows]
    query = query_call(action.description, len(rows), mode, METHOD, distances)
    check = check_call(action.description, violations, METHOD)
    return await tracked_fields(ledger, caller, [query, check], _key(params))


def _key(params: dict[str, Any]) -> str | None:
    """Return the idempotency key of the recording."""
    key = params.get("idempotencyKey") or params.get("idempotency_key")
    return str(key) if key else None


def _check_key(key: str | None) -> str | None:
    """Return the event id of the evaluation, so that a retry of the recording is a retry of it, too."""
    return None if key is None else f"check/{sha256(key.encode()).hexdigest()}"


def _options_of(params: dict[str, Any]) -> _Options:
    """Return the options, from `options` or beside it; `options` takes precedence. Errors: RpcError."""
    options, errors = params.get("options"), list[ParameterError]()
    if options is not None and not isinstance(options, dict):
        raise wrong_params_error([ParameterError("options", f"must be an object, got {json_type(options)}")])
    inside = _options.convert(options or {}, errors, "options.")
    set_inside = {name for name, value in (options or {}).items() if value is not None}
    beside = _options.convert({name: value for name, value in params.items() if name not in set_inside}, errors)
    check_errors(errors)
    return _Options(**{**beside, **inside})


def _embedding(params: dict[str, Any], options: _Options) -> SuppliedEmbedding | None:
    """Return the vector of the action, which finds similar decisions, and is recorded with the decision."""
    names = _options.spelling("embedding", params), _options.spelling("embedding_model", params)
    return read_embedding(options.embedding, options.embedding_model, names=names)


def _recording(params: dict[str, Any], action: PlannedAction) -> dict[str, Any]:
    """Return the parameters for recordDecision. Errors: RpcError."""
    beside = {name: value for name, value in params.items() if name not in _NOT_RECORDED}
    optional = {"category": action.category, "stakes": action.stakes, "confidence": action.confidence}
    stated = {name: value for name, value in optional.items() if value is not None}
    recording = {**beside, **stated, "decision": action.description}
    errors: list[ParameterError] = []
    DECISION.convert(stated_deliberation(recording), errors)
    if errors:
        raise wrong_params_error(
            [ParameterError(f"action.{field}" if field in stated else field, rule) for field, rule in errors]
        )
    return recording


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
