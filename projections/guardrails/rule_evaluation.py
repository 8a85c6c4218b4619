"""Evaluate an action against rules. Pure functions.

A condition on a field that is not stated neither holds nor fails. Its rule does not apply; it is undecided if another
of its conditions holds. A requirement on a field that is not stated is not met. A value that cannot be compared is an
error, so that no rule is passed by a text in place of a number.
"""

import math
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


def evaluate(rules: Iterable[GuardrailSet], fields: Fields) -> Verdict:
    """Evaluate all rules. Errors: InvalidQuery, for a value that a rule cannot compare."""
    found = [check_rule(rule, fields) for rule in sorted(rules, key=lambda rule: rule.guardrail_id)]
    results = tuple(result for result in found if result is not None)
    return Verdict(not any(result.outcome == "fired" and result.action == "block" for result in results), results)


def digest_of_rules(rules: Iterable[GuardrailSet]) -> str:
    """Return the SHA-256 of rules: a compact JSON array of their payloads, in the order of their ids."""
    ordered = sorted(rules, key=lambda rule: rule.guardrail_id)
    return sha256(msgspec.json.encode(ordered)).hexdigest()


def check_rule(rule: GuardrailSet, fields: Fields) -> CheckedRule | None:
    """Evaluate one rule; None if it does not apply. Errors: InvalidQuery."""
    if not _in_scope(rule, fields):
        return None
    groups = [*((condition,) for condition in rule.conditions), *rule.any_of]
    held = [_any_holds(rule, group, fields) for group in groups]
    if False in held:
        return None
    if None in held and True not in held:
        return None
    if None in held:
        undecided = [group for group, holds in zip(groups, held, strict=True) if holds is None]
        return _result(rule, "undecided", None, _not_stated([c for group in undecided for c in group], fields))
    unmet = [each for each in rule.requirements if not _is_met(each, fields)]
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


def _any_holds(rule: GuardrailSet, group: Sequence[GuardrailCondition], fields: Fields) -> bool | None:
    found = [_holds(rule, condition, fields) for condition in group]
    if True in found:
        return True
    return None if None in found else False


def _holds(rule: GuardrailSet, condition: GuardrailCondition, fields: Fields) -> bool | None:
    """Return whether a condition of a rule holds. Errors: InvalidQuery, naming the rule."""
    try:
        return condition_holds(condition, fields)
    except ValueError:
        raise _not_comparable(rule, condition, fields[condition.field]) from None


def condition_holds(condition: GuardrailCondition, fields: Fields) -> bool | None:
    """Return whether a condition holds; None if its field is not stated. Errors: ValueError, if it is not a number."""
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
    if operator in ("eq", "ne"):
        return bool(actual == value) == (operator == "eq")
    if operator in ("in", "not_in"):
        assert isinstance(value, tuple)
        return (actual in value) == (operator == "in")
    contained = value in actual if isinstance(actual, list | tuple) else str(value) in str(actual)
    return contained == (operator == "contains")


def is_true(actual: object) -> bool:
    """Return whether a field is set to something true. The texts `false`, `no`, `off`, `none`, `null`, `0` are not."""
    return actual.strip().lower() not in _FALSE_TEXTS if isinstance(actual, str) else bool(actual)


def _number(actual: object) -> float | None:
    if not isinstance(actual, int | float | str):
        return None
    try:
        number = float(actual)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_met(requirement: GuardrailCondition, fields: Fields) -> bool:
    actual = fields.get(requirement.field)
    if actual is None:
        return False
    if requirement.operator in ORDERING:
        number = _number(actual)
        assert isinstance(requirement.value, int | float)
        return number is not None and _compare[requirement.operator](number, requirement.value)
    if requirement.operator in ("truthy", "falsy"):
        return is_true(actual) == (requirement.operator == "truthy")
    return bool(actual == requirement.value) == (requirement.operator == "eq")


def _not_comparable(rule: GuardrailSet, condition: GuardrailCondition, actual: object) -> InvalidQuery:
    return InvalidQuery(
        condition.field,
        f"{str(actual)[:80]!r} is not a number, and the guardrail {rule.guardrail_id} compares it with"
        f" {condition.value}. Nothing was evaluated.",
        f"State {condition.field} as a number.",
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
