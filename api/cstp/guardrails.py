"""Guardrails and circuit breakers: check an action, list both, show and reset a breaker."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.answer_names import named, without_none
from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors, missing_param_error, view_of
from api.cstp.query_decisions import AGENT
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.blocking_breakers import blocking_breakers, describe_block
from api.service.breakers import find_breaker, get_breakers, reset_breaker
from api.service.guardrails.action_check import CheckAnswer, PlannedAction, check_action, rules_in_force
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.decode_error_messages import json_type
from events.guardrail import ORDERING, GuardrailCondition, GuardrailSet
from events.payload import Text
from ledger.errors import InvalidQuery, NotFound
from projections.breaker_states import BreakerView
from projections.guardrails.rule_evaluation import describe_condition
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


async def breaker_violations(
    ledger: LedgerService,
    caller: Principal,
    action: Mapping[str, Any],
    *,
    key: str | None = None,
) -> list[dict[str, object]]:
    """Return the circuit breakers that block an action, as violations of checkGuardrails and preAction.

    `action` has category, stakes, tags and agent_id; without an agent_id it is the caller's. `key` is the idempotency
    key of the call.
    """
    tags = action.get("tags")
    breakers = await blocking_breakers(
        ledger,
        agent=_text(action, "agent_id", "agentId") or caller.agent,
        category=_text(action, "category"),
        stakes=_text(action, "stakes"),
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list | tuple) else (),
        recorded_by=None if key is None else (caller.source, key),
    )
    return [_violation(breaker) for breaker in breakers]


def _violation(breaker: BreakerView) -> dict[str, object]:
    return {
        "guardrailId": f"circuit_breaker:{breaker.scope}",
        "name": f"Circuit breaker {breaker.scope}",
        "message": describe_block(breaker),
        "severity": "block",
        "type": "circuit_breaker",
        "state": breaker.state,
        "failureRate": f"{breaker.failure_count}/{breaker.failure_threshold}",
        "resetAt": None if breaker.resets_at is None else breaker.resets_at.isoformat(),
    }


def _text(action: Mapping[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := action.get(name), str) and value), None)


def _unknown(error: NotFound, message: str) -> RpcError:
    return RpcError(INVALID_PARAMS, message, {"fields": ["scope"], "advice": error.advice})


NO_GUARDRAILS = "no-guardrails"
"""The id in the warning that no rule is in force; it is not the id of a rule."""

_SYMBOLS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_FIRED = {"guardrail_id": "guardrailId", "description": "name", "message": "message", "action": "severity"}
"""The protocol's names of the fields of a rule that fired."""


class _ListParams(msgspec.Struct, frozen=True, kw_only=True):
    scope: str | None = None


_guardrails: ParamsSchema[_ListParams] = ParamsSchema(_ListParams)
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


async def check_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Evaluate an action against the guardrails in force and the circuit breakers, and record the evaluation.

    Without guardrails the action is allowed with a warning that says so, unless a circuit breaker blocks it. With them,
    the caller must be able to append.
    `checkId` names the evaluation. recordDecision accepts it, to evaluate the decision with the same context.
    """
    found = await check_action(ledger, caller, parse_planned_action(params))
    breakers = await breaker_violations(ledger, caller, params["action"])
    if breakers:
        found = structs.replace(found, note=None)
    answer: dict[str, object] = {
        "allowed": found.allowed and not breakers,
        "violations": [*_results(found, blocking=True), *breakers],
        "warnings": _results(found, blocking=False),
        "evaluated": found.rules,
        "evaluatedAt": found.time.isoformat(),
        "agent": AGENT,
        "rulesDigest": found.rules_digest,
        **check_reference(found),
    }
    if found.undecided:
        answer["undecided"] = [{"guardrailId": rule.guardrail_id, "missing": rule.fields} for rule in found.undecided]
    return answer if found.note is None else {**answer, "note": found.note}


def check_reference(found: CheckAnswer) -> dict[str, object]:
    """Return the id of an evaluation that is in the log, and the fields that the action's context overrides."""
    reference: dict[str, object] = {} if found.check_id is None else {"checkId": found.check_id}
    return {**reference, "overridden": found.overridden} if found.overridden else reference


def guardrail_results(found: CheckAnswer, breakers: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rules that fired and the circuit breakers that block, then warnings: also, that there are no rules."""
    noted = structs.replace(found, note=None) if breakers else found
    return [*_results(found, blocking=True), *breakers, *_results(noted, blocking=False)]


def _results(found: CheckAnswer, *, blocking: bool) -> list[dict[str, object]]:
    results = [named(rule, _FIRED, _FIRED) for rule in (found.violations if blocking else found.warnings)]
    if found.note is not None and not blocking:
        results.append(
            {"guardrailId": NO_GUARDRAILS, "name": "No guardrails are set", "message": found.note, "severity": "warn"}
        )
    return results


async def list_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """List the guardrails in force; with `scope`, those of that project and those of all projects."""
    scope = _guardrails.decode(params).scope
    rules = await rules_in_force(ledger)
    rows = [rule_row(rule) for rule in rules if not scope or not rule.scope or scope in rule.scope]
    return {"guardrails": rows, "count": len(rows), "agent": AGENT}


def rule_row(rule: GuardrailSet) -> dict[str, object]:
    """Return a rule as a row of listGuardrails."""
    groups = [*((condition,) for condition in rule.conditions), *rule.any_of]
    row: dict[str, object] = {
        "id": rule.guardrail_id,
        "description": rule.description or "",
        "action": rule.action,
        "scope": list(rule.scope),
        "conditions": [_condition_row(group) for group in groups],
        "requirements": [{"field": each.field, "expected": _expected(each)} for each in rule.requirements],
    }
    return row if rule.expression is None else {**row, "expression": rule.expression}


def _condition_row(group: Sequence[GuardrailCondition]) -> dict[str, object]:
    """Return one condition of a rule. Alternatives are a text, with the operator `or`."""
    first, *others = group
    if all(each.operator == "missing" and each.field == first.field for each in others):
        value = first.value if first.value is not None else True
        return {"field": first.field, "operator": first.operator, "value": value}
    fields = dict.fromkeys(each.field for each in group)
    return {"field": ", ".join(fields), "operator": "or", "value": " or ".join(map(describe_condition, group))}


def _expected(requirement: GuardrailCondition) -> object:
    if requirement.operator in ("truthy", "falsy"):
        return requirement.operator == "truthy"
    if requirement.operator in ORDERING:
        return f"{_SYMBOLS[requirement.operator]} {requirement.value}"
    return requirement.value if requirement.operator == "eq" else f"!= {requirement.value}"
