"""Labels of Cloud-OpsBench: JSON Lines, a fault a line, with its symptom, taxonomy, object, cause and golden paths."""

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from events.limits import LABEL_CHARS_MAX
from instruments.evals.benchmarks.case import Case, CaseError, converted
from instruments.evals.benchmarks.opsbench_case import CaseTruth, case_of, tool_of
from instruments.evals.errors import FixtureFault
from instruments.evals.suite.json_yaml import json_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "opsbench"

_in_line = re.compile(r", again in line 1$|(?<=: )line 1(?:: | has )")
"""Where a decoder says in which line of a line it stands."""

SAYS = r"\S"
"""A text that is not blank."""

Word = Annotated[str, msgspec.Meta(pattern=SAYS, max_length=LABEL_CHARS_MAX)]
Sentence = Annotated[str, msgspec.Meta(pattern=SAYS, max_length=1_000)]
Process = dict[str, tuple[Word, ...]]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One line. Further keys say nothing of the truth, and are left alone."""

    id: Word
    query: Sentence
    root_cause: Word
    namespace: Word | None = None
    fault_object: Sentence | None = None
    fault_taxonomy: Word | None = None
    category: Word | None = None
    process: Process | None = None


def decode(body: bytes, name: str) -> Iterator[Case | FixtureFault]:
    """The case of each line that is not blank, or what is wrong with it, by its number."""
    for number, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield _case(line, where)
            except CaseError as wrong:
                yield wrong.at(where)


def tools_of(process: Process | None) -> tuple[tuple[str, ...], ...]:
    """The tools of each golden path. Errors: Wrong."""
    return tuple(
        tuple(tool_of(f"process.{path}[{number}]", call) for number, call in enumerate(calls))
        for path, calls in (process or {}).items()
    )


def _case(line: bytes, where: str) -> Case:
    """Errors: Wrong."""
    try:
        value = json_value(line)
    except UnreadableFile as error:
        raise CaseError(None, _in_line.sub("", str(error)), error.advice) from None
    label = converted(value, Label)
    truth = CaseTruth(
        id=label.id,
        query=label.query,
        cause=label.root_cause,
        namespace=label.namespace,
        object=label.fault_object,
        taxonomy=label.fault_taxonomy,
        category=label.category,
        paths=tools_of(label.process),
    )
    return case_of(truth, FORMAT, where)
