"""Read labels of Cloud-OpsBench: JSON Lines, one fault each, with symptom, taxonomy, object, cause, golden paths."""

import re
from collections.abc import Iterator

from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case, CaseError, convert_value
from instruments.evals.benchmarks.opsbench_case import CaseTruth, build_case, golden_tools
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.yaml_reader import UnreadableFile

FORMAT = "opsbench"

_in_line = re.compile(r", again in line 1$|(?<=: )line 1(?:: | has )")
"""The decoder's line number within the line, which is removed from messages."""


def decode(body: bytes, name: str) -> Iterator[Case | FixtureFault]:
    """Yield the case or the fault of each line that is not blank; faults name the line number."""
    for number, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield _case(line, where)
            except CaseError as error:
                yield error.at(where)


def _case(line: bytes, where: str) -> Case:
    """Errors: CaseError."""
    try:
        value = json_value(line)
    except UnreadableFile as error:
        raise CaseError(None, _in_line.sub("", str(error)), error.advice) from None
    truth = convert_value(value, CaseTruth)
    return build_case(truth, golden_tools(truth.process), FORMAT, where)
