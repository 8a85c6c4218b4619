"""`scenario.yaml`, checked whole: a description that can be scored, or every fault there is."""

import math
from typing import Any

import msgspec

from events.evaluation import WEIGHT_MAX
from events.limits import LABEL_CHARS_MAX
from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Description, Expectations, Scoring
from instruments.evals.suite.validate_expectations import expectations
from instruments.evals.suite.validators import Tell, keys, near, number, shown, text

WEIGHTS = {
    "root_cause_weight": ("root_cause",),
    "fix_accuracy_weight": ("proposed_fix",),
    "hypothesis_quality_weight": ("hypotheses", "failure_mode"),
    "next_steps_weight": ("next_steps",),
}
"""Each weight, and the expectations of which one makes its component applicable."""

SUM_TOLERANCE = 1e-6
"""How far weights may be from 1 together: what rounding in decimal can make."""

DESCRIPTION_CHARS_MAX = 10_000
"""Characters of a description: it stands in an event, beside the rest."""

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


def describe(value: object, tell: Tell) -> Description | None:
    """What a scenario says of itself; None where something is wrong with it, which was told."""
    if not isinstance(value, dict):
        tell("", f"is {shown(value)}, and a mapping belongs there", "Begin with name: and expected_outcomes:.")
        return None
    faults = 0

    def count(key: str, what: str, advice: str) -> None:
        nonlocal faults
        faults += 1
        tell(key, what, advice)

    _misspelt(value, count)
    texts = {name: _label(name, value.get(name), most, count) for name, most in _TEXTS.items()}
    if value.get("name") is None:
        count("name", "is missing", "Say what the scenario is called.")
    expected = expectations("expected_outcomes", value.get("expected_outcomes"), count)
    scoring = _scoring("scoring", value.get("scoring"), count)
    if not faults:
        _applicable(expected, scoring, count)
    weight = 1.0
    if value.get("weight") is not None:
        weight = number("weight", value["weight"], count, least=0, most=WEIGHT_MAX, above=True) or 1.0
    config = _config(value.get("test_config"), count)
    if faults:
        return None
    said: dict[str, Any] = texts
    return Description(**said, expected_outcomes=expected, weight=weight, scoring=scoring, test_config=config)


def check_analysis(value: object, tell: Tell) -> dict[str, Any] | None:
    """The captured analysis, of which every scored part has its type; None where there is none, or nothing in it."""
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        tell("analysis", f"is {shown(value)}, and an object belongs there", "Correct it, or leave it out.")
        return None
    try:
        msgspec.convert(value, Analysis)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        tell(f"analysis{place.rstrip('`')}", f"has a wrong type: {what[0].lower()}{what[1:]}", "Correct it.")
    return value


def _misspelt(value: dict[str, Any], tell: Tell) -> None:
    """A key that is nearly one that decides about scores, where that one is not there."""
    for name in value.keys() - set(Description.__struct_fields__):
        meant = near(name, _DECISIVE, cutoff=_ALIKE)
        if meant is not None and meant not in value:
            tell(name, "is not a key that is read", f"Did you mean {meant}?")


def _label(at: str, value: object, chars_max: int, tell: Tell) -> str | None:
    if value is None or (value == "" and at != "name"):
        return None
    found = text(at, value, tell)
    if found is not None and len(found) > chars_max:
        tell(at, f"has {len(found):,} characters, and {chars_max:,} are the most", "Say it shorter.")
    return found


def _scoring(at: str, value: object, tell: Tell) -> Scoring:
    if value is None:
        return Scoring()
    given: dict[str, float] = {}
    found = keys(at, value, Scoring, tell)
    for name, inner in found.items():
        most, above = (WEIGHT_MAX, False) if name in WEIGHTS else (100, True)
        read = number(f"{at}.{name}", inner, tell, least=0, most=most, above=above)
        if read is not None:
            given[name] = read
    scoring = Scoring(**given)
    if len(given) == len(found):
        weights = {name: getattr(scoring, name) for name in WEIGHTS}
        total = math.fsum(weights.values())
        if abs(total - 1) > SUM_TOLERANCE:
            listed = " + ".join(f"{name} {weight:g}" for name, weight in weights.items())
            tell(at, f"has weights that sum to {total:.10g}, not to 1: {listed}", "Make them sum to 1.")
    return scoring


def _applicable(expected: Expectations, scoring: Scoring, tell: Tell) -> None:
    stated = {name for name in Expectations.__struct_fields__ if getattr(expected, name) is not None}
    if not any(getattr(scoring, weight) > 0 for weight, parts in WEIGHTS.items() if not stated.isdisjoint(parts)):
        tell("scoring", "gives no weight to anything that is expected", "Weigh a component that has an expectation.")


def _config(value: object, tell: Tell) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        tell("test_config", f"is {shown(value)}, and a mapping belongs there", "Write names with values.")
        return {}
    left: list[tuple[str, object]] = [("test_config", value)]
    while left:
        at, inner = left.pop()
        if isinstance(inner, dict):
            left += [(f"{at}.{name}", each) for name, each in inner.items()]
        elif isinstance(inner, list):
            left += [(f"{at}[{n}]", each) for n, each in enumerate(inner)]
        elif isinstance(inner, float) and not math.isfinite(inner):
            tell(at, f"is {inner}, which no JSON can say", "The agent is given it as JSON: write a number or a text.")
    return value
