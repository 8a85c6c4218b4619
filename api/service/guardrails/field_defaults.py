"""The values that expressions and condition mappings read for fields that an action does not state.

CSTP defines them. A condition that such a value meets holds for an absent field, too.
"""

from collections.abc import Mapping

from events.guardrail import GuardrailCondition
from projections.guardrails.rule_evaluation import condition_holds

QUALITY = "quality_score"

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


def with_default(condition: GuardrailCondition) -> list[GuardrailCondition]:
    """Return a condition as a group: with the alternative that the field is absent, if its default value meets it."""
    field = condition.field
    if condition.operator in ("truthy", "falsy", "present", "missing") or field not in DEFAULTS:
        return [condition]
    if condition_holds(condition, {field: DEFAULTS[field]}):
        return [condition, GuardrailCondition(field=field, operator="missing")]
    return [condition]
