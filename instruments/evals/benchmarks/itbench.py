"""Ground truth of ITBench: alerts, faults, the groups of objects they touch, and how one led to another.

What is expected of an answer:

- the root cause: every group that is marked as one, by its name or that of an alias, and what its fault's condition
  names, in one text that denies neither;
- a hypothesis that names this condition, or what the first link of the propagation says it led to;
- the fix: what one of the recommended solutions names, and another word of it beside.

It has no taxonomy that an agent would speak in, and no golden path, so that neither is expected. An agent is given the
alerts and the objects they are about; what the file says of an alert in prose is left out, because it was written by
who knew the cause.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from instruments.evals.benchmarks.case import Case, CaseError, converted, fingerprint
from instruments.evals.benchmarks.key_terms import cause_terms, meaning, terms
from instruments.evals.benchmarks.opsbench_labels import Sentence, Word
from instruments.evals.benchmarks.term_patterns import PATTERN_CHARS_MAX, denials, named, phrase, regex
from instruments.evals.errors import FixtureFault
from instruments.evals.regex_patterns import BadPattern, discerning
from instruments.evals.scenario import PATTERNS_MAX
from instruments.evals.suite.json_yaml import yaml_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "itbench"
FILES = ("groundtruth_v1.yaml", "groundtruth.yaml")
"""How a ground truth is called, the one that is preferred first."""

_open_end = re.compile(r"^\^|(?:\\b|\.[*+]|\$|-)+$")
_plain = re.compile(r"(?:[\w-]|\\?\.)+")


class ObjectGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Objects of one kind that are alike."""

    id: Word
    kind: Word | None = None
    name: Word | None = None
    namespace: Word | None = None
    filter: tuple[Sentence, ...] = ()
    root_cause: bool = False

    @property
    def plain(self) -> str | None:
        """Its name, or the text that a filter is but for where it begins and ends."""
        if self.name is not None:
            return self.name
        for one in self.filter:
            if _plain.fullmatch(stem := _open_end.sub("", one)):
                return stem.replace("\\.", ".")
        return None


class ItbenchAlert(msgspec.Struct, frozen=True, kw_only=True):
    """What fired, on which group."""

    id: Word
    group_id: Word | None = None


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault is in."""

    name: Word | None = None
    group_id: Word | None = None


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A fault."""

    condition: Sentence | None = None
    category: Word | None = None
    entity: Entity = Entity()


class CausalLink(msgspec.Struct, frozen=True, kw_only=True):
    """What a condition of one group did to another."""

    source: Word
    condition: Sentence | None = None
    effect: Sentence | None = None


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """What puts it right."""

    actions: tuple[Sentence, ...] = ()


class Recommended(msgspec.Struct, frozen=True, kw_only=True):
    """One solution of several."""

    solution: Solution


class GroundTruth(msgspec.Struct, frozen=True, kw_only=True):
    """The file. Further keys are left alone."""

    groups: tuple[ObjectGroup, ...]
    alerts: tuple[ItbenchAlert, ...]
    fault: tuple[Condition, ...]
    aliases: tuple[tuple[Word, ...], ...] = ()
    propagations: tuple[CausalLink, ...] = ()
    recommended_actions: tuple[Recommended, ...] = ()
    recommended: tuple[Recommended, ...] = msgspec.field(name="recommendedActions", default=())

    @property
    def solutions(self) -> tuple[Solution, ...]:
        return tuple(one.solution for one in (*self.recommended_actions, *self.recommended) if one.solution.actions)


def decode(body: bytes, name: str, where: str) -> Case | FixtureFault:
    """The case of a ground truth, whose folder's name is its id, or what is wrong with it."""
    try:
        return _case(converted(yaml_value(body), GroundTruth), name, where)
    except UnreadableFile as error:
        return FixtureFault(where, None, str(error), error.advice)
    except CaseError as wrong:
        return wrong.at(where)


def _case(truth: GroundTruth, name: str, where: str) -> Case:
    """Errors: Wrong."""
    roots = [group for group in truth.groups if group.root_cause]
    if not roots:
        raise CaseError("groups", "has none with root_cause: true", "Mark the group that is the root cause.")
    if not truth.alerts:
        raise CaseError("alerts", "is empty", "Give the alert that an agent is to begin with.")
    faults = _faults(truth, roots)
    description: dict[str, Any] = {
        "name": name,
        "family": truth.alerts[0].id,
        "failure_type": next((fault.category for fault in faults if fault.category is not None), None),
        "description": _said(roots, faults),
        "source": FORMAT,
        "expected_outcomes": _expected(truth, roots, faults),
    }
    known = {key: value for key, value in description.items() if value is not None}
    return Case(name, where, known, _investigation(truth, name), _readme(name, roots, faults, truth))


def _faults(truth: GroundTruth, roots: Sequence[ObjectGroup]) -> list[Condition]:
    """The faults of the root causes; where none is said to be theirs, all."""
    own = {word for root in roots for group in _same(truth, root) for word in (group.id, group.name) if word}
    theirs = [one for one in truth.fault if own & {one.entity.name, one.entity.group_id}]
    return theirs or list(truth.fault)


def _same(truth: GroundTruth, group: ObjectGroup) -> list[ObjectGroup]:
    """A group and its aliases."""
    ids = {group.id}
    while more := {one for alias in truth.aliases if ids & set(alias) for one in alias} - ids:
        ids |= more
    return [group, *(other for other in truth.groups if other.id in ids and other is not group)]


