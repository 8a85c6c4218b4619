"""Automatic deliberation in CSTP: which calls are tracked, and whether the caller asked for it."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from api.cstp.params_schema import ParameterError, ParamsSchema, wrong_params_error
from api.principal import Principal
from api.service.auto_deliberation import check_call, lookup_call, query_call, stats_call, track_calls
from api.service.ledger import LedgerService
from events.errors import TallystickError
from events.payload import Label
from events.thought import ThoughtTracked

TRACKED_FIELD = "tracked"
"""The field that names the tracked call in an answer."""

Result = Mapping[str, Any]
_Describe = Callable[[Mapping[str, Any], Result, str | None], ThoughtTracked]


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
    if not isinstance(wish, str):
        return caller.deliberation == "auto"
    if wish not in ("auto", "off"):
        allowed = "an object, auto or off" if or_object else "auto or off"
        raise wrong_params_error([ParameterError("deliberation", f"must be {allowed}, got {wish!r}")])
    if wish == "auto":
        caller.require("append")
    return wish == "auto"


def stated_deliberation(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a decision, whose `deliberation` may be `auto` or `off` instead of the agent's own."""
    return {name: value for name, value in params.items() if not (name == "deliberation" and value in ("auto", "off"))}


async def answer_tracked(
    ledger: LedgerService, caller: Principal, method: str, params: Mapping[str, Any], answer: object
) -> object:
    """Track an answered call, if it takes part in automatic deliberation, and return the answer with `tracked`.

    The answer is returned in any case. If the call could not be tracked, `untracked` says why.
    """
    describe = _TRACKED.get(method)
    if describe is None or not isinstance(answer, dict) or not deliberates(caller, params):
        return answer
    call = describe(params, answer, _caller.decode(params).agent_id)
    return answer | await tracked_fields(ledger, caller, [call], None)


async def tracked_fields(
    ledger: LedgerService, caller: Principal, calls: list[ThoughtTracked], key: str | None
) -> dict[str, object]:
    """Track calls, and return what an answer says about it."""
    try:
        thoughts = await track_calls(ledger, caller, calls, key)
    except TallystickError as error:
        return {"untracked": error.detail}
    return {TRACKED_FIELD: thoughts}


def _query(params: Mapping[str, Any], answer: Result, agent_id: str | None) -> ThoughtTracked:
    rows = answer["decisions"]
    distances = [(row["id"], row["distance"]) for row in rows]
    return query_call(answer["query"], len(rows), answer["retrievalMode"], "cstp:queryDecisions", distances, agent_id)


def _check(params: Mapping[str, Any], answer: Result, agent_id: str | None) -> ThoughtTracked:
    action = params.get("action")
    description = action.get("description", "") if isinstance(action, dict) else ""
    return check_call(str(description), len(answer["violations"]), "cstp:checkGuardrails", agent_id)


def _lookup(params: Mapping[str, Any], answer: Result, agent_id: str | None) -> ThoughtTracked:
    decision = answer["decision"]
    return lookup_call(decision["id"], decision["decision"], "cstp:getDecision", agent_id)


def _stats(params: Mapping[str, Any], answer: Result, agent_id: str | None) -> ThoughtTracked:
    return stats_call(answer["totalDecisions"], answer["reviewedDecisions"], "cstp:getReasonStats", agent_id)


_TRACKED: dict[str, _Describe] = {
    "cstp.queryDecisions": _query,
    "cstp.checkGuardrails": _check,
    "cstp.getDecision": _lookup,
    "cstp.getReasonStats": _stats,
}
"""How a call of each tracked method becomes an input. preAction tracks its query and its check itself."""
