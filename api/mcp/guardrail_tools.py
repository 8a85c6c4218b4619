"""The tool that evaluates a planned action against the guardrails, with the parameters and the answer of CSTP's."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from api.cstp.guardrails import check_guardrails
from api.mcp.decision_tools import Rows, planned_action, stated
from api.mcp.tool import AgentParams, Answer, Tool, ToolCall
from api.principal import DeliberationPolicy
from events.decision import Stakes
from events.payload import Confidence, Text


class CheckParams(AgentParams, frozen=True, kw_only=True):
    """A planned action; `context` has further fields that rules compare."""

    description: Text
    category: str | None = None
    stakes: Stakes | None = None
    confidence: Confidence | None = None
    context: dict[str, Any] | None = None
    deliberation: DeliberationPolicy | None = None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the action is allowed, which rules fired, and how many were evaluated."""

    allowed: bool
    violations: Rows
    warnings: Rows
    evaluated: int
    checkId: str | UnsetType = UNSET  # noqa: N815 - as CSTP names it


async def _check(call: ToolCall, params: CheckParams) -> Answer:
    action = planned_action(stated(params, "agent_id", "deliberation"))
    found: Any = await check_guardrails(call.ledger, call.caller, {"action": action})
    answer: Answer = {name: value for name, value in found.items() if name != "agent"}
    return answer | {name: [_snake_id(row) for row in found[name]] for name in ("violations", "warnings")}


def _snake_id(row: dict[str, Any]) -> dict[str, Any]:
    """Return a rule that fired with its id under the name that CSTP's tool gives it; its method says guardrailId."""
    return {("guardrail_id" if name == "guardrailId" else name): value for name, value in row.items()}


GUARDRAIL_TOOLS = (
    Tool(
        name="check_action",
        title="Check against guardrails",
        description="Whether the guardrails allow an action. Pass checkId to record_decision as check_id.",
        toolset="decisions",
        params=CheckParams,
        result=CheckResult,
        answer=_check,
        writes=True,
        tracked_as="cstp.checkGuardrails",
    ),
)
