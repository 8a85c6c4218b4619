"""Evaluate an action against rules. Pure functions.

A condition on a field that is not stated neither holds nor fails: its rule does not apply, and is undecided unless
another of its conditions fails. A requirement on a field that is not stated is not met. A value of another type than
the rule's cannot be compared and is an error, so that no rule is passed by a number in place of a text.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from events.guardrail import ORDERING, CheckedRule, GuardrailCondition, GuardrailSet
from ledger.errors import InvalidQuery

Fields = Mapping[str, Any]

_FALSE_TEXTS = frozenset({"", "0", "false", "no", "none", "null", "off"})
_symbols = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "eq": "==", "ne": "!="}
_compare: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda actual, value: actual < value,
    "lte": lambda actual, value: actual <= value,
    "gt": lambda actual, value: actual > value,
    "gte": lambda actual, value: actual >= value,
}


class Verdict(NamedTuple):
    """Whether an action is allowed, and the rules that applied or perhaps applied, in the order of their ids."""

    allowed: bool
    results: tuple[CheckedRule, ...]


class _Budget:
    """The processor time that an evaluation may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end_s = time.thread_time() + seconds

    def check(self) -> None:
        """Errors: InvalidQuery, once the time is spent."""
        if time.thread_time() > self._end_s:
            raise InvalidQuery(
                "guardrails",
                f"the rules take more than {self._seconds:g} s of processor time for this action."
                " Nothing was evaluated, so the action is not allowed.",
                "Shorten the action's description, or retire rules with many conditions.",
            )


def evaluate(rules: Iterable[GuardrailSet], fields: Fields, *, budget_s: float = math.inf) -> Verdict:
    """Evaluate all rules.

    Errors: InvalidQuery, for a value that a rule cannot compare, or beyond `budget_s` of the thread's processor time.
    """
    budget = _Budget(budget_s)
    found = [check_rule(rule, fields, budget) for rule in sorted(rules, key=lambda rule: rule.guardrail_id)]
    results = tuple(result for result in found if result is not None)
    return Verdict(not any(result.outcome == "fired" and result.action == "block" for result in results), results)


def digest_of_rules(rules: Iterable[GuardrailSet]) -> str:
    """Return the SHA-256 of rules: a compact JSON array of their payloads, in the order of their ids."""
    ordered = sorted(rules, key=lambda rule: rule.guardrail_id)
    return sha256(msgspec.json.encode(ordered)).hexdigest()


def check_rule(rule: GuardrailSet, fields: Fields, budget: _Budget) -> CheckedRule | None:
    """Evaluate one rule; None if it does not apply. Errors: InvalidQuery."""
    if not _in_scope(rule, fields):
        return None
    groups = [*((condition,) for condition in rule.conditions), *rule.any_of]
    held = [_any_holds(rule, group, fields, budget) for group in groups]
    if False in held:
        return None
    if None in held:
        undecided = [group for group, holds in zip(groups, held, strict=True) if holds is None]
        return _result(rule, "undecided", None, _not_stated([c for group in undecided for c in group], fields))
    unmet = [each for each in rule.requirements if not requirement_is_met(each, fields)]
    if rule.requirements and not unmet:
        return _result(rule, "met", None, ())
    return _result(rule, "fired", _message(rule, unmet, fields), tuple(dict.fromkeys(each.field for each in unmet)))


def describe_condition(condition: GuardrailCondition) -> str:
    """Return a condition as text: `confidence < 0.5`."""
    if condition.value is None:
        return f"{condition.field} is {condition.operator}"
    value = list(condition.value) if isinstance(condition.value, tuple) else condition.value
    symbol = _symbols.get(condition.operator, condition.operator.replace("_", " "))
    return f"{condition.field} {symbol} {value}"


def _result(rule: GuardrailSet, outcome: Any, message: str | None, fields: tuple[str, ...]) -> CheckedRule:  # noqa: ANN401
    return CheckedRule(
        guardrail_id=rule.guardrail_id, action=rule.action, outcome=outcome, message=message, fields=fields
    )


def _in_scope(rule: GuardrailSet, fields: Fields) -> bool:
    project = fields.get("project") or fields.get("scope")
    return not rule.scope or not project or project in rule.scope


def _any_holds(rule: GuardrailSet, group: Sequence[GuardrailCondition], fields: Fields, budget: _Budget) -> bool | None:
    """Return whether a condition of a group holds. Errors: InvalidQuery, if none does and one cannot be compared."""
    found: bool | None = False
    other_type: GuardrailCondition | None = None
    for condition in group:
        budget.check()
        try:
            holds = condition_holds(condition, fields)
        except ValueError:
            other_type = other_type or condition
            continue
        if holds:
            return True
        found = None if holds is None else found
    if other_type is not None:
        raise _not_comparable(rule, other_type, fields[other_type.field])
    return found


