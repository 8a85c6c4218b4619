"""Read ITBench ground truths: alerts, faults, the groups of affected objects, and how faults propagate.

The expectations of an answer:

- the root cause: the name or an alias of every group that is marked as a root cause, and a term of its fault's
condition, in one text that denies neither;
- a hypothesis with a term of this condition, or of the first link of the propagation;
- the fix: a term of one of the recommended solutions, and another word of it.

ITBench has no failure classes that an agent would know, and no golden path, so that neither is expected. The agent gets
the alerts and their objects; the descriptions of alerts are left out, because their authors knew the cause. The alerts
are ordered by name and object: their order in the ground truth may follow the propagation from the cause.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case, CaseError, convert_value
from instruments.evals.benchmarks.key_terms import cause_patterns, meaningful_words, term_patterns
from instruments.evals.benchmarks.opsbench_case import Sentence, Word
from instruments.evals.benchmarks.term_patterns import (
    PATTERN_CHARS_MAX,
    denial_patterns,
    name_pattern,
    phrase_pattern,
    regex_matcher,
)
from instruments.evals.regex_patterns import BadPattern, compile_selective
from instruments.evals.scenario import PATTERNS_MAX
from instruments.evals.suite.json_yaml_reader import yaml_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "itbench"
FILES = ("groundtruth_v1.yaml", "groundtruth.yaml")
"""File names of a ground truth, the preferred one first."""

_open_end = re.compile(r"^\^|(?:\\b|\.[*+]|\$|-)+$")
_plain = re.compile(r"(?:[\w-]|\\?\.)+")


class ObjectGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of similar objects of one kind."""

    id: Word
    kind: Word | None = None
    name: Word | None = None
    namespace: Word | None = None
    filter: tuple[Sentence, ...] = ()
    root_cause: bool = False

    @property
    def plain_name(self) -> str | None:
        """Its name, or a filter that is plain text between anchors; None if it has neither."""
        if self.name is not None:
            return self.name
        for pattern in self.filter:
            if _plain.fullmatch(stem := _open_end.sub("", pattern)):
                return stem.replace("\\.", ".")
        return None


class ItbenchAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert, and its group."""

    id: Word
    group_id: Word | None = None


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """The object of a fault."""

    name: Word | None = None
    group_id: Word | None = None


class ItbenchFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: the condition that it causes, its category and its object."""

    condition: Sentence | None = None
    category: Word | None = None
    entity: Entity = Entity()


class CausalLink(msgspec.Struct, frozen=True, kw_only=True):
    """A propagation: the effect of one group's condition on another group."""

    source: Word
    condition: Sentence | None = None
    effect: Sentence | None = None


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a fix."""

    actions: tuple[Sentence, ...] = ()


class RecommendedSolution(msgspec.Struct, frozen=True, kw_only=True):
    """A recommended solution."""

    solution: Solution


class GroundTruth(msgspec.Struct, frozen=True, kw_only=True):
    """The file's content. Other keys are ignored."""

    groups: tuple[ObjectGroup, ...]
    alerts: tuple[ItbenchAlert, ...]
    fault: tuple[ItbenchFault, ...]
    aliases: tuple[tuple[Word, ...], ...] = ()
    propagations: tuple[CausalLink, ...] = ()
    recommended_actions: tuple[RecommendedSolution, ...] = ()
    recommended: tuple[RecommendedSolution, ...] = msgspec.field(name="recommendedActions", default=())

    @property
    def solutions(self) -> tuple[Solution, ...]:
        recommended = (*self.recommended_actions, *self.recommended)
        return tuple(entry.solution for entry in recommended if entry.solution.actions)


def decode(body: bytes, name: str, where: str) -> Case | FixtureFault:
    """Return the case of a ground truth, or its fault; `name` is the id of the case."""
    try:
        return _case(convert_value(yaml_value(body), GroundTruth), name, where)
    except UnreadableFile as error:
        return FixtureFault(where, None, str(error), error.advice)
    except CaseError as error:
        return error.at(where)


def _case(truth: GroundTruth, name: str, where: str) -> Case:
    """Errors: CaseError."""
    roots = [group for group in truth.groups if group.root_cause]
    if not roots:
        raise CaseError("groups", "has none with root_cause: true", "Mark the group that is the root cause.")
    if not truth.alerts:
        raise CaseError("alerts", "is empty", "Give the alert that an agent is to begin with.")
    faults = _faults(truth, roots)
    investigation = _investigation(truth)
    description: dict[str, Any] = {
        "name": name,
        "family": investigation["alert"]["labels"]["alertname"],
        "failure_type": next((fault.category for fault in faults if fault.category is not None), None),
        "description": _describe_cause(roots, faults),
        "source": FORMAT,
        "expected_outcomes": _expected(truth, roots, faults),
    }
    stated = {key: value for key, value in description.items() if value is not None}
    return Case(name, where, stated, investigation, _readme(name, roots, faults, truth))


def _faults(truth: GroundTruth, roots: Sequence[ObjectGroup]) -> list[ItbenchFault]:
    """Return the faults of the root causes; all faults if none names a root cause."""
    groups = (group for root in roots for group in _with_aliases(truth, root))
    names = {name for group in groups for name in (group.id, group.name) if name}
    root_faults = [fault for fault in truth.fault if names & {fault.entity.name, fault.entity.group_id}]
    return root_faults or list(truth.fault)


def _with_aliases(truth: GroundTruth, group: ObjectGroup) -> list[ObjectGroup]:
    """Return a group and its aliases."""
    ids = {group.id}
    while new_ids := {alias for aliases in truth.aliases if ids & set(aliases) for alias in aliases} - ids:
        ids |= new_ids
    return [group, *(alias for alias in truth.groups if alias.id in ids and alias is not group)]


