"""cstp.preAction: return the context of an action, and record the action as a decision, in one call."""

from hashlib import sha256
from time import perf_counter
from typing import Annotated, Any

import msgspec

from api.cstp.agent_context import Row, own_agent, scores_json, similar_decisions
from api.cstp.guardrails import check_reference, guardrail_results, parse_planned_action
from api.cstp.params_schema import ParameterError, ParamsSchema, wrong_params_error
from api.cstp.record_decision import DECISION, check_params, record_decision
from api.principal import Principal
from api.service.calibration import CalibrationQuery, compute_calibration
from api.service.guardrails.action_check import PlannedAction, check_action
from api.service.ledger import LedgerService
from events.decode_error_messages import json_type
from events.payload import Label
from projections.calibration.calibration import CalibrationFilter

QUERY_LIMIT, QUERY_LIMIT_MAX = 5, 50
EXAMPLES_MAX = 3

_NOT_RECORDED = ("action", "options")


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    query_limit: Annotated[int, msgspec.Meta(ge=1)] = QUERY_LIMIT
    auto_record: bool = True
    include_patterns: bool = True
    agent_id: Label | None = None


_options: ParamsSchema[_Options] = ParamsSchema(_Options)


async def pre_action(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Evaluate an action against the guardrails; return similar decisions, and the calibration of its category.

    `blockReasons` says why an action is not allowed. Unless `autoRecord` is false, an allowed action is recorded as
    recordDecision does, with the parameters beside `action`: reasons, tags, pattern, idempotencyKey and so on. A
    missing confidence stays unknown. Nothing is recorded if a parameter is wrong. The evaluation is an event, so that
    with guardrails the caller must be able to append.
    """
    start_s = perf_counter()
    action, options = parse_planned_action(params), _options_of(params)
    recording = _recording(params, action) if options.auto_record else None
    if recording is not None:
        caller.require("append")
        check_params(recording)
    limit = min(options.query_limit, QUERY_LIMIT_MAX)
    similar = await similar_decisions(
        ledger,
        action.description,
        "action.description",
        limit=limit,
        category=action.category or None,
        include_reasons=True,
    )
    selection = CalibrationFilter(agent=own_agent(caller.as_agent(options.agent_id)), category=action.category or None)
    overall = (await compute_calibration(ledger, CalibrationQuery(filter=selection))).overall
    reviewed = (await compute_calibration(ledger, CalibrationQuery(filter=selection, min_decisions=1))).overall
    checked = await check_action(ledger, caller, action, phase="pre_action", event_id=_check_key(recording))
    recorded = None
    if recording is not None and checked.allowed:
        recorded = await record_decision(ledger, caller, recording, action_context=action.context)
    answer: dict[str, object] = {
        "allowed": checked.allowed,
        "decisionId": recorded["id"] if recorded is not None else None,
        "relevantDecisions": similar,
        "guardrailResults": guardrail_results(checked),
        "calibrationContext": {"reviewedDecisions": reviewed.reviewed if reviewed else 0, **scores_json(overall)},
        "patternsSummary": _patterns(similar) if options.include_patterns else [],
        "queryTimeMs": round((perf_counter() - start_s) * 1000),
        **check_reference(checked),
    }
    if checked.violations:
        answer["blockReasons"] = [rule.message for rule in checked.violations]
    return answer if recorded is None else {**answer, "recorded": recorded}


def _check_key(recording: dict[str, Any] | None) -> str | None:
    """Return the event id of the evaluation, so that a retry of the recording is a retry of it, too."""
    key = None if recording is None else recording.get("idempotencyKey") or recording.get("idempotency_key")
    return None if key is None else f"check/{sha256(str(key).encode()).hexdigest()}"


def _options_of(params: dict[str, Any]) -> _Options:
    """Return the options, from `options` or beside it; `options` takes precedence. Errors: RpcError."""
    options, errors = params.get("options"), list[ParameterError]()
    if options is not None and not isinstance(options, dict):
        raise wrong_params_error([ParameterError("options", f"must be an object, got {json_type(options)}")])
    inside = _options.convert(options or {}, errors, "options.")
    set_inside = {name for name, value in (options or {}).items() if value is not None}
    beside = _options.convert({name: value for name, value in params.items() if name not in set_inside}, errors)
    if errors:
        raise wrong_params_error(errors)
    return _Options(**{**beside, **inside})


def _recording(params: dict[str, Any], action: PlannedAction) -> dict[str, Any]:
    """Return the parameters for recordDecision. Errors: RpcError."""
    beside = {name: value for name, value in params.items() if name not in _NOT_RECORDED}
    optional = {"category": action.category, "stakes": action.stakes, "confidence": action.confidence}
    stated = {name: value for name, value in optional.items() if value is not None}
    recording = {**beside, **stated, "decision": action.description}
    errors: list[ParameterError] = []
    DECISION.convert(recording, errors)
    if errors:
        raise wrong_params_error(
            [ParameterError(f"action.{field}" if field in stated else field, rule) for field, rule in errors]
        )
    return recording


def _patterns(similar: list[Row]) -> list[dict[str, object]]:
    """Return the patterns of the decisions, each with the ids of its first decisions."""
    ids_by_pattern: dict[str, list[str]] = {}
    for row in similar:
        if "pattern" in row:
            ids_by_pattern.setdefault(row["pattern"], []).append(row["id"])
    return [
        {"pattern": pattern, "count": len(ids), "exampleIds": ids[:EXAMPLES_MAX]}
        for pattern, ids in ids_by_pattern.items()
    ]
