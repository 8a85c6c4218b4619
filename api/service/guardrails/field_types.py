"""The fields that rules compare: their types, and the values that expressions read for those that are not stated.

A field that is not named here is one of the action's context, and may have a value of any type.
"""

import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, get_args

import msgspec

from api.service.guardrails.rule_yaml import Written
from events.decision import Stakes
from events.guardrail import ORDERING, CheckPhase, GuardrailCondition
from projections.guardrails.rule_evaluation import condition_holds

QUALITY = "quality_score"

FieldType = Literal["text", "number", "boolean", "list"]

COUNTS = frozenset({"reason_count", "reason_types_count", "deliberation_inputs_count"})
ALWAYS_STATED = frozenset({"description", "stakes", "phase"})

FIELD_TYPES: Mapping[str, FieldType] = {
    **dict.fromkeys(("description", "category", "stakes", "pattern", "project", "feature", "phase"), "text"),
    **dict.fromkeys(("confidence", QUALITY, *sorted(COUNTS)), "number"),
    **dict.fromkeys(("has_deliberation", "has_reasoning", "has_tags", "has_pattern"), "boolean"),
    "tags": "list",
}
"""The fields that the ledger fills in for an action or a recorded decision."""

CLOSED: Mapping[str, tuple[str, ...]] = {"stakes": get_args(Stakes), "phase": get_args(CheckPhase)}
"""The values of the fields that have no others."""

RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("confidence", QUALITY), (0.0, 1.0)),
    **dict.fromkeys(COUNTS, (0.0, math.inf)),
}
"""The least and greatest value of a number."""

DEFAULTS: Mapping[str, object] = {
    "stakes": "medium",
    "confidence": 0.0,
    "category": "",
    "description": "",
    "pattern": "",
    "tags": (),
    "reason_count": 0,
    QUALITY: 0.0,
    "has_tags": False,
    "has_pattern": False,
}
"""What expressions and condition mappings read for a field that is not stated. CSTP defines them."""

_like_version = re.compile(r"[-+]?0*[1-9][0-9]*\.[0-9]*0")


class UnusableValue(Exception):
    """A value that the field cannot have, or the operator cannot compare: the problem, and the advice."""

    def __init__(self, problem: str, advice: str = "Correct the value.") -> None:
        super().__init__(problem, advice)
        self.problem, self.advice = problem, advice


def make_condition(field: str, operator: str, value: object) -> GuardrailCondition:
    """Return a condition whose value has the type of its field. Errors: UnusableValue."""
    items = value if isinstance(value, list | tuple) else (value,)
    typed = tuple(_typed(field, operator, item) for item in items)
    needed: object = typed if isinstance(value, list | tuple) else typed[0]
    try:
        condition = {"field": field, "operator": operator, "value": needed}
        made = msgspec.convert(condition, GuardrailCondition)
    except ValueError as error:
        raise UnusableValue(f"cannot be compared: {error}") from None
    _check_type(made, typed)
    return made


def with_default(condition: GuardrailCondition) -> list[GuardrailCondition]:
    """Return a condition as a group: with the alternative that the field is absent, if its default value meets it."""
    field = condition.field
    if condition.operator in ("truthy", "falsy", "present", "missing") or field not in DEFAULTS:
        return [condition]
    if condition_holds(condition, {field: DEFAULTS[field]}):
        return [condition, GuardrailCondition(field=field, operator="missing")]
    return [condition]


def similar_field(field: str) -> str | None:
    """Return the field that was perhaps meant by a name that is not one of the ledger's."""
    return next(iter(get_close_matches(field, FIELD_TYPES, 1, 0.8)), None) if field not in FIELD_TYPES else None


def _typed(field: str, operator: str, value: object) -> object:
    """Return what a scalar is for a field. Errors: UnusableValue, for one that could be read in several ways."""
    if not isinstance(value, Written):
        return value
    kind = FIELD_TYPES.get(field)
    if kind == "text":
        return str(value)
    if value.boolean is not None:
        if kind == "boolean":
            return value.boolean
        raise UnusableValue(
            f"is {value}, which is a boolean in YAML 1.1 and a text in YAML 1.2",
            f'Write {"true" if value.boolean else "false"}, or put it in quotes: "{value}".',
        )
    number = value.number
    if number is not None and (kind == "number" or (operator in ORDERING and not _like_version.fullmatch(value))):
        return number
    plain = f"write {number:g}, or " if number is not None else ""
    raise UnusableValue(
        f"is {value}, which could be a number or a text",
        f'To compare a text, put it in quotes: "{value}". To compare a number, {plain}write it in decimal digits.'
        if operator not in ORDERING
        else f"Numbers are compared, and versions are not: {plain}compare the text with == in quotes.",
    )


def _check_type(condition: GuardrailCondition, values: Sequence[Any]) -> None:
    """Check that some action's field can have the values. Errors: UnusableValue."""
    field, operator, kind = condition.field, condition.operator, FIELD_TYPES.get(condition.field)
    if kind is None or condition.value is None:
        return
    if kind == "list":
        if operator not in ("contains", "not_contains"):
            raise UnusableValue(f"compares {field}, which is a list, by {operator}", f"Use {field} with contains.")
        return
    for value in values:
        if not _has_type(value, kind) or (kind != "number" and operator in ORDERING):
            quotes = "Put it in quotes." if kind == "text" and operator not in ORDERING else "Correct the value."
            raise UnusableValue(f"compares {field}, which is a {kind}, by {operator} with {value!r}", quotes)
        if field in CLOSED and operator in ("eq", "ne", "in", "not_in") and value not in CLOSED[field]:
            raise UnusableValue(
                f"compares {field} with {value!r}, and {field} is one of {', '.join(CLOSED[field])}",
                "Use one of these.",
            )


def _has_type(value: object, kind: FieldType) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, str if kind == "text" else int | float) and kind != "boolean"
