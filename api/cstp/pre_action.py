"""cstp.preAction: return the context of an action, and record the action as a decision, in one call."""

from typing import Any

from api.cstp.guardrails import breaker_facts, parse_planned_action
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors, wrong_params_error
from api.cstp.record_decision import DECISION, parse_recording
from api.cstp.tracked_calls import deliberates, stated_deliberation
from api.principal import Principal
from api.service.agent_calls import pre_action as agent_call
from api.service.agent_calls.pre_action import ActionCall, PreActionOptions
from api.service.guardrails.action_check import PlannedAction
from api.service.ledger import LedgerService
from api.service.supplied_vector import read_embedding
from events.decode_error_messages import json_type

_NOT_RECORDED = ("action", "options")

_options: ParamsSchema[PreActionOptions] = ParamsSchema(PreActionOptions)


async def pre_action(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Evaluate an action against the guardrails; return similar decisions, and the calibration of its category.

    An allowed action is recorded as recordDecision does, with the parameters beside `action`: reasons, tags, pattern,
    idempotencyKey and so on. Nothing is recorded if a parameter is wrong.
    """
    action, options = parse_planned_action(params), _options_of(params)
    recording = _recording(params, action) if options.auto_record else None
    if recording is not None:
        caller.require("append")
    names = _options.spelling("embedding", params), _options.spelling("embedding_model", params)
    key = params.get("idempotencyKey") or params.get("idempotency_key")
    call = ActionCall(
        action=action,
        options=options,
        recording=None if recording is None else parse_recording(caller, recording),
        embedding=read_embedding(options.embedding, options.embedding_model, names=names),
        key=str(key) if key else None,
        automatic=deliberates(caller, params, or_object=True),
        **breaker_facts({"tags": params.get("tags"), **params["action"]}),
    )
    return await agent_call.pre_action(ledger, caller, call)


def _options_of(params: dict[str, Any]) -> PreActionOptions:
    """Return the options, from `options` or beside it; `options` takes precedence. Errors: RpcError."""
    options, errors = params.get("options"), list[ParameterError]()
    if options is not None and not isinstance(options, dict):
        raise wrong_params_error([ParameterError("options", f"must be an object, got {json_type(options)}")])
    inside = _options.convert(options or {}, errors, "options.")
    set_inside = {name for name, value in (options or {}).items() if value is not None}
    beside = _options.convert({name: value for name, value in params.items() if name not in set_inside}, errors)
    check_errors(errors)
    return PreActionOptions(**{**beside, **inside})


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
