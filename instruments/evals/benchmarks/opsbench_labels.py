"""Read labels of Cloud-OpsBench (JSON Lines, one fault each), and convert a labelled fault to a scenario.

The expectations contain what the label states, and nothing else:

- the root cause: the cause in its words, and the object as a whole word, in one text that does not deny the cause;
- the failure mode: the taxonomy or the cause itself;
- next steps: the tools common to all golden paths. All paths are equally good, so that a tool of only one path is
not expected; without common tools, no steps are expected;
- no fix, since no label has one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from events.limits import LABEL_CHARS_MAX
from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case, CaseError, convert_value
from instruments.evals.benchmarks.term_patterns import (
    denial_patterns,
    name_pattern,
    phrase_pattern,
    regex_matcher,
    split_words,
)
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "opsbench"

_in_line = re.compile(r", again in line 1$|(?<=: )line 1(?:: | has )")
"""The decoder's line number within the line, which is removed from messages."""

Word = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=LABEL_CHARS_MAX)]
Sentence = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=1_000)]
"""Texts that are not blank."""

Path = Sequence[str]
"""The tools of a golden path, in the order of its calls."""


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """The label of a fault. Other keys are ignored."""

    id: Word
    query: Sentence
    root_cause: Word
    namespace: Word | None = None
    fault_object: Sentence | None = None
    """KIND/NAME, or NAME."""
    fault_taxonomy: Word | None = None
    category: Word | None = None
    process: dict[str, tuple[Word, ...]] | None = None
    """The calls of each golden path, in their order."""


def decode(body: bytes, name: str) -> Iterator[Case | FixtureFault]:
    """Yield the case or the fault of each line that is not blank; faults name the line number."""
    for number, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield _case_of_line(line, where)
            except CaseError as error:
                yield error.at(where)


def _case_of_line(line: bytes, where: str) -> Case:
    """Errors: CaseError."""
    try:
        value = json_value(line)
    except UnreadableFile as error:
        raise CaseError(None, _in_line.sub("", str(error)), error.advice) from None
    return build_case(convert_value(value, Label), FORMAT, where)


def build_case(
    truth: Label,
    source: str,
    where: str,
    observations: Sequence[object] = (),
    traces: Sequence[Path] = (),
    *,
    golden_evidence: bool = False,
) -> Case:
    """Build the scenario of a label; `observations` become the evidence for the agent. Errors: CaseError.

    `traces` are the tools of golden paths, for a label that states none.
    """
    tools = common_tools(_golden_tools(truth) or traces)
    description: dict[str, Any] = {
        "name": truth.id,
        "family": _family(truth),
        "failure_type": truth.root_cause,
        "description": f"{truth.query} {_describe_cause(truth)}",
        "source": source,
        "expected_outcomes": _expected(truth, tools),
    }
    stated = {key: value for key, value in description.items() if value is not None}
    readme = _readme(truth, source, tools)
    return Case(truth.id, where, stated, _investigation(truth, observations), readme, golden_evidence)


def _expected(truth: Label, tools: Sequence[str]) -> dict[str, Any]:
    """Errors: CaseError."""
    cause = phrase_pattern("root_cause", truth.root_cause)
    required = [regex_matcher([cause])]
    if truth.fault_object is not None:
        kind, slash, name = truth.fault_object.partition("/")
        required.append(regex_matcher([name_pattern("fault_object", name if slash else kind, kind if slash else None)]))
    if truth.fault_taxonomy is not None and not split_words(truth.fault_taxonomy):
        raise CaseError(
            "fault_taxonomy",
            f"has no word: {truth.fault_taxonomy[:80]!r}",
            "Name the class of faults, or leave it out.",
        )
    modes = list(dict.fromkeys(mode for mode in (truth.fault_taxonomy, truth.root_cause) if mode is not None))
    expected: dict[str, Any] = {
        "root_cause": {"all_of": required, "none_of": [regex_matcher(denial_patterns([cause]))]},
        "failure_mode": {"exact": modes},
    }
    if tools:
        expected["next_steps"] = {"command_types": list(tools)}
    return expected


def common_tools(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the tools that all golden paths use, in the order of the first path."""
    if not paths:
        return ()
    shared = set(paths[0]).intersection(*paths[1:])
    return tuple(dict.fromkeys(tool for tool in paths[0] if tool in shared))


def _golden_tools(truth: Label) -> list[Path]:
    """Return the tools of each golden path. Errors: CaseError."""
    return [
        [parse_tool(f"process.{path}[{number}]", call) for number, call in enumerate(calls)]
        for path, calls in (truth.process or {}).items()
    ]


def parse_tool(key: str, call: str) -> str:
    """Return the tool of a call such as `GetResources::pods`. Errors: CaseError."""
    tool = call.partition("::")[0].strip()
    if not split_words(tool):
        raise CaseError(key, f"names no tool: {call[:80]!r}", "Write TOOL or TOOL::ARGUMENT.")
    return tool


def _investigation(truth: Label, observations: Sequence[object]) -> dict[str, Any]:
    """Build the agent's input: the symptom, the namespace, and the observations.

    Nothing is added that differs between cases. A label states no fingerprint, so that the alert has none.
    """
    alert: dict[str, Any] = {
        "labels": {"alertname": truth.query.rstrip(". ") or truth.query},
        "annotations": {"summary": truth.query},
    }
    target: dict[str, Any] = {"target_type": "unknown"}
    if truth.namespace is not None:
        alert["labels"]["namespace"] = target["namespace"] = truth.namespace
    evidence = {"observations": list(observations)} if observations else {}
    return {"alert": alert, "target": target, "evidence": evidence, "analysis": {}}


def _family(truth: Label) -> str | None:
    """Return the category, or the taxonomy without the word Fault: `startup` for `Startup_Fault`."""
    if truth.category is not None or truth.fault_taxonomy is None:
        return truth.category
    kept = [word.lower() for word in split_words(truth.fault_taxonomy) if word.lower() != "fault"]
    return "_".join(kept) or truth.fault_taxonomy


def _describe_cause(truth: Label) -> str:
    cause = truth.root_cause.replace("_", " ")
    return f"The cause: {cause}." if truth.fault_object is None else f"The cause: {cause}, {truth.fault_object}."


def _readme(truth: Label, source: str, tools: Sequence[str]) -> str:
    lines = [
        f"# {truth.id}",
        "",
        f"A labelled fault, imported from the format `{source}`.",
        "",
        f"- What people saw: {truth.query}",
        f"- {_describe_cause(truth)}",
        *([f"- Taxonomy: {truth.fault_taxonomy}."] if truth.fault_taxonomy is not None else []),
        *([f"- Tools that every golden path uses: {', '.join(tools)}."] if tools else []),
        "",
        "The expectations were made from the label. It states no fix, and none is expected.",
        "",
    ]
    return "\n".join(lines)
