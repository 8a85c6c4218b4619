"""Check the parts of `scenario.yaml` that plugins add: match types, components and their weights."""

from collections.abc import Sequence
from typing import Any

from events.evaluation import WEIGHT_MAX
from events.limits import LABEL_CHARS_MAX
from instruments.evals.plugins import COMPONENTS, MATCH_TYPES, BadPlugin, check_value, load_plugin, plugin_names
from instruments.evals.scenario import PASS_POINTS, Expectations
from instruments.evals.suite.value_checks import (
    ReportFault,
    check_finite,
    check_number,
    closest_name,
    describe_value,
)

ADDED = "added"
"""The field with the expectations of added components, which is not a key of `scenario.yaml`."""

KNOWN_KEYS = tuple(name for name in Expectations.__struct_fields__ if name != ADDED)
"""The keys of `expected_outcomes` that need no plugin."""


def check_match_type(key: str, value: object, built_in: Sequence[str], report: ReportFault) -> str | None:
    """Return the name of a match type, built in or added; report and return None if there is none of that name."""
    if isinstance(value, str) and value in built_in:
        return value
    problem = "is missing" if value is None else f"{describe_value(value)} is unknown"
    if isinstance(value, str) and value in plugin_names(MATCH_TYPES):
        try:
            load_plugin(MATCH_TYPES, value)
        except BadPlugin as bad:
            report(key, f"{describe_value(value)} {bad}", bad.advice)
            return None
        return value
    known = (*built_in, *plugin_names(MATCH_TYPES))
    closest = closest_name(value, known) if isinstance(value, str) else None
    advice = f"Write one of {', '.join(known)}."
    report(key, problem, f"Did you mean {closest}? {advice}" if closest else advice)
    return None


def check_added_pattern(key: str, match_type: str, pattern: str, report: ReportFault) -> None:
    """Report what an added match type finds wrong with a pattern."""
    problem = check_value(load_plugin(MATCH_TYPES, match_type), pattern)
    if problem is not None:
        report(key, f"{describe_value(pattern)} {problem}", f"Write a pattern as {match_type} expects it.")


def check_added_components(key: str, value: dict[str, Any], report: ReportFault) -> dict[str, Any]:
    """Return the expectations of added components; report those that their component refuses.

    Unknown keys are not reported here.
    """
    unknown = value.keys() - set(KNOWN_KEYS)
    names = unknown & set(plugin_names(COMPONENTS)) if unknown else set()
    added: dict[str, Any] = {}
    for name in sorted(names):
        inner_key, expected = f"{key}.{name}", value[name]
        if name in PASS_POINTS or len(name) > LABEL_CHARS_MAX:
            fault = "has the name of another component" if name in PASS_POINTS else "has too long a name"
            report(inner_key, fault, f"Give the component a name of its own, of at most {LABEL_CHARS_MAX} characters.")
            continue
        try:
            plugin = load_plugin(COMPONENTS, name)
        except BadPlugin as bad:
            report(inner_key, str(bad), bad.advice)
            continue
        problem = None if expected is not None else "states nothing"
        if problem is None and check_finite(inner_key, expected, report):
            problem = check_value(plugin, expected)
        if problem is not None:
            report(inner_key, problem, f"Write what {plugin} expects, or leave the key out.")
        added[name] = expected
    return added


def unknown_key_advice() -> str:
    """Return advice that lists all keys of `expected_outcomes`."""
    return f"Its keys may be {', '.join((*KNOWN_KEYS, *plugin_names(COMPONENTS)))}."


def check_added_weights(key: str, value: object, report: ReportFault) -> dict[str, float]:
    """Return the weights of added components; report invalid ones."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        report(key, f"is {describe_value(value)}, but must be a mapping", "Write {NAME: WEIGHT}.")
        return {}
    weights = {}
    for name, weight in value.items():
        number = check_number(f"{key}.{name}", weight, report, minimum=0, maximum=WEIGHT_MAX)
        if number is not None:
            weights[str(name)] = number
    return weights


def check_weights_match(added: dict[str, Any], weights: dict[str, float], report: ReportFault) -> None:
    """Report added components without a weight, and weights without a component."""
    for name in added.keys() - weights.keys():
        report(f"scoring.weights.{name}", "is missing", f"Weigh {name}, and make all weights sum to 1.")
    for name in weights.keys() - added.keys():
        advice = f"Say under expected_outcomes.{name} what it expects, or leave the weight out."
        report(f"scoring.weights.{name}", "weighs a component that nothing is expected of", advice)
