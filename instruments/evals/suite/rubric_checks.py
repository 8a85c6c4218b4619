"""Check the rubric of a scenario, so that a mistake in it never lowers a score."""

import re
from typing import Any

from events.evaluation import WEIGHT_MAX
from instruments.evals.scenario import UNEDITED, Criterion, Rubric
from instruments.evals.suite.value_checks import (
    ReportFault,
    check_list,
    check_mapping,
    check_number,
    check_text,
    describe_value,
)

CRITERIA_MAX = 20
"""Criteria of one scenario."""

TEXT_CHARS_MAX = 4_000
"""Characters of a question, and of a reference."""

_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_unedited = re.compile(rf"\s*{UNEDITED}\b")


def check_rubric(key: str, value: object, report: ReportFault) -> Rubric | None:
    """Build the rubric; report every fault. None if the value is absent or has a fault."""
    if value is None:
        return None
    faults: list[str] = []

    def report_counted(fault_key: str, problem: str, advice: str) -> None:
        faults.append(fault_key)
        report(fault_key, problem, advice)

    fields = check_mapping(key, value, Rubric, report_counted)
    key = f"{key}.criteria"
    items = check_list(key, fields.get("criteria"), report_counted)
    if not items and not faults:
        report_counted(key, "is empty", "List criteria, each with name and question, or leave judge out.")
    if len(items) > CRITERIA_MAX:
        problem = f"has {len(items)} criteria; at most {CRITERIA_MAX} are allowed"
        report_counted(key, problem, "Join some of them.")
    criteria = [_check_criterion(f"{key}[{at}]", item, report_counted) for at, item in enumerate(items)]
    if faults:
        return None
    whole = [criterion for criterion in criteria if criterion is not None]
    _check_names(key, [criterion.name for criterion in whole], report_counted)
    if not any(criterion.weight > 0 for criterion in whole):
        report_counted(key, "gives no weight to any criterion", "Give one of them a weight above 0.")
    return None if faults else Rubric(criteria=tuple(whole))


def _check_criterion(key: str, value: object, report: ReportFault) -> Criterion | None:
    fields = check_mapping(key, value, Criterion, report)
    if not isinstance(value, dict):
        return None
    name = _check_required(key, "name", fields, report)
    question = _check_required(key, "question", fields, report)
    if name is not None and _name.fullmatch(name) is None:
        advice = "Use 1..64 letters, digits and ._-, the first a letter or a digit."
        report(f"{key}.name", f"{describe_value(name)} cannot name a criterion", advice)
    reference = None
    if fields.get("reference") is not None:
        reference = _check_words(f"{key}.reference", fields["reference"], report)
    weight: float | None = 1.0
    if fields.get("weight") is not None:
        weight = check_number(f"{key}.weight", fields["weight"], report, minimum=0, maximum=WEIGHT_MAX)
    if name is None or question is None or weight is None:
        return None
    return Criterion(name=name, question=question, weight=weight, reference=reference)


def _check_required(key: str, name: str, fields: dict[str, Any], report: ReportFault) -> str | None:
    if fields.get(name) is None:
        report(f"{key}.{name}", "is missing", f"Give each criterion a {name}.")
        return None
    return _check_words(f"{key}.{name}", fields[name], report)


def _check_words(key: str, value: object, report: ReportFault) -> str | None:
    text = check_text(key, value, report)
    if text is None:
        return None
    if _unedited.match(text) is not None:
        report(key, f"is {describe_value(text)}, as a template leaves it", "Edit it: write what a judge must know.")
    elif len(text) > TEXT_CHARS_MAX:
        report(key, f"has {len(text):,} characters; at most {TEXT_CHARS_MAX:,} are allowed", "Shorten it.")
    return text


def _check_names(key: str, names: list[str], report: ReportFault) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            report(f"{key}[{at}].name", f"{name!r} names an earlier criterion", "Give each criterion another name.")
