"""Read a case folder of Cloud-OpsBench: the fault, what the tools answer, and the golden paths' traces.

`metadata.json` has the fault. `tool_cache.json` has what every call of a tool answers, and becomes the evidence. A
folder without it has only the answers in `path*.json`, which the golden paths asked for: they become the evidence, and
the case says so (`golden_evidence`), because the choice points to the solution. The tools and their order are part of
the solution, and are used in the expectations only.
"""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case, CaseError, convert_value
from instruments.evals.benchmarks.opsbench_labels import Label, Sentence, Word, build_case, parse_tool
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.yaml_reader import UnreadableFile

_Kind = TypeVar("_Kind")

FORMAT = "case"
METADATA = "metadata.json"
TOOL_CACHE = "tool_cache.json"

_call = re.compile(r"\w+:\{.*\}", re.DOTALL)
"""A key of the tool cache: the tool and its arguments as JSON. Other keys state how the cache was made."""

_trace_name = re.compile(r"path[0-9]+\.json")


class LabelledFault(msgspec.Struct, frozen=True, kw_only=True):
    """The fault."""

    root_cause: Word
    fault_object: Sentence | None = None
    fault_taxonomy: Word | None = None


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `metadata.json`."""

    query: Sentence
    result: LabelledFault
    namespace: Word | None = None
    process: dict[str, tuple[Word, ...]] | None = None


class TraceStepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool, and its output."""

    tool_name: Word
    output: Any = None


class GoldenTrace(msgspec.Struct, frozen=True, kw_only=True):
    """The trace of a golden path."""

    diagnostic_trace: tuple[TraceStepRecord, ...]


_canonical = msgspec.json.Encoder(order="deterministic").encode


def is_evidence(file: str) -> bool:
    """Whether a file of a case folder has answers of tools, by its name."""
    return file == TOOL_CACHE or is_trace(file)


def is_trace(file: str) -> bool:
    """Whether a file of a case folder is the trace of a golden path, by its name."""
    return _trace_name.fullmatch(file) is not None


def decode(files: Mapping[str, bytes], name: str, where: str) -> Case | list[FixtureFault]:
    """Return the case of a folder, or all faults of its files; `name` is the id of the case."""
    faults: list[FixtureFault] = []

    def read(file: str, kind: type[_Kind]) -> Iterator[_Kind]:
        try:
            yield convert_value(json_value(files[file]), kind)
        except UnreadableFile as error:
            faults.append(FixtureFault(f"{where}/{file}", None, str(error), error.advice))
        except CaseError as error:
            faults.append(error.at(f"{where}/{file}"))

    metadata = list(read(METADATA, Metadata))
    caches = list(read(TOOL_CACHE, dict[str, Any])) if TOOL_CACHE in files else []
    traces = [trace for file in sorted(files) if is_trace(file) for trace in read(file, GoldenTrace)]
    if faults:
        return faults
    try:
        outputs = _cached_outputs(caches[0]) if caches else None
    except CaseError as error:
        return [error.at(f"{where}/{TOOL_CACHE}")]
    try:
        return _case(metadata[0], traces, outputs, name, where)
    except CaseError as error:
        return [error.at(f"{where}/{METADATA}")]


def _case(metadata: Metadata, traces: list[GoldenTrace], outputs: list[object] | None, name: str, where: str) -> Case:
    """Errors: CaseError."""
    tools = [[parse_tool("tool_name", step.tool_name) for step in trace.diagnostic_trace] for trace in traces]
    truth = Label(
        id=name,
        query=metadata.query,
        namespace=metadata.namespace,
        process=metadata.process,
        **structs.asdict(metadata.result),
    )
    if outputs is not None:
        return build_case(truth, FORMAT, where, _observations(outputs), tools)
    observations = _observations([step.output for trace in traces for step in trace.diagnostic_trace])
    return build_case(truth, FORMAT, where, observations, tools, golden_evidence=bool(observations))


def _cached_outputs(cache: dict[str, Any]) -> list[object]:
    """Return what the calls in a tool cache answer. Errors: CaseError."""
    outputs = [output for call, output in cache.items() if _call.fullmatch(call)]
    if not outputs:
        problem = "has no call of a tool, such as GetResources:{...}"
        raise CaseError(None, problem, "Put the benchmark's own file there, or remove it.")
    return outputs


def _observations(outputs: list[object]) -> list[object]:
    """Return the outputs that are not empty, each once, ordered by digest to hide the order of the calls."""
    by_digest = {sha256(_canonical(output)).digest(): output for output in outputs if output not in (None, "", [], {})}
    return [by_digest[digest] for digest in sorted(by_digest)]
