"""A case folder of Cloud-OpsBench: `metadata.json` with the fault, and `path*.json` with the trace of each golden path.

What the tools of a trace answered is evidence. Which tools they were, and in which order, is what a good answer does,
and stays with the expectations.
"""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from instruments.evals.benchmarks.case import Case, CaseError, converted
from instruments.evals.benchmarks.opsbench_case import CaseTruth, case_of, tool_of
from instruments.evals.benchmarks.opsbench_labels import Process, Sentence, Word, tools_of
from instruments.evals.errors import FixtureFault
from instruments.evals.suite.json_yaml import json_value
from instruments.yaml_reader import UnreadableFile

_Kind = TypeVar("_Kind")

FORMAT = "case"
METADATA = "metadata.json"

_trace_name = re.compile(r"path[0-9]+\.json")


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong."""

    root_cause: Word
    fault_object: Sentence | None = None
    fault_taxonomy: Word | None = None


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The case."""

    query: Sentence
    result: ToolResult
    namespace: Word | None = None
    process: Process | None = None


class TraceStepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that was called, and what it answered."""

    tool_name: Word
    output: Any = None


class GoldenTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A golden path."""

    diagnostic_trace: tuple[TraceStepRecord, ...]


_canonical = msgspec.json.Encoder(order="deterministic").encode


def is_trace(file: str) -> bool:
    """Whether a file of a case folder is that of a golden path."""
    return _trace_name.fullmatch(file) is not None


def decode(files: Mapping[str, bytes], name: str, where: str) -> Case | list[FixtureFault]:
    """The case of a folder, whose name is its id, or all that is wrong with its files."""
    faults: list[FixtureFault] = []

    def read(file: str, kind: type[_Kind]) -> Iterator[_Kind]:
        try:
            yield converted(json_value(files[file]), kind)
        except UnreadableFile as error:
            faults.append(FixtureFault(f"{where}/{file}", None, str(error), error.advice))
        except CaseError as wrong:
            faults.append(wrong.at(f"{where}/{file}"))

    metadata = list(read(METADATA, Metadata))
    traces = [trace for file in sorted(files) if is_trace(file) for trace in read(file, GoldenTrace)]
    if faults:
        return faults
    try:
        return _case(metadata[0], traces, name, where)
    except CaseError as wrong:
        return [wrong.at(f"{where}/{METADATA}")]


def _case(metadata: Metadata, traces: list[GoldenTrace], name: str, where: str) -> Case:
    """Errors: Wrong."""
    called = tuple(tuple(tool_of("tool_name", step.tool_name) for step in one.diagnostic_trace) for one in traces)
    truth = CaseTruth(
        id=name,
        query=metadata.query,
        cause=metadata.result.root_cause,
        namespace=metadata.namespace,
        object=metadata.result.fault_object,
        taxonomy=metadata.result.fault_taxonomy,
        category=None,
        paths=tools_of(metadata.process) or called,
    )
    return case_of(truth, FORMAT, where, _observations(traces))


def _observations(traces: list[GoldenTrace]) -> list[object]:
    """What the tools answered, each answer once, in an order that has nothing to do with that of the calls."""
    by_digest = {
        sha256(_canonical(step.output)).digest(): step.output
        for trace in traces
        for step in trace.diagnostic_trace
        if step.output not in (None, "", [], {})
    }
    return [by_digest[digest] for digest in sorted(by_digest)]
