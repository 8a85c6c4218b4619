"""Read results of lm-evaluation-harness: each task, metric and filter becomes a run.

The file of results has aggregated figures only. The scores are in the files of samples that `--log_samples` writes
beside it: `samples_TASK_DATE.jsonl` for `results_DATE.json`, one line for each document and filter.

Source: lm-eval 0.4.13, as its documentation and the code of its tracker describe both files.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from api.importers.results.imported_run import (
    ImportedFile,
    ImportedRun,
    ImportedScore,
    checked_component,
    content_digest,
    points_of,
)
from api.importers.results.lenient_json import LenientDecoder, number
from api.importers.results.source_file import ResultsReader, SourceFile
from events.evaluation import POINTS_MAX
from instruments.stored_text import count_of, text_of
from ledger.clock import EPOCH

PROGRAM = "lm_eval"

STDERR = "_stderr"

NO_FILTER = "none"
"""The filter of samples that do not name one."""

_date = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)$")


class LmEvalResults(msgspec.Struct, frozen=True):
    """The file of results, as far as it is read."""

    results: dict[str, dict[str, Any]]
    configs: dict[str, dict[str, Any]] = {}
    versions: dict[str, Any] = {}
    higher_is_better: dict[str, Any] = {}
    date: Any = None
    model_name: str | None = None
    model_source: str | None = None
    git_hash: str | None = None
    lm_eval_version: str | None = None
    total_evaluation_time_seconds: Any = None
    n_samples: Any = msgspec.field(name="n-samples", default=None)


class LmEvalSample(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one line of samples: a document, as one filter reads the answer."""

    common: ImportedScore
    """What its scores have in common."""
    filter: str
    target: str | None
    values: dict[str, float | None]


class _Period(NamedTuple):
    """When the evaluation began and ended; None where the file does not state it."""

    started_at: datetime | None
    ended_at: datetime | None


_results = LenientDecoder(LmEvalResults)
_line = LenientDecoder(dict[str, Any])


MEMBERS = frozenset({"results", "configs", "versions"})
"""Members of the object by which its JSON is recognised."""


def recognizes(source: SourceFile) -> bool:
    """Tell whether a file has results, or samples of a task."""
    return source.members.keys() >= MEMBERS or _has_samples(source)


def _has_samples(source: SourceFile) -> bool:
    return {"doc_id", "filtered_resps"} <= source.first_line.keys()


def read(source: SourceFile) -> ImportedFile:
    """Read a file of results, and the files of samples beside it. Errors: InvalidEvent."""
    if _has_samples(source):
        detail = "it has the samples of one task, without the model and the task's metrics."
        raise source.fault(detail, "Name the file of results beside it: results_DATE.json; its samples are read, too.")
    advice = "Write the results again, or name another file."
    results = source.decode(_results, source.data, "it cannot be read", advice)
    file = source.result("lm-eval", PROGRAM, results.lm_eval_version)
    period = _period(file, results)
    for task, figures in sorted(results.results.items()):
        samples = _samples_file(source, task)
        if samples is None:
            count = sum(number(value) is not None for value in figures.values())
            file.leave_out("figures of tasks or groups without a file of samples", count, task)
            continue
        file.runs += _task_runs(file, results, task, samples, period)
    if not file.runs:
        detail = "it has aggregated figures, and no file of samples is beside it with a score that can be points."
        raise source.fault(detail, "Run lm-eval with --log_samples, and keep samples_TASK_DATE.jsonl beside this file.")
    return file


def _period(file: ImportedFile, results: LmEvalResults) -> _Period:
    """Return when the evaluation began and ended; count what is no time. Errors: InvalidEvent."""
    date, took = number(results.date), results.total_evaluation_time_seconds
    what = "times of the evaluation, whose date is missing or not a number"
    file.leave_out(what, int(date is None), text_of(results.date))
    started_at = None if date is None else file.time_after(EPOCH, date, "date")
    seconds = number(took)
    if isinstance(took, str):
        with suppress(ValueError):
            seconds = number(float(took))
    name = "total_evaluation_time_seconds"
    return _Period(started_at, file.end_after(started_at, seconds, name, stated=took is not None))


def _samples_file(source: SourceFile, task: str) -> SourceFile | None:
    """Return the file of samples of a task that was written with the results."""
    date = _date.search(source.path.stem)
    name = f"samples_{task}_{date[1]}.jsonl" if date else f"samples_{task}.jsonl"
    path = source.path.with_name(name) if "/" not in name else Path(name)
    return SourceFile(path, str(path)) if "/" not in name and path.is_file() else None


