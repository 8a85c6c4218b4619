"""A labelled fault as a scenario: what both formats of Cloud-OpsBench share.

What is expected of an answer is what the label says, and nothing else:

- the root cause: the cause, in its words, and the object, as a whole word, in one text that does not deny the cause;
- the failure mode: the taxonomy or the cause itself, whichever an agent names;
- next steps: the tools that are common to all golden paths. Each path is an answer as good as the other, so that what
  only one of them uses is not expected; where they share none, nothing is.
- no fix, as no label has one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from instruments.evals.benchmarks.case import Case, CaseError, fingerprint
from instruments.evals.benchmarks.term_patterns import denials, named, phrase, regex, words

Path = Sequence[str]
"""Names of tools, in the order in which a golden path calls them."""


class CaseTruth(NamedTuple):
    """What a label says of a fault."""

    id: str
    query: str
    cause: str
    namespace: str | None
    object: str | None
    """KIND/NAME, or NAME."""
    taxonomy: str | None
    category: str | None
    paths: Sequence[Path]


def case_of(truth: CaseTruth, source: str, where: str, observations: Sequence[object] = ()) -> Case:
    """The scenario that a label makes; `observations` are what an agent finds as evidence. Errors: Wrong."""
    description: dict[str, Any] = {
        "name": truth.id,
        "family": _family(truth),
        "failure_type": truth.cause,
        "description": f"{truth.query} {_said(truth)}",
        "source": source,
        "expected_outcomes": _expected(truth),
    }
    known = {key: value for key, value in description.items() if value is not None}
    return Case(truth.id, where, known, _investigation(truth, observations), _readme(truth, source))


def _expected(truth: CaseTruth) -> dict[str, Any]:
    """Errors: Wrong."""
    cause = phrase("root_cause", truth.cause)
    wanted = [regex([cause])]
    if truth.object is not None:
        kind, slash, name = truth.object.partition("/")
        wanted.append(regex([named("fault_object", name if slash else kind, kind if slash else None)]))
    if truth.taxonomy is not None and not words(truth.taxonomy):
        raise CaseError(
            "fault_taxonomy", f"has no word: {truth.taxonomy[:80]!r}", "Name the class of faults, or leave it out."
        )
    modes = list(dict.fromkeys(mode for mode in (truth.taxonomy, truth.cause) if mode is not None))
    expected: dict[str, Any] = {
        "root_cause": {"all_of": wanted, "none_of": [regex(denials([cause]))]},
        "failure_mode": {"exact": modes},
    }
    if tools := common(truth.paths):
        expected["next_steps"] = {"command_types": list(tools)}
    return expected


def common(paths: Sequence[Path]) -> tuple[str, ...]:
    """The tools that every golden path uses, in the order of the first."""
    if not paths:
        return ()
    shared = set(paths[0]).intersection(*paths[1:])
    return tuple(dict.fromkeys(tool for tool in paths[0] if tool in shared))


def tool_of(key: str, call: str) -> str:
    """The tool of a call such as `GetResources::pods`. Errors: Wrong."""
    tool = call.partition("::")[0].strip()
    if not words(tool):
        raise CaseError(key, f"names no tool: {call[:80]!r}", "Write TOOL or TOOL::ARGUMENT.")
    return tool


def _investigation(truth: CaseTruth, observations: Sequence[object]) -> dict[str, Any]:
    """What an agent is given: what people saw, where, and what there was to see. Nothing says which case it is."""
    alert: dict[str, Any] = {
        "fingerprint": fingerprint(truth.id),
        "labels": {"alertname": truth.query.rstrip(". ") or truth.query},
        "annotations": {"summary": truth.query},
    }
    target: dict[str, Any] = {"target_type": "unknown"}
    if truth.namespace is not None:
        alert["labels"]["namespace"] = target["namespace"] = truth.namespace
    evidence = {"observations": list(observations)} if observations else {}
    return {"alert": alert, "target": target, "evidence": evidence, "analysis": {}}


def _family(truth: CaseTruth) -> str | None:
    """The category, or the taxonomy without the word Fault: `startup` for `Startup_Fault`."""
    if truth.category is not None or truth.taxonomy is None:
        return truth.category
    kept = [word.lower() for word in words(truth.taxonomy) if word.lower() != "fault"]
    return "_".join(kept) or truth.taxonomy


def _said(truth: CaseTruth) -> str:
    cause = truth.cause.replace("_", " ")
    return f"The cause: {cause}." if truth.object is None else f"The cause: {cause}, {truth.object}."


def _readme(truth: CaseTruth, source: str) -> str:
    tools = ", ".join(common(truth.paths))
    lines = [
        f"# {truth.id}",
        "",
        f"A labelled fault, imported from the format `{source}`.",
        "",
        f"- What people saw: {truth.query}",
        f"- {_said(truth)}",
        *([f"- Taxonomy: {truth.taxonomy}."] if truth.taxonomy is not None else []),
        *([f"- Tools that every golden path uses: {tools}."] if tools else []),
        "",
        "The expectations were made from the label. It states no fix, and none is expected.",
        "",
    ]
    return "\n".join(lines)
