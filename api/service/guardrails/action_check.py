"""Evaluate an action against the guardrails in force. Each evaluation is an event."""

import asyncio
from datetime import datetime
from typing import Any

import msgspec
from msgspec import structs

from api.principal import Forbidden, Principal
from api.service.guardrails.rule_set import RULES_MAX
from api.service.ledger import LedgerService, View
from api.text_format import pluralize
from events.envelope import Event
from events.guardrail import CheckedRule, CheckPhase, GuardrailEvaluated, GuardrailSet
from events.limits import LINE_BYTES_MAX
from events.payload import Confidence, Text
from events.registry import VOCABULARY
from ledger.errors import IdentityConflict, InvalidQuery, LineTooLong
from projections.guardrails.guardrail_index import GuardrailIndex
from projections.guardrails.rule_evaluation import digest_of_rules, evaluate

STAKES_DEFAULT = "medium"
"""What rules read for stakes that are not stated, as in CSTP."""

EVALUATION_S = 0.25
"""Processor time in which an action is evaluated against all rules; where it does not suffice, nothing is allowed."""

NO_RULES = "No guardrails are set: nothing was evaluated, and the action is allowed unchecked."

_evaluation = VOCABULARY.event_types["guardrail.evaluated.v1"].own_draft
_asked = ("phase", "description", "category", "stakes", "confidence", "context", "decision_id")


class PlannedAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action that an agent plans."""

    description: Text
    """The action in words."""
    category: str | None = None
    """The kind of action."""
    stakes: str | None = None
    """How much depends on it; rules read an absent value as medium."""
    confidence: Confidence | None = None
    """The stated probability of success, 0..1."""
    context: dict[str, Any] = {}
    """Further fields that rules compare, such as code_review or project. They override the fields above."""


class FiredRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that fired."""

    guardrail_id: str
    description: str
    """The rule in words; its id if it has none."""
    action: str
    message: str


class UndecidedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that would compare fields which are not stated, so that it did not apply."""

    guardrail_id: str
    fields: tuple[str, ...]


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an action is allowed, and by which rules."""

    allowed: bool
    violations: list[FiredRule]
    """Rules with the action `block` that fired."""
    warnings: list[FiredRule]
    """Other rules that fired."""
    undecided: list[UndecidedRule]
    overridden: tuple[str, ...] = ()
    """Fields that the action states and its context overrides with another value: rules read that of the context."""
    rules: int
    """How many rules were in force."""
    rules_digest: str
    """SHA-256 of the rules in force."""
    note: str | None
    """Says that no rule was in force; None if there was one."""
    check_id: str | None
    """Names the evaluation; None if it is not in the log: without rules, a caller that may only read is answered."""
    position: int | None
    time: datetime
    """When the action was evaluated, UTC; for a retry, the time of the first request."""
    duplicate: bool
    """Whether this is the repetition of a request with the same id: the first answer."""


async def check_action(
    ledger: LedgerService,
    caller: Principal,
    action: PlannedAction,
    *,
    phase: CheckPhase = "check",
    event_id: str | None = None,
    decision_id: str | None = None,
) -> CheckAnswer:
    """Evaluate an action against the rules in force, and record the evaluation.

    Without rules the action is allowed, and `note` says that nothing was evaluated. The same action with the same
    `event_id` is a retry, which returns the first answer.
    Errors: LineTooLong; InvalidQuery, for a value that a rule cannot compare, or if the rules take more than
    EVALUATION_S of processor time; Forbidden, for a caller without the scope `append`,
    unless no rule is in force; those of `LedgerService.record`. After an error the action is not allowed.
    """
    rules = await rules_in_force(ledger)
    if caller.scopes.isdisjoint({"append", "admin"}):
        if rules:
            raise _may_not_record(caller, len(rules))
        return _unrecorded(ledger.clock())
    if len(rules) > RULES_MAX:
        detail = f"{len(rules)} are in force; at most {RULES_MAX} can be evaluated. Nothing was evaluated."
        raise InvalidQuery("guardrails", detail, "Retire some: tallystick guardrail retire ID.")
    _check_size(action)
    context = {name: value for name, value in action.context.items() if value is not None}
    fields = fields_of(action, phase)
    verdict = await asyncio.to_thread(evaluate, rules, fields, budget_s=EVALUATION_S) if rules else evaluate((), fields)
    payload = GuardrailEvaluated(
        **{**structs.asdict(action), "context": context},
        phase=phase,
        rules_digest=digest_of_rules(rules),
        rules=len(rules),
        allowed=verdict.allowed,
        results=verdict.results,
        decision_id=decision_id,
    )
    event, duplicate = await _append(ledger, caller, payload, event_id)
    return _answer(event, rules, duplicate=duplicate)


