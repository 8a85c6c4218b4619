"""Warnings about rules that are set: those that can never fire, and fields that nothing states."""

from collections.abc import Iterable
from itertools import chain

from api.service.guardrails.field_types import FIELD_TYPES, similar_field
from api.service.guardrails.rule_search import can_fire
from events.guardrail import GuardrailSet


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
