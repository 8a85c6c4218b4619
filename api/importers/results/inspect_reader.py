"""Read a log of Inspect AI: each scorer becomes a run, each epoch an attempt.

A score of C, I, P or N, a word or a number is the number that Inspect makes of it, and 1 are 100 points. A scorer with
a value outside 0..1 has no known scale, and a list has no number: these are counted as not kept. Of an object each key
is a scorer of its own, `SCORER.KEY`. An attempt passes at 1, as Inspect has no threshold.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import isfinite, isnan
from typing import Any, NamedTuple

from msgspec import structs

from api.importers.results.imported_run import (
    ImportedFile,
    ImportedRun,
    ImportedScore,
    checked_component,
    points_of,
)
from api.importers.results.inspect_log import LogHeader, LogScore, open_log
from api.importers.results.inspect_samples import SampleFacts, sample_facts
from api.importers.results.lenient_json import number
from api.importers.results.source_file import ResultsReader, SourceFile
from events.evaluation import POINTS_MAX, Component
from events.limits import ITEMS_MAX

PROGRAM = "inspect_ai"

MEANS = ("accuracy", "mean")
"""Metrics that are the mean over samples of the mean over epochs."""

META_MAX = ITEMS_MAX - 8
"""Entries of a run's meta that its figures may take."""

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partly correct, incorrect, no answer. Other texts are compared in lower case."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

UNSCORED = "NaN"
"""A value that Inspect counts as unscored, as the decoder of JSON returns it."""


class _Column(NamedTuple):
    """One scorer, or one key of its values, with the value of each sample in order; None where it has no score."""

    scorer: str
    key: str | None
    values: list[Any]

    @property
    def scorer_id(self) -> str:
        return self.scorer if self.key is None else f"{self.scorer}.{self.key}"


MEMBERS = frozenset({"eval", "status"})
"""Members of the object by which its JSON is recognised."""


def recognizes(source: SourceFile) -> bool:
    """Tell whether a file is a log: a ZIP file, or an object with the members of one."""
    return source.is_zip or source.members.keys() >= MEMBERS


def read(source: SourceFile) -> ImportedFile:
    """Read a log. Errors: InvalidEvent; ExtraMissing, for a compressed log without Zstandard."""
    log = open_log(source)
    spec = log.header.eval
    file = source.result("inspect", PROGRAM, spec.packages.get(PROGRAM))
    samples = [sample_facts(file, sample) for sample in log.samples]
    if not samples:
        raise source.fault(f"the log has no samples (its status is {log.header.status}).", "Import a log with samples.")
    order = {str(each): place for place, each in enumerate(spec.dataset.sample_ids or ())}
    samples.sort(key=lambda each: (order.get(each.common.sample, len(order)), each.common.sample, each.common.attempt))
    columns = list(_columns(file, log.header, samples))
    is_scored = any(sample.scores for sample in samples)
    period = _period(file, log.header)
    file.runs = [_run(file, log.header, samples, column, period) for column in columns]
    if not file.runs:
        reason = f": {file.not_kept[-1].what}" if file.not_kept and is_scored else ""
        advice = "Score it (inspect score), with a scorer whose values are in 0..1."
        raise source.fault(f"none of its samples has a score that can be points{reason}.", advice)
    _count_rest(file, log.header)
    return file


def _period(file: ImportedFile, header: LogHeader) -> tuple[datetime | None, datetime | None]:
    """Return when the evaluation began and ended; count what is no time, and an end before the begin."""
    started_at = file.time(header.stats.started_at or header.eval.created, "begins of the evaluation")
    ended_at = file.time(header.stats.completed_at, "ends of the evaluation")
    is_early = started_at is not None and ended_at is not None and ended_at < started_at
    file.leave_out("ends of the evaluation that are before its begin", int(is_early), header.stats.completed_at)
    return started_at, None if is_early else ended_at


def _columns(file: ImportedFile, header: LogHeader, samples: Sequence[SampleFacts]) -> Iterator[_Column]:
    """Yield what becomes a run: each scorer, or each key of it, that has a value which can be points."""
    declared = [scorer.name.rpartition("/")[2] for scorer in header.eval.scorers or ()]
    scored = sorted({name for sample in samples for name in sample.scores})
    names = [name for name in declared if name in scored]
    for name in dict.fromkeys([*names, *scored]) or declared:
        scores = [sample.scores.get(name) for sample in samples]
        values = [None if score is None else score.value for score in scores]
        file.leave_out(f"values of {name} that are lists", sum(isinstance(value, list) for value in values))
        keys = sorted({str(key) for value in values if isinstance(value, dict) for key in value})
        columns = [_Column(name, key, [_part(value, key) for value in values]) for key in keys]
        simple = [None if isinstance(value, dict | list) else value for value in values]
        if any(value is not None for value in simple) or not scored:
            columns.insert(0, _Column(name, None, simple))
        yield from (column for column in columns if _has_points(file, column, is_scored=bool(scored)))


def _part(value: Any, key: str) -> Any:  # noqa: ANN401 - any JSON value
    part = value.get(key) if isinstance(value, dict) else None
    return None if isinstance(part, dict | list) else part


def _has_points(file: ImportedFile, column: _Column, *, is_scored: bool) -> bool:
    """Tell whether the values of a column can be points; count them if not."""
    stated = [value for value in column.values if value is not None]
    numbers = [value for value in map(value_to_number, stated) if value is not None]
    outside = [value for value in numbers if points_of(value) is None] or [*filter(is_infinite, stated)]
    texts = [value for value in stated if value_to_number(value) is None and value != UNSCORED and value not in outside]
    if outside:
        what = f"values of {column.scorer_id}, which are not all in 0..1 and have no known scale"
        file.leave_out(what, len(stated), str(outside[0]))
        return False
    file.leave_out(
        f"values of {column.scorer_id} that are texts without a number", len(texts), str(next(iter(texts), ""))
    )
    return bool(numbers) or not is_scored


