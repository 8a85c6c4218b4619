"""Logs of Inspect AI, version 2, as `.json` and as `.eval` files: the parts that are read, and one sample at a time.

Source: the log as inspect-ai 0.3.285 writes it. Members that are not named here are skipped without being decoded, or
only counted.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from api.importers.results.lenient_json import LenientDecoder
from api.importers.results.log_archive import LogArchive
from api.importers.results.source_file import SourceFile

VERSION = 2
"""The version of logs that is read."""

HEADER, START, REDUCTIONS, SAMPLES = "header.json", "_journal/start.json", "reductions.json", "samples/"
"""Entries of a `.eval` file: the log without samples; what it began with, while it is still written; the means over
epochs of each sample; the samples."""

Raws = list[msgspec.Raw]
_T = TypeVar("_T")


class LogUsage(msgspec.Struct, frozen=True):
    """Tokens of one model. The tokens of the cache are not among `input_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_write: int | None = None
    input_tokens_cache_read: int | None = None
    reasoning_tokens: int | None = None
    total_cost: Any = None


class LogScore(msgspec.Struct, frozen=True):
    """The score of a sample by one scorer; `value` is a letter, a text, a number, a list or an object."""

    value: Any = None
    answer: Any = None
    explanation: str | None = None
    metadata: dict[str, msgspec.Raw] | None = None
    history: Raws = []


class LogError(msgspec.Struct, frozen=True):
    """An error of a sample, or of the evaluation."""

    message: str = ""
    traceback: str = ""


class LogMessage(msgspec.Struct, frozen=True):
    """The message of an answer: a text, or parts."""

    content: str | list[dict[str, Any]] = ""


class LogChoice(msgspec.Struct, frozen=True):
    """One answer of a model."""

    message: LogMessage = LogMessage()


class LogOutput(msgspec.Struct, frozen=True):
    """The last answer of the model."""

    model: str = ""
    choices: list[LogChoice] = []
    error: str | None = None


class LogLimit(msgspec.Struct, frozen=True):
    """A limit that a sample reached."""

    type: str = ""


class LogSample(msgspec.Struct, frozen=True):
    """One sample in one epoch."""

    id: int | str
    epoch: int
    input: Any = None
    choices: Any = None
    target: Any = None
    sandbox: Any = None
    files: Raws | None = None
    setup: str | None = None
    messages: Raws = []
    output: LogOutput = LogOutput()
    scores: dict[str, LogScore] | None = None
    metadata: dict[str, msgspec.Raw] = {}
    store: dict[str, msgspec.Raw] = {}
    events: Raws = []
    model_usage: dict[str, LogUsage] = {}
    role_usage: dict[str, msgspec.Raw] = {}
    started_at: str | None = None
    completed_at: str | None = None
    total_time: Any = None
    working_time: Any = None
    invalidation: Any = None
    error: LogError | None = None
    error_retries: Raws | None = None
    attachments: dict[str, str] = {}
    limit: LogLimit | None = None


class LogDataset(msgspec.Struct, frozen=True):
    """The dataset: its name, and the ids of the samples that were selected."""

    name: str | None = None
    samples: int | None = None
    sample_ids: list[int | str] | None = None


class LogConfig(msgspec.Struct, frozen=True):
    """The configuration of the evaluation, as far as it is read."""

    epochs: int | None = None


class LogScorer(msgspec.Struct, frozen=True):
    """A scorer of the task."""

    name: str


class LogRevision(msgspec.Struct, frozen=True):
    """The commit of the task."""

    commit: str = ""
    dirty: bool | None = None


class LogSpec(msgspec.Struct, frozen=True):
    """What was evaluated."""

    task: str
    model: str = ""
    created: str = ""
    eval_id: str = ""
    run_id: str = ""
    task_id: str = ""
    task_version: int | str = 0
    solver: str | None = None
    tags: list[str] | None = None
    dataset: LogDataset = LogDataset()
    config: LogConfig = LogConfig()
    revision: LogRevision | None = None
    packages: dict[str, str] = {}
    scorers: list[LogScorer] | None = None
    metadata: dict[str, msgspec.Raw] | None = None


class LogMetric(msgspec.Struct, frozen=True):
    """An aggregated figure."""

    name: str
    value: Any = None


class LogScoreMetrics(msgspec.Struct, frozen=True):
    """The figures of one scorer, or of one key of its values: then `name` is the key."""

    name: str
    scorer: str = ""
    reducer: str | None = None
    metrics: dict[str, LogMetric] = {}


class LogResults(msgspec.Struct, frozen=True):
    """The figures of all scorers."""

    scores: list[LogScoreMetrics] = []


class LogStats(msgspec.Struct, frozen=True):
    """When the evaluation began and ended."""

    started_at: str = ""
    completed_at: str = ""


class LogHeader(msgspec.Struct, frozen=True):
    """A log without its samples."""

    eval: LogSpec
    version: int = VERSION
    status: str = "started"
    results: LogResults | None = None
    stats: LogStats = LogStats()
    error: LogError | None = None
    invalidated: bool = False
    reductions: Raws | None = None


class _LogWithSamples(LogHeader, frozen=True):
    samples: Raws | None = None


_header = LenientDecoder(LogHeader)
_log = LenientDecoder(_LogWithSamples)
_sample = LenientDecoder(LogSample)
_reductions = LenientDecoder(Raws)


class InspectLog(msgspec.Struct, frozen=True):
    """A log: everything but the samples, and these one after another."""

    header: LogHeader
    samples: Iterator[LogSample]


def open_log(source: SourceFile) -> InspectLog:
    """Open a log. Errors: InvalidEvent, here and while samples are read; ExtraMissing."""
    if source.is_zip:
        archive = LogArchive(source)
        name = next((name for name in (HEADER, START) if name in archive), None)
        if name is None:
            raise source.fault(
                f"it has neither {HEADER} nor {START}: it is not a log of Inspect AI.", "Name another file."
            )
        header = _decode(source, _header, archive.read(name), name)
        if REDUCTIONS in archive:
            reductions = _decode(source, _reductions, archive.read(REDUCTIONS), REDUCTIONS)
            header = structs.replace(header, reductions=reductions)
        samples = ((entry, archive.read(entry)) for entry in archive.names(SAMPLES))
        return InspectLog(_check(source, header), _read_samples(source, samples))
    log = _decode(source, _log, source.data, "the log")
    numbered = ((f"samples[{number}]", sample) for number, sample in enumerate(log.samples or ()))
    return InspectLog(_check(source, log), _read_samples(source, numbered))


def _read_samples(source: SourceFile, samples: "Iterator[tuple[str, bytes | msgspec.Raw]]") -> Iterator[LogSample]:
    for place, data in samples:
        yield _decode(source, _sample, data, place)


def _check(source: SourceFile, header: LogHeader) -> LogHeader:
    if header.version != VERSION:
        detail = f"it is a log of version {header.version}; version {VERSION} is read."
        raise source.fault(detail, "Convert it with a current inspect-ai: inspect log convert --to json.")
    return header


def _decode(source: SourceFile, decoder: LenientDecoder[_T], data: Any, place: str) -> _T:  # noqa: ANN401 - bytes of any kind
    return source.decode(decoder, data, f"{place} cannot be read", "Write the log again, or name another file.")
