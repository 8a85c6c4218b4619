"""cstp.listBreakers, getCircuitState and resetCircuit, and the violations of circuit breakers for other methods."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from api.cstp.answer_names import named, without_none
from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema, view_of
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.blocking_breakers import blocking_breakers, describe_block
from api.service.breakers import find_breaker, get_breakers, reset_breaker
from api.service.ledger import LedgerService
from events.payload import Text
from ledger.errors import InvalidQuery, NotFound
from projections.breaker_states import BreakerView
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
        message = error.detail.removeprefix("scope: ")
        raise RpcError(INVALID_PARAMS, message, {"fields": ["scope"], "advice": error.advice}) from None
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
