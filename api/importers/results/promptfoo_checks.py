"""The assertions of a promptfoo result as components of a score.

promptfoo lists the assertions of a set after the set itself. Those of a set have no share of the total: the set has.
"""

from collections import Counter
from collections.abc import Sequence
from math import isclose
from typing import Any

from msgspec import structs

from api.importers.results.imported_run import ImportedFile, checked_component, points_of
from api.importers.results.lenient_json import number
from api.importers.results.promptfoo_file import Grading, ResultAssertion
from events.evaluation import POINTS_MAX, WEIGHT_MAX, Component
from events.limits import ITEMS_MAX
from instruments.stored_text import text_of

SET = "assert-set"
"""The type of a set of assertions."""

STACK = "\n    at "
"""The beginning of the stack in a text of an error."""

LEEWAY = 1e-6
"""Difference up to which the weighted mean of the assertions is the score of the result."""


def checked_components(file: ImportedFile, grading: Grading) -> tuple[Component, ...]:
    """Return a component for each assertion, and for each named score beside them; count in `file` what is left out."""
    checks = [each for each in grading.component_results or () if each is not None]
    parents = _parents(checks)
    shares = _shares(checks, parents, grading.score)
    names: Counter[str] = Counter()
    components = []
    for index, check in enumerate(checks):
        parent = parents.get(index)
        name = _name(check) if parent is None else f"{_name(checks[parent])}: {_name(check)}"
        names[name] += 1
        made = _component(file, name if names[name] == 1 else f"{name} {names[name]}", check)
        components.append(structs.replace(made, weight=shares.get(index) if made.applicable else None))
    for name, value in (grading.named_scores or {}).items():
        if name and name not in names:
            score = number(value)
            points = None if score is None else points_of(score)
            file.leave_out("named scores that are not in 0..1", int(points is None), name)
            if points is not None:
                components.append(checked_component(name, points=points))
    file.leave_out(f"assertions of one answer beyond {ITEMS_MAX}", max(0, len(components) - ITEMS_MAX))
    return tuple(components[:ITEMS_MAX])


def message_of(file: ImportedFile, error: str) -> str:
    """Return the message of an error of JavaScript, without its stack, which is counted in `file`."""
    message, stack, _ = error.partition(STACK)
    file.leave_out("stacks of errors", int(bool(stack)))
    return message.strip()


def _parents(checks: Sequence[Grading]) -> dict[int, int]:
    """Return the index of its set for each assertion of a set."""
    parents: dict[int, int] = {}
    for index, check in enumerate(checks):
        children = [each for each in check.component_results or () if each is not None]
        if children and index not in parents and list(checks[index + 1 : index + 1 + len(children)]) == children:
            parents.update((index + 1 + place, index) for place in range(len(children)))
    return parents


def _shares(checks: Sequence[Grading], parents: dict[int, int], score: float | None) -> dict[int, float]:
    """Return the share of each assertion in the total; none where the score is not their mean."""
    weights = {index: _weight(check) for index, check in enumerate(checks) if index not in parents}
    total = sum(weights.values())
    if total <= 0 or score is None:
        return {}
    mean = sum((checks[index].score or 0.0) * weight for index, weight in weights.items()) / total
    if not isclose(mean, score, rel_tol=LEEWAY, abs_tol=LEEWAY):
        return {}
    return {index: weight / total for index, weight in weights.items()}


def _weight(check: Grading) -> float:
    stated = _set_of(check).get("weight") if check.assertion is None else check.assertion.weight
    weight = number(stated)
    return 1.0 if weight is None or not 0 <= weight <= WEIGHT_MAX else weight


def _set_of(check: Grading) -> dict[str, Any]:
    """Return what is stated of a set of assertions; empty for an assertion."""
    stated = (check.metadata or {}).get("assertionSet")
    return stated if isinstance(stated, dict) else {}


def _name(check: Grading) -> str:
    if check.assertion is not None:
        return check.assertion.metric or check.assertion.type or "assertion"
    metric = _set_of(check).get("metric")
    return metric if isinstance(metric, str) and metric else SET if _set_of(check) else "assertion"


def _component(file: ImportedFile, name: str, check: Grading) -> Component:
    points = None if check.score is None else points_of(check.score)
    file.leave_out("scores of assertions that are not in 0..1", int(points is None and check.score is not None), name)
    assertion = check.assertion or ResultAssertion(type=SET if _set_of(check) else "assertion")
    file.leave_out("thresholds of assertions", int(assertion.threshold is not None), name)
    mark = number(_set_of(check).get("threshold"))
    return checked_component(
        name,
        points=points,
        passed=check.pass_,
        mark=None if mark is None or points_of(mark) is None else mark * POINTS_MAX,
        expected=file.shorten(text_of(assertion.value), "expected values") or assertion.type or None,
        match_type=assertion.type or None,
        note=file.shorten((check.reason or "").strip(), "reasons of assertions"),
    )
