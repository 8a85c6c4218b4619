"""Evaluate a planned action against the guardrails and the circuit breakers, in the words of CSTP."""

from collections.abc import Sequence

from msgspec import structs

from api.principal import Principal
from api.service.agent_calls.answer_names import named
from api.service.blocking_breakers import blocking_breakers, describe_block
from api.service.guardrails.action_check import CheckAnswer, PlannedAction, check_action
from api.service.ledger import LedgerService
from events.guardrail import ORDERING, GuardrailCondition, GuardrailSet
from projections.breaker_states import BreakerView
from projections.guardrails.rule_evaluation import describe_condition

AGENT = "cognition-engines"
"""The name of the server in the protocol's answers."""

NO_GUARDRAILS = "no-guardrails"
"""The id in the warning that no rule is in force; it is not the id of a rule."""

_SYMBOLS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_FIRED = {"guardrail_id": "guardrailId", "description": "name", "message": "message", "action": "severity"}
"""The protocol's names of the fields of a rule that fired."""


async def check_guardrails(
    ledger: LedgerService,
    caller: Principal,
    action: PlannedAction,
    *,
    agent: str | None = None,
    tags: Sequence[str] = (),
) -> dict[str, object]:
    """Evaluate an action against the guardrails in force and the circuit breakers, and record the evaluation.

    Without guardrails the action is allowed with a warning that says so, unless a circuit breaker blocks it. With them,
    the caller must be able to append. `agent`, by default the caller's, and `tags` select circuit breakers.
    `checkId` names the evaluation. recordDecision accepts it, to evaluate the decision with the same context.
    """
    found = await check_action(ledger, caller, action)
    breakers = await breaker_violations(ledger, agent or caller.agent, action, tags)
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


async def breaker_violations(
    ledger: LedgerService,
    agent: str,
    action: PlannedAction,
    tags: Sequence[str],
    *,
    recorded_by: tuple[str, str] | None = None,
) -> list[dict[str, object]]:
    """Return the circuit breakers that block an action of an agent, as violations.

    `recorded_by` are the source and the idempotency key of the call that records the action.
    """
    breakers = await blocking_breakers(
        ledger,
        agent=agent,
        category=action.category or None,
        stakes=action.stakes or None,
        tags=tags,
        recorded_by=recorded_by,
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
