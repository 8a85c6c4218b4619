"""Warnings about rules that are set: those that can never fire, and fields that nothing states.

A search looks for an action that fires a rule.

Of each field that a rule compares, every value is tried at which one of its comparisons changes. Comparisons of one
field depend on no other field, so these are enough.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from api.service.guardrails.field_types import ALWAYS_STATED, CLOSED, COUNTS, FIELD_TYPES, RANGES, similar_field
from events.guardrail import GuardrailCondition, GuardrailSet
from projections.guardrails.rule_evaluation import condition_holds, requirement_is_met

ATTEMPTS_MAX = 20_000
"""Combinations that are tried for one rule."""

_SEPARATOR = "\ue000"
"""A character of the private use area: between two texts it makes no third one that a rule looks for."""

Conditions = Sequence[GuardrailCondition]


def warnings_of(rule: GuardrailSet, stated: Iterable[str]) -> list[str]:
    """Return what is noticeable about a rule; `stated` are the fields of context that actions stated so far."""
    known = {*FIELD_TYPES, *stated}
    compared = dict.fromkeys(each.field for each in chain(rule.conditions, *rule.any_of))
    misspelt = (each.field for each in rule.requirements if similar_field(each.field) is not None)
    found = [_unknown(field) for field in dict.fromkeys([*compared, *misspelt]) if field not in known]
    if not can_fire(rule):
        found.append("It never fires: no action meets all its conditions and misses a requirement.")
    return found


def _unknown(field: str) -> str:
    meant = similar_field(field)
    if meant is not None:
        return f"No action has stated {field} so far: is {meant} meant?"
    return (
        f"No action has stated {field} so far. Without it the rule is undecided, and does not fire: "
        f"agents state it in the action's context."
    )


def can_fire(rule: GuardrailSet) -> bool:
    """Return whether some action fires a rule. A rule with very many alternatives is taken to be able to."""
    try:
        return find_action(rule) is not None
    except _TooManyAlternatives:
        return True


def find_action(rule: GuardrailSet) -> dict[str, object] | None:
    """Return the fields of an action that fires a rule; None if no action does. Errors: _TooManyAlternatives."""
    attempts = iter(range(ATTEMPTS_MAX))
    for missed in rule.requirements or (None,):
        fields: dict[str, list[GuardrailCondition]] = {} if missed is None else {missed.field: []}
        for condition in rule.conditions:
            fields.setdefault(condition.field, []).append(condition)
        values = {field: _find_value(field, conditions, missed) for field, conditions in fields.items()}
        if _NO_VALUE in values.values():
            continue
        found = _choose(sorted(rule.any_of, key=len), fields, values, missed, attempts)
        if found is not None:
            return {field: value for field, value in found.items() if value is not None}
    return None


class _TooManyAlternatives(Exception):
    """A rule has too many alternatives to try."""


_NO_VALUE = object()


def _choose(
    groups: Sequence[Conditions],
    fields: Mapping[str, Conditions],
    values: Mapping[str, object],
    missed: GuardrailCondition | None,
    attempts: Iterator[int],
) -> Mapping[str, object] | None:
    """Choose one condition of each group that can hold beside those of `fields`. Return the values; None: none can."""
    if not groups:
        return values
    for condition in groups[0]:
        if next(attempts, None) is None:
            raise _TooManyAlternatives
        of_field = [*fields.get(condition.field, ()), condition]
        value = _find_value(condition.field, of_field, missed)
        if value is _NO_VALUE:
            continue
        chosen = {**fields, condition.field: of_field}
        found = _choose(groups[1:], chosen, {**values, condition.field: value}, missed, attempts)
        if found is not None:
            return found
    return None


def _find_value(field: str, conditions: Conditions, missed: GuardrailCondition | None) -> object:
    """Return a value of a field that meets its conditions and misses a requirement of it; _NO_VALUE: none does."""
    here = missed if missed is not None and missed.field == field else None
    for value in _candidates(field, [*conditions, *([] if here is None else [here])]):
        if all(_holds(condition, value) for condition in conditions) and (
            here is None or not requirement_is_met(here, {field: value})
        ):
            return value
    return _NO_VALUE


def _holds(condition: GuardrailCondition, value: object) -> bool:
    try:
        return condition_holds(condition, {condition.field: value}) is True
    except ValueError:
        return False


def _candidates(field: str, conditions: Conditions) -> Iterator[object]:
    """Yield values of a field at which some comparison changes: at least one of each kind of answer."""
    if field not in ALWAYS_STATED:
        yield None
    kind = FIELD_TYPES.get(field)
    stated = [
        value for each in conditions for value in (each.value if isinstance(each.value, tuple) else (each.value,))
    ]
    if field in CLOSED:
        yield from CLOSED[field]
        return
    if kind in (None, "boolean"):
        yield from (True, False)
    if kind in (None, "number"):
        numbers = [value for value in stated if isinstance(value, int | float) and not isinstance(value, bool)]
        low, high = RANGES.get(field, (-math.inf, math.inf))
        for number in {0, 1, low, high, *numbers} - {math.inf, -math.inf}:
            near: tuple[float, ...] = (number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf))
            if field in COUNTS:
                near = (math.floor(number), math.floor(number) - 1, math.ceil(number), math.ceil(number) + 1)
            yield from (each for each in near if low <= each <= high)
    texts = [value for value in stated if isinstance(value, str)]
    inside = [each.value for each in conditions if each.operator == "contains" and isinstance(each.value, str)]
    if kind in (None, "text"):
        yield from ("", _SEPARATOR, *texts, _SEPARATOR.join(inside))
    if kind in (None, "list"):
        yield from ([], inside, [_SEPARATOR])
