"""Routes of guardrails: set, list, show and retire rules, and evaluate an action."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response, read_json
from api.http.submission import recording
from api.parameters import text_parameter
from api.service.decision_writer import act_as
from api.service.guardrails.action_check import CheckAnswer, PlannedAction, check_action
from api.service.guardrails.rule_set import (
    RetiredRule,
    SetAnswer,
    retire_rule,
    set_rules,
)
from events.envelope import EventId, Source

GUARDRAIL_ID = stream_id_parameter("guardrail_id", "The id of the rule.")
REASON = text_parameter("reason", "Why the rule is retired.")


class RulesBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules to set."""

    yaml: str
    """The text of a rule file, in YAML or JSON."""


class CheckBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action to evaluate."""

    action: PlannedAction
    """The action."""
    id: EventId | None = None
    """The id of the event. The same action with the same id is a retry, which returns the first answer."""
    source: Source | None = None
    """The agent, as /agents/NAME; by default the agent of the token."""


@HttpOperation(
    "POST",
    "/guardrails",
    scopes=("admin",),
    body={JSON: RulesBody},
    answers={200: json_answer("The rules are in force.", SetAnswer)},
    errors=(409, 413, 422, 507),
)
async def post_guardrails(call: Call) -> Response:
    """Set the guardrails of a rule file.

    A rule with an id that is in force replaces it. Other rules stay in force.
    """
    body = await read_json(call.request, RulesBody)
    return json_response(await set_rules(call.ledger, call.caller, body.yaml.encode()))


@HttpOperation(
    "DELETE",
    "/guardrails/{guardrail_id}",
    scopes=("admin",),
    path_parameters=(GUARDRAIL_ID,),
    query=(REASON,),
    answers={200: json_answer("The rule is retired.", RetiredRule)},
    errors=(404, 409, 413, 507),
)
async def delete_guardrail(call: Call) -> Response:
    """Retire a guardrail. Its history stays, and it can be set again."""
    guardrail_id, reason = call.path(GUARDRAIL_ID), REASON.find(call.parameters)
    return json_response(await retire_rule(call.ledger, call.caller, guardrail_id, reason))


@recording(
    "/guardrails/check", CheckBody, CheckAnswer, "Whether the action is allowed.", "A retry: the first answer.",
    scopes=(), errors=(409, 413, 422, 507),
)  # fmt: skip
async def post_guardrail_check(call: Call) -> Response:
    """Evaluate an action against the guardrails in force.

    The evaluation is an event, which needs the scope `append`. Without guardrails every action is allowed, and `note`
    says so, also to a token without that scope.
    """
    body = await read_json(call.request, CheckBody)
    found = await check_action(call.ledger, act_as(call.caller, body.source), body.action, event_id=body.id)
    return json_response(found, 200 if found.duplicate else 201)
