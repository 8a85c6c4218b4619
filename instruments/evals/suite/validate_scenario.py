"""Validate `scenario.yaml`: return a description that can be scored, or report all faults."""

import math
from typing import Any

import msgspec

from events.evaluation import WEIGHT_MAX
from events.limits import LABEL_CHARS_MAX
from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Description, Expectations, Scoring
from instruments.evals.suite.validate_expectations import check_expectations
from instruments.evals.suite.validators import (
    ReportFault,
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
}
"""Each weight, and the expectations, one of which makes its component applicable."""

SUM_TOLERANCE = 1e-6
"""How far the sum of the weights may be from 1, because of decimal rounding."""

DESCRIPTION_CHARS_MAX = 10_000
"""Characters of a description, which becomes part of an event."""

_TEXTS = {
    "name": LABEL_CHARS_MAX,
    "family": LABEL_CHARS_MAX,
    "failure_type": LABEL_CHARS_MAX,
    "description": DESCRIPTION_CHARS_MAX,
    "captured_at": 64,
    "captured_by": LABEL_CHARS_MAX,
    "source": LABEL_CHARS_MAX,
}
_DECISIVE = ("expected_outcomes", "scoring", "weight", "test_config")
_ALIKE = 0.85


def check_scenario(value: object, report: ReportFault) -> Description | None:
    """Build the description of a scenario; report every fault and return None if there is any."""
    if not isinstance(value, dict):
        report("", f"is {describe_value(value)}, but must be a mapping", "Begin with name: and expected_outcomes:.")
        return None
    faults = 0

    def report_counted(key: str, what: str, advice: str) -> None:
        nonlocal faults
        faults += 1
        report(key, what, advice)

    _check_misspelt_keys(value, report_counted)
    texts = {name: _check_label(name, value.get(name), maximum, report_counted) for name, maximum in _TEXTS.items()}
    if value.get("name") is None:
        report_counted("name", "is missing", "Say what the scenario is called.")
    expected = check_expectations("expected_outcomes", value.get("expected_outcomes"), report_counted)
    scoring = _check_scoring("scoring", value.get("scoring"), report_counted)
    if not faults:
        _check_applicable(expected, scoring, report_counted)
    weight = 1.0
    if value.get("weight") is not None:
        weight = (
            check_number("weight", value["weight"], report_counted, minimum=0, maximum=WEIGHT_MAX, above=True) or 1.0
        )
    config = _check_config(value.get("test_config"), report_counted)
    if faults:
        return None
    fields: dict[str, Any] = texts
    return Description(**fields, expected_outcomes=expected, weight=weight, scoring=scoring, test_config=config)


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
        what, _, place = str(error).partition(" - at `$")
        report(f"analysis{place.rstrip('`')}", f"has a wrong type: {what[0].lower()}{what[1:]}", "Correct it.")
    return value


def _check_misspelt_keys(value: dict[str, Any], report: ReportFault) -> None:
    """Report keys that look like a misspelt key that affects scores, if the correct key is absent."""
    for name in value.keys() - set(Description.__struct_fields__):
        meant = closest_name(name, _DECISIVE, cutoff=_ALIKE)
        if meant is not None and meant not in value:
            report(name, "is not a key that is read", f"Did you mean {meant}?")


def _check_label(at: str, value: object, chars_max: int, report: ReportFault) -> str | None:
    if value is None or (value == "" and at != "name"):
        return None
    found = check_text(at, value, report)
    if found is not None and len(found) > chars_max:
        report(at, f"has {len(found):,} characters; at most {chars_max:,} are allowed", "Shorten it.")
    return found


def _check_scoring(at: str, value: object, report: ReportFault) -> Scoring:
    if value is None:
        return Scoring()
    weights_given: dict[str, float] = {}
    found = check_mapping(at, value, Scoring, report)
    for name, inner in found.items():
        maximum, above = (WEIGHT_MAX, False) if name in WEIGHTS else (100, True)
        read = check_number(f"{at}.{name}", inner, report, minimum=0, maximum=maximum, above=above)
        if read is not None:
            weights_given[name] = read
    scoring = Scoring(**weights_given)
    if len(weights_given) == len(found):
        weights = {name: getattr(scoring, name) for name in WEIGHTS}
        total = math.fsum(weights.values())
        if abs(total - 1) > SUM_TOLERANCE:
            listed = " + ".join(f"{name} {weight:g}" for name, weight in weights.items())
            report(at, f"has weights that sum to {total:.10g}, not to 1: {listed}", "Make them sum to 1.")
    return scoring


def _check_applicable(expected: Expectations, scoring: Scoring, report: ReportFault) -> None:
    stated = {name for name in Expectations.__struct_fields__ if getattr(expected, name) is not None}
    if not any(getattr(scoring, weight) > 0 for weight, parts in WEIGHTS.items() if not stated.isdisjoint(parts)):
        report("scoring", "gives no weight to anything that is expected", "Weigh a component that has an expectation.")


def _check_config(value: object, report: ReportFault) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        report("test_config", f"is {describe_value(value)}, but must be a mapping", "Write names with values.")
        return {}
    pending: list[tuple[str, object]] = [("test_config", value)]
    while pending:
        at, inner = pending.pop()
        if isinstance(inner, dict):
            pending += [(f"{at}.{name}", each) for name, each in inner.items()]
        elif isinstance(inner, list):
            pending += [(f"{at}[{n}]", each) for n, each in enumerate(inner)]
        elif isinstance(inner, float) and not math.isfinite(inner):
            report(
                at,
                f"is {inner}, which JSON cannot represent",
                "The agent is given it as JSON: write a number or a text.",
            )
    return value
