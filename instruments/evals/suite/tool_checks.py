"""Check the expectations of tools, so that a mistake in them never lowers a score."""

from collections.abc import Callable
from typing import Any

import msgspec

from instruments.evals.scenario import ToolExpectations, ToolPattern, ToolSpec
from instruments.evals.suite.value_checks import ReportFault, check_list, check_mapping, check_number, describe_value

CALLS_MAX = 1_000_000
"""The highest `max_calls`."""

CheckPattern = Callable[[str, object], str | None]
"""Counts and checks one pattern by its key; reports and returns None if it is not a text."""

_WEIGHTS_EXAMPLE = (
    "Weigh tools, and make all weights sum to 1: {root_cause_weight: 0.4, fix_accuracy_weight: 0.2, "
    "hypothesis_quality_weight: 0.1, next_steps_weight: 0.1, tools_weight: 0.2}."
)


def check_tools(key: str, value: object, report: ReportFault, check_pattern: CheckPattern) -> ToolExpectations:
    """Build the expectations of tools; report every fault, and leave out invalid parts."""
    fields = check_mapping(key, value, ToolExpectations, report)
    stated = {name for name in fields if fields[name] not in (None, [])}
    if fields and not stated:
        report(key, "states nothing", "Say which calls are expected, or leave the key out.")
    elif stated and not stated & {"required", "any_of", "order"}:
        advice = "Also state required, any_of or order: an agent that calls nothing breaks no rule."
        report(key, "expects no call", advice)
    if "order" in stated and isinstance(fields["order"], list) and len(fields["order"]) == 1:
        report(f"{key}.order", "has one call, which is in order always", "List two or more, or write it as required.")

    def specs(name: str) -> tuple[ToolSpec, ...]:
        items = enumerate(check_list(f"{key}.{name}", fields.get(name), report))
        checked = (_check_spec(f"{key}.{name}[{number}]", item, report, check_pattern) for number, item in items)
        return tuple(spec for spec in checked if spec is not None)

    return ToolExpectations(
        required=specs("required"),
        any_of=specs("any_of"),
        forbidden=specs("forbidden"),
        order=specs("order"),
        max_calls=_check_max_calls(f"{key}.max_calls", fields.get("max_calls"), report),
    )


def check_tools_weight(expected: ToolExpectations | None, scoring: object, report: ReportFault) -> None:
    """Report tools that are expected and not weighed, and a weight of tools without an expectation."""
    stated = scoring.get("tools_weight") if isinstance(scoring, dict) else None
    if expected is not None and stated is None:
        report("scoring.tools_weight", "is missing", _WEIGHTS_EXAMPLE)
    if expected is None and stated:
        advice = "Say under expected_outcomes.tools which calls are expected, or leave the weight out."
        report("scoring.tools_weight", "weighs tools that nothing is expected of", advice)


def _check_spec(key: str, value: object, report: ReportFault, check_pattern: CheckPattern) -> ToolSpec | None:
    if not isinstance(value, dict):
        return check_pattern(key, value)
    fields = check_mapping(key, value, ToolPattern, report)
    if fields.get("name") is None:
        report(f"{key}.name", "is missing", "Name the tool; * stands for any characters.")
        return None
    name = check_pattern(f"{key}.name", fields["name"])
    arguments = _check_arguments(f"{key}.arguments", fields.get("arguments"), report, check_pattern)
    return None if name is None else ToolPattern(name=name, arguments=arguments)


def _check_arguments(
    key: str,
    value: Any,  # noqa: ANN401 - YAML
    report: ReportFault,
    check_pattern: CheckPattern,
) -> dict[str, str] | str | None:
    if value is None or isinstance(value, str):
        return None if value is None else check_pattern(key, value)
    if not isinstance(value, dict) or not value:
        problem = "is empty" if value == {} else f"is {describe_value(value)}, but must be a mapping or a text"
        report(key, problem, "Write {KEY: PATTERN}, or one pattern for all arguments as JSON.")
        return None
    patterns = {}
    for name, inner in value.items():
        is_plain = isinstance(inner, bool | int | float)
        text = msgspec.json.encode(inner).decode() if is_plain else inner
        pattern = check_pattern(f"{key}.{name}", text)
        if pattern is not None:
            patterns[str(name)] = pattern
    return patterns


def _check_max_calls(key: str, value: object, report: ReportFault) -> int | None:
    if value is None:
        return None
    number = check_number(key, value, report, minimum=1, maximum=CALLS_MAX)
    if number is not None and not number.is_integer():
        report(key, f"is {describe_value(value)}, and must be a whole number", "Correct it.")
        return None
    return None if number is None else int(number)
