"""Evaluate a recorded decision against the guardrails. Nothing is refused: the decision is in the log."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.principal import Principal
from api.service.decision_quality import quality_of
from api.service.guardrails.action_check import CheckAnswer, PlannedAction, check_action, rules_in_force
from api.service.ledger import LedgerService
from events.decision import DecisionRecordedV1
from events.errors import TallystickError
from events.guardrail import GuardrailEvaluated
from events.registry import VOCABULARY
from ledger import Query
from ledger.errors import NotFound

NOT_EVALUATED = "not-evaluated"
"""The id in the warning that a decision could not be evaluated; it is not the id of a rule."""


class GuardrailWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A guardrail that fired on a recorded decision."""

    guardrail_id: str
    """The rule, or `circuit_breaker:SCOPE`; `not-evaluated` if the decision could not be evaluated."""
    message: str
    severity: str
    """The rule's action: block, warn or log. The decision is recorded nevertheless."""


async def warnings_of_decision(
    ledger: LedgerService,
    caller: Principal,
    decision: DecisionRecordedV1,
    decision_id: str,
    *,
    inputs: int,
    context: Mapping[str, Any] | None = None,
) -> list[GuardrailWarning]:
    """Evaluate a decision that was recorded, record the evaluation, and return the rules that fired.

    If no rule is in force, nothing is evaluated. `inputs` counts the inputs of its deliberation, adopted thoughts
    included. `context` is that of the planned action, if the agent had it checked; what the decision itself states
    overrides it. A repetition returns the first answer. The decision is in the log, so that an error is a warning, too.
    """
    try:
        if not await rules_in_force(ledger):
            return []
        found = await _check(ledger, caller, decision, decision_id, inputs, context or {})
    except TallystickError as error:
        message = f"The guardrails could not be evaluated: {error}"
        return [GuardrailWarning(guardrail_id=NOT_EVALUATED, message=message, severity="block")]
    return [
        GuardrailWarning(guardrail_id=rule.guardrail_id, message=rule.message, severity=rule.action)
        for rule in (*found.violations, *found.warnings)
    ]


async def _check(
    ledger: LedgerService,
    caller: Principal,
    decision: DecisionRecordedV1,
    decision_id: str,
    inputs: int,
    context: Mapping[str, Any],
) -> CheckAnswer:
    """Evaluate a decision. Errors: those of `check_action`."""
    action = PlannedAction(
        description=decision.decision,
        category=decision.category,
        stakes=decision.stakes,
        confidence=decision.confidence,
        context={**context, **_facts_of(decision, inputs), "quality_score": quality_of(decision).score},
    )
    event_id = f"decision/{decision_id}/check"
    return await check_action(ledger, caller, action, phase="record", event_id=event_id, decision_id=decision_id)


def count_inputs(decision: DecisionRecordedV1) -> int:
    """Return the number of inputs that a decision's deliberation lists."""
    return len(decision.deliberation.inputs) if decision.deliberation is not None else 0


async def context_of_check(ledger: LedgerService, caller: Principal, check_id: str) -> dict[str, Any]:
    """Return the context of an action that the caller had checked. Errors: NotFound."""
    page = await ledger.reader.read(Query(subjects=(f"check/{check_id}",), limit=1))
    event = VOCABULARY.event(page.ndjson) if page.positions else None
    if event is None or event.source != caller.source:
        raise NotFound(f"Check not found: {check_id}", "Give the checkId of your own checkGuardrails or preAction.")
    assert isinstance(event.data, GuardrailEvaluated)
    return event.data.context


def _facts_of(decision: DecisionRecordedV1, inputs: int) -> dict[str, object]:
    """Return the fields that rules can compare, besides those of every action."""
    steps = decision.deliberation.steps if decision.deliberation is not None else ()
    facts: dict[str, object] = {
        "has_deliberation": inputs > 0,
        "deliberation_inputs_count": inputs,
        "has_reasoning": bool(steps or decision.trace),
        "reason_count": len(decision.reasons),
        "reason_types_count": len({reason.type for reason in decision.reasons}),
        "has_tags": bool(decision.tags),
        "has_pattern": bool(decision.pattern),
        "tags": list(decision.tags),
        "pattern": decision.pattern,
        "project": decision.project,
        "feature": decision.feature,
    }
    return {name: value for name, value in facts.items() if value is not None}