def _expected(truth: GroundTruth, roots: Sequence[ObjectGroup], faults: Sequence[ItbenchFault]) -> dict[str, Any]:
    """Errors: CaseError."""
    names = [plain_name for group in truth.groups if (plain_name := group.plain_name) is not None]
    objects = [_name_patterns(truth, root) for root in roots]
    conditions = [fault.condition for fault in faults if fault.condition is not None]
    cause = cause_patterns("fault.condition", conditions, names)
    required = [*map(regex_matcher, objects), *([regex_matcher(cause)] if cause else [])]
    denied = denial_patterns([*cause, *(pattern for patterns in objects for pattern in patterns)])
    expected: dict[str, Any] = {"root_cause": {"all_of": required, "none_of": [regex_matcher(denied)]}}
    root_ids = {root.id for root in roots}
    first_links = [link for link in truth.propagations if link.source in root_ids]
    texts = [text for link in first_links for text in (link.condition, link.effect) if text is not None]
    if hypotheses := dict.fromkeys((*cause, *term_patterns("propagations", texts, names))):
        expected["hypotheses"] = {"any_of": [regex_matcher(hypotheses)]}
    if fix := _expected_fix(truth, names):
        expected["proposed_fix"] = fix
    _check_count(expected)
    return expected


def _name_patterns(truth: GroundTruth, root: ObjectGroup) -> tuple[str, ...]:
    """Return patterns for the names of a root cause and its aliases. Errors: CaseError."""
    patterns: dict[str, None] = {}
    for group in _with_aliases(truth, root):
        if group.plain_name is not None:
            patterns.setdefault(name_pattern("groups.name", group.plain_name, group.kind))
        else:
            patterns.update(dict.fromkeys(map(_filter_pattern, group.filter)))
    if not patterns:
        raise CaseError("groups", f"has neither a name nor a filter for {root.id[:80]!r}", "Name the root cause.")
    return tuple(patterns)


def _filter_pattern(pattern: str) -> str:
    """Return a filter as a pattern for the beginning of a name. Errors: CaseError."""
    if len(pattern) > PATTERN_CHARS_MAX:
        raise CaseError("groups.filter", f"has more than {PATTERN_CHARS_MAX} characters", "Write it shorter.")
    try:
        compile_selective(pattern)
    except BadPattern as error:
        raise CaseError("groups.filter", error.problem, error.advice) from None
    return rf"(?<!\w)(?<!\w-)(?:{pattern})"


def _expected_fix(truth: GroundTruth, names: Collection[str]) -> dict[str, Any] | None:
    """Expect a term of a solution, and optionally any other word of one. Errors: CaseError."""
    solution_terms = (term_patterns("recommended_actions", solution.actions, names) for solution in truth.solutions)
    required = dict.fromkeys(term for terms in solution_terms for term in terms)
    if not required:
        return None
    action_words = dict.fromkeys(
        word for solution in truth.solutions for action in solution.actions for word in meaningful_words(action)
    )
    other_words = [word for word in action_words if not any(re.search(term, word, re.IGNORECASE) for term in required)]
    optional = [phrase_pattern("recommended_actions", word) for word in other_words]
    return {"all_of": [regex_matcher(required)]} | ({"any_of": [regex_matcher(optional)]} if optional else {})


def _check_count(expected: dict[str, Any]) -> None:
    """Errors: CaseError."""
    matchers = (matcher for part in expected.values() for group in part.values() for matcher in group)
    count = sum(len(matcher["patterns"]) for matcher in matchers)
    if count > PATTERNS_MAX:
        raise CaseError(None, f"comes to {count} patterns; at most {PATTERNS_MAX} are allowed", "Say less of it.")


def _investigation(truth: GroundTruth) -> dict[str, Any]:
    """Build the investigation: the first alert by its labels is investigated, the others are evidence."""
    groups = {group.id: group for group in truth.groups}
    distinct = {tuple(labels.items()): labels for labels in (_labels(alert, groups) for alert in truth.alerts)}
    first, *others = (distinct[items] for items in sorted(distinct))
    target: dict[str, Any] = {"target_type": "service" if "service" in first else "unknown"}
    target |= {key: first[key] for key in ("namespace", "service") if key in first}
    return {
        "alert": {"labels": first, "annotations": {}},
        "target": target,
        "evidence": {"alerts": [{"labels": labels} for labels in others]} if others else {},
        "analysis": {},
    }


def _labels(alert: ItbenchAlert, groups: dict[str, ObjectGroup]) -> dict[str, str]:
    group = groups.get(alert.group_id or "")
    labels = {"alertname": alert.id}
    if group is not None:
        labels |= {"namespace": group.namespace} if group.namespace is not None else {}
        if group.kind is not None and group.kind.isalnum() and group.plain_name is not None:
            labels[group.kind.lower()] = group.plain_name
    return labels


def _describe_cause(roots: Sequence[ObjectGroup], faults: Sequence[ItbenchFault]) -> str:
    where = ", ".join(f"{root.kind or 'object'} {root.plain_name or root.id}" for root in roots)
    conditions = "; ".join(fault.condition for fault in faults if fault.condition is not None)
    return f"The cause: {where}{f': {conditions}' if conditions else ''}."


def _readme(name: str, roots: Sequence[ObjectGroup], faults: Sequence[ItbenchFault], truth: GroundTruth) -> str:
    solutions = [f"- A fix: {'; '.join(solution.actions)}." for solution in truth.solutions]
    lines = [
        f"# {name}",
        "",
        f"A ground truth, imported from the format `{FORMAT}`.",
        "",
        f"- {_describe_cause(roots, faults)}",
        *solutions,
        "",
        "The expectations were made of its sentences by rule: read them once, and add what else would be right.",
        "",
    ]
    return "\n".join(lines)
