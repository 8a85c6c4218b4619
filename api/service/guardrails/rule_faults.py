"""Warnings about rules that are set: those that can never fire, and fields that nothing states.

Whether a rule can fire is decided by trying values: of each field that it compares, every value at which one of its
comparisons changes. Comparisons of one field depend on no other field, so these are enough.
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
    fields = dict.fromkeys(each.field for each in chain(rule.conditions, *rule.any_of))
    found = [_unknown(field) for field in fields if field not in known]
    required = dict.fromkeys(each.field for each in rule.requirements if each.field not in fields)
    found += [
        f"No action can meet {field}: is {meant} meant?"
        for field in required
        if field not in known and (meant := similar_field(field)) is not None
    ]
    if not can_fire(rule):
        found.append("It never fires: no action meets all its conditions and misses a requirement.")
    return found


def can_fire(rule: GuardrailSet) -> bool:
    """Return whether some action fires a rule. A rule with very many alternatives is taken to be able to."""
    try:
        return find_action(rule) is not None
    except _TooManyAlternatives:
        return True


def find_action(rule: GuardrailSet) -> dict[str, object] | None:
    """Return the fields of an action that fires a rule; None if no action does. Errors: _TooManyAlternatives."""
    attempts = iter(range(ATTEMPTS_MAX))
    for unmet in [{each.field: each} for each in rule.requirements] or [{}]:
        chosen: dict[str, list[GuardrailCondition]] = {}
        for condition in rule.conditions:
            chosen.setdefault(condition.field, []).append(condition)
        fields = chosen.keys() | unmet.keys()
        if all(_values(field, chosen, unmet) for field in fields) and _choose(
            sorted(rule.any_of, key=len), 0, chosen, unmet, attempts
        ):
            found = {field: _values(field, chosen, unmet)[0] for field in chosen.keys() | unmet.keys()}
            return {field: value for field, value in found.items() if value is not None}
    return None


class _TooManyAlternatives(Exception):
    """A rule has too many alternatives to try."""


def _unknown(field: str) -> str:
    meant = similar_field(field)
    if meant is not None:
        return f"No action has stated {field} so far: is {meant} meant?"
    return (
        f"No action has stated {field} so far. Without it the rule is undecided, and does not fire: "
        f"agents state it in the action's context."
    )


def _choose(
    groups: Sequence[Conditions],
    at: int,
    chosen: dict[str, list[GuardrailCondition]],
    unmet: Mapping[str, GuardrailCondition],
    attempts: Iterator[int],
) -> bool:
    """Choose one condition of each group from `at` on that can hold beside those that are chosen, if there is one."""
    if at == len(groups):
        return True
    for condition in groups[at]:
        if next(attempts, None) is None:
            raise _TooManyAlternatives
        of_field = chosen.setdefault(condition.field, [])
        of_field.append(condition)
        if _values(condition.field, chosen, unmet) and _choose(groups, at + 1, chosen, unmet, attempts):
            return True
        of_field.pop()
    return False


def _values(field: str, chosen: Mapping[str, Conditions], unmet: Mapping[str, GuardrailCondition]) -> Sequence[object]:
    """Return a value of a field that meets its conditions and misses the requirement of it; none if there is none."""
    conditions, missed = chosen.get(field, ()), unmet.get(field)
    for value in _candidates(field, [*conditions, *([] if missed is None else [missed])]):
        if all(_holds(condition, value) for condition in conditions) and (
            missed is None or not requirement_is_met(missed, {field: value})
        ):
            return (value,)
    return ()


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