def _check_size(action: PlannedAction) -> None:
    """Refuse an action that could not be stored, before any rule reads it. Errors: LineTooLong."""
    size = len(msgspec.json.encode(action))
    if size > LINE_BYTES_MAX:
        raise LineTooLong(
            f"The action is {size:,} bytes as JSON; at most {LINE_BYTES_MAX:,} are stored. Nothing was evaluated.",
            "Shorten its description and context.",
            field="action",
        )


def _may_not_record(caller: Principal, rules: int) -> Forbidden:
    """Return the error of a check by a caller that may only read."""
    return Forbidden(
        f"{caller.agent} asked whether an action is allowed. {pluralize(rules, 'guardrail')} would be evaluated, and"
        f" each evaluation is an event, but the token of {caller.agent} lacks the scope 'append'. Nothing was"
        f" evaluated, so the action is not allowed. Use a token that may append: tallystick token add {caller.agent}"
        " --scope append --scope read.",
        "Without one, GET /guardrails and cstp.listGuardrails show the rules.",
    )


def _unrecorded(now: datetime) -> CheckAnswer:
    """Return the answer without rules for a caller that may only read."""
    return CheckAnswer(
        allowed=True,
        violations=[],
        warnings=[],
        undecided=[],
        rules=0,
        rules_digest=digest_of_rules(()),
        note=NO_RULES,
        check_id=None,
        position=None,
        time=now,
        duplicate=False,
    )


async def rules_in_force(view: View) -> list[GuardrailSet]:
    """Return the rules in force now."""
    if not await view.ledger.has_guardrails():
        return []
    index, _ = await view.at(GuardrailIndex)
    return index.rules()


def fields_of(action: PlannedAction, phase: CheckPhase) -> dict[str, Any]:
    """Return the fields that rules compare. The action's context overrides the others, but not the phase."""
    fields = {
        "description": action.description,
        "category": action.category,
        "stakes": action.stakes or STAKES_DEFAULT,
        "confidence": action.confidence,
        **{name: value for name, value in action.context.items() if value is not None},
        "phase": phase,
    }
    return {name: value for name, value in fields.items() if value is not None}


async def _append(
    ledger: LedgerService, caller: Principal, payload: GuardrailEvaluated, event_id: str | None
) -> tuple[Event, bool]:
    """Append an evaluation; return its event, or the first one of a retry. Errors: those of `LedgerService.record`."""
    draft = _evaluation(data=payload, id=event_id, time=ledger.clock())
    try:
        (placed,) = await ledger.record([draft], caller)
    except IdentityConflict as error:
        if error.position > (await ledger.reader.head()).position:
            raise
        first = VOCABULARY.event(await ledger.event(error.position))
        if not isinstance(first.data, GuardrailEvaluated) or not _same_action(first.data, payload):
            raise
        return first, True
    return VOCABULARY.event(await ledger.event(placed.position)), placed.duplicate


def _same_action(first: GuardrailEvaluated, second: GuardrailEvaluated) -> bool:
    """Return whether two evaluations are of one action; the rules may differ."""
    return all(getattr(first, name) == getattr(second, name) for name in _asked)


def _answer(event: Event, rules: list[GuardrailSet], *, duplicate: bool) -> CheckAnswer:
    data = event.data
    assert isinstance(data, GuardrailEvaluated)
    names = {rule.guardrail_id: rule.description for rule in rules}
    fired = [_fired(result, names) for result in data.results if result.outcome == "fired"]
    return CheckAnswer(
        allowed=data.allowed,
        violations=[rule for rule in fired if rule.action == "block"],
        warnings=[rule for rule in fired if rule.action != "block"],
        undecided=[
            UndecidedRule(guardrail_id=result.guardrail_id, fields=result.fields)
            for result in data.results
            if result.outcome == "undecided"
        ],
        rules=data.rules,
        rules_digest=data.rules_digest,
        note=None if data.rules else NO_RULES,
        check_id=event.subject.removeprefix("check/"),
        overridden=_overridden(data),
        position=event.position,
        time=event.moment,
        duplicate=duplicate,
    )


def _overridden(data: GuardrailEvaluated) -> tuple[str, ...]:
    """Return the fields that an evaluated action states, and whose value in its context is another one."""
    context = data.context
    stated = {name: getattr(data, name) for name in ("description", "category", "stakes", "confidence")}
    return tuple(
        name for name, value in stated.items() if value is not None and name in context and context[name] != value
    )


def _fired(result: CheckedRule, names: dict[str, str | None]) -> FiredRule:
    return FiredRule(
        guardrail_id=result.guardrail_id,
        description=names.get(result.guardrail_id) or result.guardrail_id,
        action=result.action,
        message=result.message or "",
    )