def _run(
    file: ImportedFile,
    header: LogHeader,
    samples: Sequence[SampleFacts],
    column: _Column,
    period: tuple[datetime | None, datetime | None],
) -> ImportedRun:
    spec = header.eval
    scores = tuple(_score(file, sample, column, value) for sample, value in zip(samples, column.values, strict=True))
    stated_mean, figures = _figures(file, header, column)
    known = {
        "task_version": str(spec.task_version) if spec.task_version else None,
        "dataset": spec.dataset.name,
        "solver": spec.solver,
        "commit": spec.revision.commit + (" (changed)" if spec.revision.dirty else "") if spec.revision else None,
        "tags": ", ".join(spec.tags or ()),
        "status": None if header.status == "started" else header.status,
        "invalidated": "true" if header.invalidated else None,
    }
    reasons = {"cancelled": "cancelled", "error": f"error: {header.error.message if header.error else 'unknown'}"}
    return ImportedRun(
        identity=spec.eval_id or f"{spec.run_id}/{spec.task_id}/{spec.created}",
        suite=spec.task,
        agent=spec.model or None,
        model=spec.model or None,
        scorer_id=column.scorer_id,
        samples=tuple(map(str, spec.dataset.sample_ids or ())),
        attempts=spec.config.epochs,
        started_at=period[0],
        ended_at=period[1],
        finished=header.status != "started",
        reason=reasons.get(header.status),
        stated_mean=stated_mean,
        meta={name: text for name, text in known.items() if text} | figures,
        scores=scores,
    )


def _score(file: ImportedFile, sample: SampleFacts, column: _Column, value: Any) -> ImportedScore:  # noqa: ANN401
    score = sample.scores.get(column.scorer)
    points = None if (fraction := value_to_number(value)) is None else points_of(fraction)
    passed = None if fraction is None else fraction == 1.0
    if points is not None:
        state, detail = "scored", None
        file.leave_out("errors of samples that have a score all the same", int(sample.error is not None), sample.error)
    elif sample.error is not None:
        state, detail = "error", sample.error
    else:
        state, detail = "skipped", _why_unscored(value)
    return structs.replace(
        sample.common,
        state=state,
        points=points,
        passed=passed,
        threshold=None if points is None else POINTS_MAX,
        detail=detail,
        components=() if score is None or points is None else (_component(file, sample, column, score, points),),
    )


def _why_unscored(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if value is None:
        return "the scorer gave no value that is a number"
    return "Inspect counts the value as unscored" if value == UNSCORED else f"the value {value!r} has no number"


def _component(file: ImportedFile, sample: SampleFacts, column: _Column, score: LogScore, points: float) -> Component:
    explanation = (score.explanation or "").strip()
    if explanation and sample.target is None:
        file.leave_out("explanations of scores of samples without a target", 1, explanation)
    return checked_component(
        column.scorer_id,
        points=points,
        passed=points == POINTS_MAX,
        mark=POINTS_MAX,
        expected=sample.target,
        note=file.shorten(explanation, "explanations"),
    )


def _figures(file: ImportedFile, header: LogHeader, column: _Column) -> tuple[float | None, dict[str, str]]:
    """Return the mean that the log states, in points, and all figures of a scorer as texts."""
    mean: float | None = None
    figures: dict[str, str] = {}
    for each in header.results.scores if header.results else ():
        of_key = each.name == column.key and each.scorer == column.scorer
        if not (of_key if column.key is not None else column.scorer in (each.name, each.scorer)):
            continue
        suffix = "" if each.reducer is None else f" ({each.reducer})"
        for metric in each.metrics.values():
            value = number(metric.value)
            figures[f"{metric.name}{suffix}"] = str(metric.value)
            if metric.name in MEANS and each.reducer in (None, "mean") and value is not None:
                mean = value * POINTS_MAX
    if len(figures) > META_MAX:
        file.leave_out("figures of scorers beyond the first", len(figures) - META_MAX)
        figures = dict(list(figures.items())[:META_MAX])
    return mean, figures


def _count_rest(file: ImportedFile, header: LogHeader) -> None:
    """Count what the log has beside its samples."""
    file.leave_out("reductions of epochs (a mean over epochs is computed)", len(header.reductions or ()))
    file.leave_out("metadata of the evaluation", len(header.eval.metadata or ()))
    file.leave_out(
        "traceback of the evaluation's error", int(header.error is not None and bool(header.error.traceback))
    )


INSPECT = ResultsReader("inspect", "Inspect AI", recognizes, read, MEMBERS)


def value_to_number(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    """Return the number of a value; None for an unscored one, and for what Inspect cannot convert either.

    Inspect counts texts that it cannot convert as 0 and warns; here they have no number.
    """
    if isinstance(value, bool | int | float):
        as_float = float(value)
        return None if isnan(as_float) else as_float
    if not isinstance(value, str):
        return None
    if value in LETTERS:
        return LETTERS[value]
    lower = value.lower()
    if lower in WORDS:
        return WORDS[lower]
    try:
        as_float = float(lower)
    except ValueError:
        return None
    return as_float if isfinite(as_float) else None


def is_infinite(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether a value is infinite, as the decoder of JSON returns it."""
    return value in ("Infinity", "-Infinity")