def _expected(truth: GroundTruth, roots: Sequence[ObjectGroup], faults: Sequence[Condition]) -> dict[str, Any]:
    """Errors: Wrong."""
    names = [plain for group in truth.groups if (plain := group.plain) is not None]
    objects = [_names(truth, root) for root in roots]
    conditions = [fault.condition for fault in faults if fault.condition is not None]
    cause = cause_terms("fault.condition", conditions, names)
    wanted = [*map(regex, objects), *([regex(cause)] if cause else [])]
    denied = denials([*cause, *(one for several in objects for one in several)])
    expected: dict[str, Any] = {"root_cause": {"all_of": wanted, "none_of": [regex(denied)]}}
    first = [link for link in truth.propagations if link.source in {root.id for root in roots}]
    said = [text for link in first for text in (link.condition, link.effect) if text is not None]
    if hypotheses := dict.fromkeys((*cause, *terms("propagations", said, names))):
        expected["hypotheses"] = {"any_of": [regex(hypotheses)]}
    if fix := _fix(truth, names):
        expected["proposed_fix"] = fix
    _check_count(expected)
    return expected


def _names(truth: GroundTruth, root: ObjectGroup) -> tuple[str, ...]:
    """Patterns for the names of a root cause and its aliases. Errors: Wrong."""
    found: dict[str, None] = {}
    for group in _same(truth, root):
        if group.plain is not None:
            found.setdefault(named("groups.name", group.plain, group.kind))
        else:
            found.update(dict.fromkeys(map(_filter, group.filter)))
    if not found:
        raise CaseError("groups", f"has neither a name nor a filter for {root.id[:80]!r}", "Name the root cause.")
    return tuple(found)


def _filter(pattern: str) -> str:
    """A filter as the beginning of a name. Errors: Wrong."""
    if len(pattern) > PATTERN_CHARS_MAX:
        raise CaseError("groups.filter", f"has more than {PATTERN_CHARS_MAX} characters", "Write it shorter.")
    try:
        discerning(pattern)
    except BadPattern as error:
        raise CaseError("groups.filter", error.what, error.advice) from None
    return rf"(?<!\w)(?<!\w-)(?:{pattern})"


def _fix(truth: GroundTruth, names: Collection[str]) -> dict[str, Any] | None:
    """What a solution names, and as what is optional any other word of one. Errors: Wrong."""
    several = (terms("recommended_actions", one.actions, names) for one in truth.solutions)
    required = dict.fromkeys(term for one in several for term in one)
    if not required:
        return None
    spoken = dict.fromkeys(word for one in truth.solutions for act in one.actions for word in meaning(act))
    others = [word for word in spoken if not any(re.search(one, word, re.IGNORECASE) for one in required)]
    optional = [phrase("recommended_actions", word) for word in others]
    return {"all_of": [regex(required)]} | ({"any_of": [regex(optional)]} if optional else {})


def _check_count(expected: dict[str, Any]) -> None:
    """Errors: Wrong."""
    matchers = (one for part in expected.values() for several in part.values() for one in several)
    count = sum(len(one["patterns"]) for one in matchers)
    if count > PATTERNS_MAX:
        raise CaseError(None, f"comes to {count} patterns, and {PATTERNS_MAX} are the most", "Say less of it.")


def _investigation(truth: GroundTruth, name: str) -> dict[str, Any]:
    """The alerts: the first as the one that is investigated, the others as evidence."""
    groups = {group.id: group for group in truth.groups}
    labels = [_labels(alert, groups) for alert in truth.alerts]
    first = labels[0]
    target: dict[str, Any] = {"target_type": "service" if "service" in first else "unknown"}
    target |= {key: first[key] for key in ("namespace", "service") if key in first}
    others = [{"labels": one} for one in labels[1:] if one != first]
    return {
        "alert": {"fingerprint": fingerprint(name), "labels": first, "annotations": {}},
        "target": target,
        "evidence": {"alerts": others} if others else {},
        "analysis": {},
    }


def _labels(alert: ItbenchAlert, groups: dict[str, ObjectGroup]) -> dict[str, str]:
    group = groups.get(alert.group_id or "")
    labels = {"alertname": alert.id}
    if group is not None:
        labels |= {"namespace": group.namespace} if group.namespace is not None else {}
        if group.kind is not None and group.kind.isalnum() and group.plain is not None:
            labels[group.kind.lower()] = group.plain
    return labels


def _said(roots: Sequence[ObjectGroup], faults: Sequence[Condition]) -> str:
    where = ", ".join(f"{root.kind or 'object'} {root.plain or root.id}" for root in roots)
    what = "; ".join(fault.condition for fault in faults if fault.condition is not None)
    return f"The cause: {where}{f': {what}' if what else ''}."


def _readme(name: str, roots: Sequence[ObjectGroup], faults: Sequence[Condition], truth: GroundTruth) -> str:
    solutions = [f"- A fix: {'; '.join(one.actions)}." for one in truth.solutions]
    lines = [
        f"# {name}",
        "",
        f"A ground truth, imported from the format `{FORMAT}`.",
        "",
        f"- {_said(roots, faults)}",
        *solutions,
        "",
        "The expectations were made of its sentences by rule: read them once, and add what else would be right.",
        "",
    ]
    return "\n".join(lines)
