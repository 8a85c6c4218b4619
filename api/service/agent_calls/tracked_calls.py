"""Automatic deliberation: which calls of an agent become inputs of its next decision."""

from collections.abc import Callable, Mapping
from typing import Any

from api.principal import Principal
from api.service.auto_deliberation import check_call, lookup_call, query_call, stats_call, track_calls
from api.service.ledger import LedgerService
from events.errors import TallystickError
from events.thought import ThoughtTracked

TRACKED_FIELD = "tracked"
"""The field that names the tracked call in an answer."""

Result = Mapping[str, Any]
_Describe = Callable[[Mapping[str, Any], Result, str | None], ThoughtTracked]


def deliberates(caller: Principal, wish: object) -> bool:
    """Return whether a call takes part in automatic deliberation: as it says, `auto` or `off`, or as its token does.

    Errors: Forbidden, if the caller asks for it and may not append.
    """
    if not isinstance(wish, str):
        return caller.deliberation == "auto"
    if wish == "auto":
        caller.require("append")
    return wish == "auto"


async def track_answered(
    ledger: LedgerService,
    caller: Principal,
    method: str,
    params: Mapping[str, Any],
    answer: Result,
    agent_id: str | None = None,
) -> dict[str, object]:
    """Track an answered call of a tracked method, and return what to add to its answer.

    If the call could not be tracked, `untracked` says why. `agent_id` is the agent, where several share a token.
    """
    return await tracked_fields(ledger, caller, [TRACKED[method](params, answer, agent_id)], None)


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


TRACKED: dict[str, _Describe] = {
    "cstp.queryDecisions": _query,
    "cstp.checkGuardrails": _check,
    "cstp.getDecision": _lookup,
    "cstp.getReasonStats": _stats,
}
"""How a call of each tracked method becomes an input. preAction tracks its query and its check itself."""
