"""Automatic deliberation in CSTP: whether a call takes part, and what its answer says about it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.cstp.params_schema import ParameterError, ParamsSchema, wrong_params_error
from api.principal import Principal
from api.service.agent_calls import tracked_calls
from api.service.ledger import LedgerService
from events.payload import Label


class _Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that calls, where several share a token."""

    agent_id: Label | None = None


_caller: ParamsSchema[_Caller] = ParamsSchema(_Caller)


def deliberates(caller: Principal, params: Mapping[str, Any], *, or_object: bool = False) -> bool:
    """Return whether a call takes part in automatic deliberation: as its parameter says, otherwise as its token does.

    `or_object`: the parameter may also be the agent's own deliberation.
    Errors: RpcError; Forbidden, if the caller asks for it and may not append.
    """
    wish = params.get("deliberation")
    if isinstance(wish, str) and wish not in ("auto", "off"):
        allowed = "an object, auto or off" if or_object else "auto or off"
        raise wrong_params_error([ParameterError("deliberation", f"must be {allowed}, got {wish!r}")])
    return tracked_calls.deliberates(caller, wish)


def stated_deliberation(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a decision, whose `deliberation` may be `auto` or `off` instead of the agent's own."""
    return {name: value for name, value in params.items() if not (name == "deliberation" and value in ("auto", "off"))}


async def answer_tracked(
    ledger: LedgerService, caller: Principal, method: str, params: Mapping[str, Any], answer: object
) -> object:
    """Track an answered call, if it takes part in automatic deliberation, and return the answer with `tracked`.

    The answer is returned in any case. If the call could not be tracked, `untracked` says why.
    """
    if method not in tracked_calls.TRACKED or not isinstance(answer, dict) or not deliberates(caller, params):
        return answer
    agent_id = _caller.decode(params).agent_id
    return answer | await tracked_calls.track_answered(ledger, caller, method, params, answer, agent_id)
