"""Guardrails and circuit breakers: check an action, list both, show and reset a breaker."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors, missing_param_error, view_of
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.agent_calls import guardrails
from api.service.agent_calls.answer_names import named, without_none
from api.service.breakers import find_breaker, get_breakers, reset_breaker
from api.service.guardrails.action_check import PlannedAction, rules_in_force
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.decode_error_messages import json_type
from events.payload import Text
from ledger.errors import InvalidQuery, NotFound
from projections.shared_params import NoParams

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class _Breaker(msgspec.Struct, frozen=True, kw_only=True):
    scope: NonEmpty


class _Reset(msgspec.Struct, frozen=True, kw_only=True):
    scope: NonEmpty
    probe_first: bool = False
    reason: Text | None = None


_STATE = (
    "scope", "state", "failure_count", "failure_threshold", "window_ms", "cooldown_ms", "opened_at",
    "cooldown_remaining_ms", "probe",
)  # fmt: skip
_UNLISTED = ("opened_at", "probe")

_breaker: ParamsSchema[_Breaker] = ParamsSchema(_Breaker)
_reset: ParamsSchema[_Reset] = ParamsSchema(_Reset)


async def list_circuit_breakers(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return every circuit breaker with its state, now or as of a position or time (`asOf`)."""
    listed = await get_breakers(await view_of(ledger, params), NoParams())
    rows = [{name: getattr(breaker, name) for name in _STATE if name not in _UNLISTED} for breaker in listed.breakers]
    return {"breakers": [{**row, "from_config": True} for row in rows]}


async def get_circuit_state(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return the state of one circuit breaker, now or as of a position or time (`asOf`)."""
    view, request = await view_of(ledger, params), _breaker.decode(params)
    try:
        breaker = await find_breaker(view, request.scope)
    except NotFound as error:
        raise _unknown(error, f"No circuit breaker found for scope: {request.scope}") from None
    answer = named(breaker, _STATE)
    if breaker.opened_at is not None:
        answer["openedAt"] = str(breaker.opened_at.timestamp())
    return without_none(answer)


async def reset_circuit(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Reset a circuit breaker that blocks: close it, or with `probeFirst` let one decision through."""
    request = _reset.decode(params)
    try:
        done = await reset_breaker(
            ledger, caller, request.scope, probe_first=request.probe_first, reason=request.reason
        )
    except NotFound as error:
        raise _unknown(error, f"No breaker found for scope: {request.scope}") from None
    except InvalidQuery as error:
        raise RpcError(INVALID_PARAMS, error.cause, {"fields": ["scope"], "advice": error.full_advice}) from None
    return {
        "scope": done.scope,
        "previousState": done.previous,
        "newState": done.state,
        "message": f"Circuit breaker {done.scope}: {done.previous} -> {done.state}",
        "previous_state": done.previous,
        "new_state": done.state,
    }


def _unknown(error: NotFound, message: str) -> RpcError:
    return RpcError(INVALID_PARAMS, message, {"fields": ["scope"], "advice": error.advice})


class _ListParams(msgspec.Struct, frozen=True, kw_only=True):
    scope: str | None = None


_listed: ParamsSchema[_ListParams] = ParamsSchema(_ListParams)
_action: ParamsSchema[PlannedAction] = ParamsSchema(
    PlannedAction, without=("context",), types={"description": NonEmpty, "stakes": Stakes | None}
)


def parse_planned_action(params: Mapping[str, Any]) -> PlannedAction:
    """Return the action of the parameter `action`: its other keys belong to its context. Errors: RpcError."""
    fields = params.get("action")
    if fields is None or fields == {}:
        raise missing_param_error("action")
    errors: list[ParameterError] = []
    action = _action.convert_object(fields, errors, "action")
    context = fields.get("context") if isinstance(fields, dict) else None
    if context is not None and not isinstance(context, dict):
        errors.append(ParameterError("action.context", f"must be an object, got {json_type(context)}"))
    check_errors(errors)
    assert action is not None, "a wrong action is in the errors"
    beside = {name: value for name, value in fields.items() if name not in PlannedAction.__struct_fields__}
    return structs.replace(action, category=action.category or None, context={**(context or {}), **beside})


def breaker_facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agent and the tags of an action, which select circuit breakers."""
    named_agents = (fields.get(name) for name in ("agent_id", "agentId"))
    agent = next((name for name in named_agents if isinstance(name, str) and name), None)
    tags = fields.get("tags")
    return {
        "agent": agent,
        "tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list | tuple) else (),
    }


async def check_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Evaluate an action against the guardrails in force and the circuit breakers, and record the evaluation."""
    action = parse_planned_action(params)
    return await guardrails.check_guardrails(ledger, caller, action, **breaker_facts(params["action"]))


async def list_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """List the guardrails in force; with `scope`, those of that project and those of all projects."""
    scope = _listed.decode(params).scope
    rules = await rules_in_force(ledger)
    rows = [guardrails.rule_row(rule) for rule in rules if not scope or not rule.scope or scope in rule.scope]
    return {"guardrails": rows, "count": len(rows), "agent": guardrails.AGENT}