def condition_holds(condition: GuardrailCondition, fields: Fields) -> bool | None:
    """Return whether a condition holds; None if its field is not stated.

    Errors: ValueError, if the field is of another type than the value.
    """
    actual, value, operator = fields.get(condition.field), condition.value, condition.operator
    if operator in ("truthy", "falsy"):
        return is_true(actual) == (operator == "truthy")
    if operator in ("present", "missing"):
        return (actual is not None) == (operator == "present")
    if actual is None:
        return None
    if operator in ORDERING:
        number = _number(actual)
        if number is None:
            raise ValueError(f"{condition.field} is not a number")
        assert isinstance(value, int | float)
        return _compare[operator](number, value)
    if operator in ("eq", "ne", "in", "not_in"):
        values = value if isinstance(value, tuple) else (value,)
        if type_name(actual) not in map(type_name, values):
            raise ValueError(f"{condition.field} is of another type")
        return (actual in values) == (operator in ("eq", "in"))
    if not isinstance(actual, str | list | tuple):
        raise ValueError(f"{condition.field} is neither a text nor a list")
    return (value in actual) == (operator == "contains")


def is_true(actual: object) -> bool:
    """Return whether a field is set to something true. The texts `false`, `no`, `off`, `none`, `null`, `0` are not."""
    return actual.strip().lower() not in _FALSE_TEXTS if isinstance(actual, str) else bool(actual)


def type_name(value: object) -> str:
    """Return the type of a value as JSON has it: text, number, boolean, list or object."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list | tuple) else "object"


def _number(actual: object) -> float | None:
    """Return a number, or that of a text which is written as numbers are: 0.5, but not the version 1.10."""
    if isinstance(actual, bool) or not isinstance(actual, int | float | str):
        return None
    try:
        number = float(actual)
    except (ValueError, OverflowError):
        return None
    if isinstance(actual, str) and actual not in (repr(number), f"{number:.0f}"):
        return None
    return number if math.isfinite(number) else None


def requirement_is_met(requirement: GuardrailCondition, fields: Fields) -> bool:
    """Return whether an action has what a rule requires. A field of another type does not meet it."""
    actual = fields.get(requirement.field)
    if actual is None:
        return False
    if requirement.operator in ORDERING:
        number = _number(actual)
        assert isinstance(requirement.value, int | float)
        return number is not None and _compare[requirement.operator](number, requirement.value)
    if requirement.operator in ("truthy", "falsy"):
        return is_true(actual) == (requirement.operator == "truthy")
    is_equal = type_name(actual) == type_name(requirement.value) and bool(actual == requirement.value)
    return is_equal == (requirement.operator == "eq")


def _not_comparable(rule: GuardrailSet, condition: GuardrailCondition, actual: object) -> InvalidQuery:
    """Return the error for a field that a rule cannot compare, with the types of both."""
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    needed = " or ".join(dict.fromkeys(map(type_name, values)))
    if condition.operator in ("contains", "not_contains"):
        needed = "text or a list"
    given = f"the {type_name(actual)} {str(actual)[:80]!r}"
    return InvalidQuery(
        condition.field,
        f"{given} is not a {needed}, and the guardrail {rule.guardrail_id} compares it:"
        f" {describe_condition(condition)[:200]}. Nothing was evaluated, so the action is not allowed.",
        f"State {condition.field} as a {needed}."
        + (f" On the command line: --context '{condition.field}=\"VALUE\"'." if needed == "text" else ""),
    )


def _not_stated(conditions: Sequence[GuardrailCondition], fields: Fields) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.field for each in conditions if fields.get(each.field) is None))


def _message(rule: GuardrailSet, unmet: Sequence[GuardrailCondition], fields: Fields) -> str:
    if rule.message is None:
        return _default_message(rule, unmet, fields)
    message = rule.message
    for name, value in fields.items():
        if not isinstance(value, dict | list | tuple):
            message = message.replace(f"{{{name}}}", str(value))
    return message


def _default_message(rule: GuardrailSet, unmet: Sequence[GuardrailCondition], fields: Fields) -> str:
    if not unmet:
        return f"Guardrail {rule.guardrail_id} triggered"
    reasons = (
        f"Missing: {each.field}"
        if fields.get(each.field) is None
        else f"Needed: {describe_condition(each)}, got {str(fields[each.field])[:80]}"
        for each in unmet
    )
    return f"{rule.guardrail_id}: {'; '.join(reasons)}"