def _task_runs(
    file: ImportedFile, results: LmEvalResults, task: str, source: SourceFile, period: _Period
) -> Iterator[ImportedRun]:
    """Yield a run for each metric and filter of a task."""
    figures = results.results[task]
    names = [name for name in figures if "," in name and not name.partition(",")[0].endswith(STDERR)]
    metrics = sorted({name.partition(",")[0] for name in names})
    samples = sorted(
        _read_samples(file, source, metrics), key=lambda each: (len(each.common.sample), each.common.sample)
    )
    lacking = _count_of_samples(results, task) - len({each.common.sample for each in samples})
    file.leave_out(f"samples of {task} that n-samples counts and the file of samples lacks", max(0, lacking))
    for name in sorted(names):
        metric, _, filter_ = name.partition(",")
        column = [each for each in samples if each.filter == filter_]
        values = [value for each in column if (value := each.values[metric]) is not None]
        if not values:
            file.leave_out("figures of metrics that samples do not state as a number", 1, f"{task}: {name}")
        elif _is_lower_better(results, task, metric):
            file.leave_out(f"values of {task}: {name}, of which the lower is better", len(values), f"{values[0]:g}")
        elif any(points_of(value) is None for value in values):
            what = f"values of {task}: {name}, which are not all in 0..1 and have no known scale"
            file.leave_out(what, len(values), f"{values[0]:g}")
        else:
            yield _run(results, task, name, source, [_score(each, metric) for each in column], period)


def _count_of_samples(results: LmEvalResults, task: str) -> int:
    """Return how many samples of a task lm-eval states that it scored; 0 if it does not."""
    counts = results.n_samples.get(task) if isinstance(results.n_samples, dict) else None
    return (count_of(counts.get("effective")) or 0) if isinstance(counts, dict) else 0


def _is_lower_better(results: LmEvalResults, task: str, metric: str) -> bool:
    directions = results.higher_is_better.get(task)
    return isinstance(directions, dict) and directions.get(metric) is False


def _run(
    results: LmEvalResults, task: str, name: str, source: SourceFile, scores: list[ImportedScore], period: _Period
) -> ImportedRun:
    figures = results.results[task]
    metric, _, filter_ = name.partition(",")
    stated, error = number(figures[name]), figures.get(f"{metric}{STDERR},{filter_}")
    meta = {
        "task_version": results.versions.get(task),
        "model_source": results.model_source,
        "commit": results.git_hash,
        metric: figures[name],
        f"{metric}{STDERR}": error,
        "samples_digest": source.digest,
    }
    return ImportedRun(
        identity=None,
        part=task,
        suite=task,
        agent=results.model_name or None,
        model=results.model_name or None,
        scorer_id=name,
        started_at=period.started_at,
        ended_at=period.ended_at,
        stated_mean=None if stated is None or not _is_mean(results, task, metric) else stated * POINTS_MAX,
        meta={key: str(value) for key, value in meta.items() if value not in (None, "")},
        scores=tuple(scores),
    )


def _is_mean(results: LmEvalResults, task: str, metric: str) -> bool:
    """Tell whether a figure is the mean of its samples; where the file names no aggregation, it is."""
    listed = results.configs.get(task, {}).get("metric_list") or ()
    return all(each.get("aggregation", "mean") == "mean" for each in listed if each.get("metric") == metric)


def _read_samples(file: ImportedFile, source: SourceFile, metrics: list[str]) -> Iterator[LmEvalSample]:
    """Yield what is kept of each line, and count the rest. Errors: InvalidEvent."""
    with source.path.open("rb") as lines:
        for place, line in enumerate(lines, 1):
            if not line.strip():
                continue
            sample = source.decode(_line, line, f"line {place} cannot be read", "Write the samples again.")
            if not isinstance(sample.get("doc_id"), int | str):
                raise source.fault(f"line {place} has no doc_id.", "Name files that lm-eval wrote.")
            file.leave_out("documents, of which the digest is kept", "doc" in sample)
            file.leave_out("prompts, of which the digest is kept", "arguments" in sample)
            file.leave_out("answers before the filter", "resps" in sample)
            yield _sample(sample, metrics)


def _sample(sample: dict[str, Any], metrics: list[str]) -> LmEvalSample:
    target = sample.get("target")
    hashes = [sample.get(name) for name in ("doc_hash", "prompt_hash", "target_hash")]
    answer = sample.get("filtered_resps")
    if isinstance(answer, list) and len(answer) == 1:
        (answer,) = answer
    filter_ = sample.get("filter")
    common = ImportedScore(
        sample=str(sample["doc_id"]),
        state="skipped",
        answer=text_of(answer) or None,
        fixture_digest=content_digest(*(hashes if any(hashes) else (sample.get("doc"), target))),
        expectation_digest=content_digest(target),
    )
    return LmEvalSample(
        common=common,
        filter=filter_ if isinstance(filter_, str) else NO_FILTER,
        target=text_of(target) or None,
        values={metric: _value(sample.get(metric)) for metric in metrics},
    )


def _value(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    return float(value) if isinstance(value, bool) else number(value)


def _score(sample: LmEvalSample, metric: str) -> ImportedScore:
    value = sample.values[metric]
    points = None if value is None else points_of(value)
    if points is None:
        return structs.replace(sample.common, detail=f"the sample states no number for {metric}")
    passed = points == POINTS_MAX
    component = checked_component(metric, points=points, passed=passed, mark=POINTS_MAX, expected=sample.target)
    return structs.replace(
        sample.common,
        state="scored",
        points=points,
        passed=passed,
        threshold=POINTS_MAX,
        components=(component,),
    )


LM_EVAL = ResultsReader("lm-eval", "lm-evaluation-harness", recognizes, read, MEMBERS)
