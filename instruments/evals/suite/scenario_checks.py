"""Check the files of a scenario: return values that can be scored, or report all faults."""

import math
from typing import Any

import msgspec

from events.decode_error_messages import locate_decode_error
from events.evaluation import WEIGHT_MAX
from events.limits import LABEL_CHARS_MAX
from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Description, Expectations, Scoring
from instruments.evals.suite.expectation_checks import check_expectations
from instruments.evals.suite.plugin_checks import KNOWN_KEYS, check_added_weights, check_weights_match
from instruments.evals.suite.rubric_checks import check_rubric
from instruments.evals.suite.tool_checks import check_tools_weight
from instruments.evals.suite.value_checks import (
    ReportFault,
    check_finite,
    check_mapping,
    check_number,
    check_text,
    closest_name,
    describe_value,
)

WEIGHTS = {
    "root_cause_weight": ("root_cause",),
    "fix_accuracy_weight": ("proposed_fix",),
    "hypothesis_quality_weight": ("hypotheses", "failure_mode"),
    "next_steps_weight": ("next_steps",),
    "tools_weight": ("tools",),
}
"""Each weight, and the expectations of its component, which is applicable if one of them is stated."""

SUM_TOLERANCE = 1e-6
"""The largest difference between the sum of the weights and 1, which decimal rounding may cause."""

DESCRIPTION_CHARS_MAX = 10_000
"""Characters of a description, which becomes part of an event."""

_CHARS_MAX = {
    "name": LABEL_CHARS_MAX,
    "family": LABEL_CHARS_MAX,
    "cluster": LABEL_CHARS_MAX,
    "failure_type": LABEL_CHARS_MAX,
    "description": DESCRIPTION_CHARS_MAX,
    "captured_at": 64,
    "captured_by": LABEL_CHARS_MAX,
    "source": LABEL_CHARS_MAX,
}
_SCORED_KEYS = ("expected_outcomes", "scoring", "weight", "test_config", "judge")
_MISSPELT_SIMILARITY_MIN = 0.85


def check_scenario(value: object, report: ReportFault) -> Description | None:
    """Build the description of a scenario; report every fault and return None if there is any."""
    if not isinstance(value, dict):
        report("", f"is {describe_value(value)}, but must be a mapping", "Begin with name: and expected_outcomes:.")
        return None
    faults = 0

    def report_counted(key: str, problem: str, advice: str) -> None:
        nonlocal faults
        faults += 1
        report(key, problem, advice)

    _check_misspelt_keys(value, report_counted)
    texts = {name: _check_label(name, value.get(name), maximum, report_counted) for name, maximum in _CHARS_MAX.items()}
    if value.get("name") is None:
        report_counted("name", "is missing", "Say what the scenario is called.")
    expected = check_expectations("expected_outcomes", value.get("expected_outcomes"), report_counted)
    scoring = _check_scoring("scoring", value.get("scoring"), report_counted)
    if not faults:
        check_tools_weight(expected.tools, value.get("scoring"), report_counted)
        _check_applicable(expected, scoring, report_counted)
    weight = 1.0
    if value.get("weight") is not None:
        weight = (
            check_number("weight", value["weight"], report_counted, minimum=0, maximum=WEIGHT_MAX, above=True) or 1.0
        )
    config = _check_config(value.get("test_config"), report_counted)
    rubric = check_rubric("judge", value.get("judge"), report_counted)
    if faults:
        return None
    fields: dict[str, Any] = texts | {"test_config": config, "judge": rubric}
    return Description(**fields, expected_outcomes=expected, weight=weight, scoring=scoring)


def check_analysis(value: object, report: ReportFault) -> dict[str, Any] | None:
    """Check the types of a captured analysis; return it, or None if it is absent or empty."""
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        report("analysis", f"is {describe_value(value)}, but must be an object", "Correct it, or leave it out.")
        return None
    try:
        msgspec.convert(value, Analysis)
    except msgspec.ValidationError as error:
        path, problem = locate_decode_error(error)
        report(f"analysis{path}", f"has a wrong type: {problem}", "Correct it.")
    return value


def _check_misspelt_keys(value: dict[str, Any], report: ReportFault) -> None:
    """Report unknown keys that resemble a key that affects scores, if that key is absent."""
    for name in value.keys() - set(Description.__struct_fields__):
        closest = closest_name(name, _SCORED_KEYS, cutoff=_MISSPELT_SIMILARITY_MIN)
        if closest is not None and closest not in value:
            report(name, "is not a key that is read", f"Did you mean {closest}?")


def _check_label(key: str, value: object, chars_max: int, report: ReportFault) -> str | None:
    if value is None or (value == "" and key != "name"):
        return None
    text = check_text(key, value, report)
    if text is not None and len(text) > chars_max:
        report(key, f"has {len(text):,} characters; at most {chars_max:,} are allowed", "Shorten it.")
    return text


def _check_scoring(key: str, value: object, report: ReportFault) -> Scoring:
    if value is None:
        return Scoring()
    weights_given: dict[str, Any] = {}
    fields = check_mapping(key, value, Scoring, report)
    added = check_added_weights(f"{key}.weights", fields.pop("weights", None), report)
    for name, field in fields.items():
        maximum, above = (WEIGHT_MAX, False) if name in WEIGHTS else (100, True)
        number = check_number(f"{key}.{name}", field, report, minimum=0, maximum=maximum, above=above)
        if number is not None:
            weights_given[name] = number
    scoring = Scoring(**weights_given, weights=added)
    if len(weights_given) == len(fields):
        weights = {name: getattr(scoring, name) for name in WEIGHTS} | added
        total = math.fsum(weights.values())
        if abs(total - 1) > SUM_TOLERANCE:
            listed = {name: weight for name, weight in weights.items() if weight or name != "tools_weight"}
            sum_text = " + ".join(f"{name} {weight:g}" for name, weight in listed.items())
            report(key, f"has weights that sum to {total:.10g}, not to 1: {sum_text}", "Make them sum to 1.")
    return scoring


def _check_applicable(expected: Expectations, scoring: Scoring, report: ReportFault) -> None:
    check_weights_match(expected.added, scoring.weights, report)
    if any(scoring.weights.values()):
        return
    stated = {name for name in KNOWN_KEYS if getattr(expected, name) is not None}
    if not any(getattr(scoring, weight) > 0 for weight, parts in WEIGHTS.items() if not stated.isdisjoint(parts)):
        report("scoring", "gives no weight to anything that is expected", "Weigh a component that has an expectation.")


def _check_config(value: object, report: ReportFault) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        report("test_config", f"is {describe_value(value)}, but must be a mapping", "Write names with values.")
        return {}
    check_finite("test_config", value, report)
    return value
