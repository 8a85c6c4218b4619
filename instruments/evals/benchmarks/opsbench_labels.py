"""Read labels of Cloud-OpsBench: JSON Lines, one fault each, with symptom, taxonomy, object, cause, golden paths."""

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from events.limits import LABEL_CHARS_MAX
from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case, CaseError, convert_value
from instruments.evals.benchmarks.opsbench_case import CaseTruth, build_case, parse_tool
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "opsbench"

_in_line = re.compile(r", again in line 1$|(?<=: )line 1(?:: | has )")
"""The decoder's line number within the line, which is removed from messages."""

NOT_BLANK = r"\S"
"""A pattern of a text that is not blank."""

Word = Annotated[str, msgspec.Meta(pattern=NOT_BLANK, max_length=LABEL_CHARS_MAX)]
Sentence = Annotated[str, msgspec.Meta(pattern=NOT_BLANK, max_length=1_000)]
Process = dict[str, tuple[Word, ...]]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One line. Other keys are ignored."""

    id: Word
    query: Sentence
    root_cause: Word
    namespace: Word | None = None
    fault_object: Sentence | None = None
    fault_taxonomy: Word | None = None
    category: Word | None = None
    process: Process | None = None


def decode(body: bytes, name: str) -> Iterator[Case | FixtureFault]:
    """Yield the case or the fault of each line that is not blank; faults name the line number."""
    for number, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield _case(line, where)
            except CaseError as error:
                yield error.at(where)


def golden_tools(process: Process | None) -> tuple[tuple[str, ...], ...]:
    """Return the tools of each golden path. Errors: CaseError."""
    return tuple(
        tuple(parse_tool(f"process.{path}[{number}]", call) for number, call in enumerate(calls))
        for path, calls in (process or {}).items()
    )


def _case(line: bytes, where: str) -> Case:
    """Errors: CaseError."""
    try:
        value = json_value(line)
    except UnreadableFile as error:
        raise CaseError(None, _in_line.sub("", str(error)), error.advice) from None
    label = convert_value(value, Label)
    truth = CaseTruth(
        id=label.id,
        query=label.query,
        cause=label.root_cause,
        namespace=label.namespace,
        object=label.fault_object,
        taxonomy=label.fault_taxonomy,
        category=label.category,
        paths=golden_tools(label.process),
    )
    return build_case(truth, FORMAT, where)
