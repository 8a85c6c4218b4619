"""Import results of other tools: each run once, in batches, from the state that the ledger has.

A file is read and checked completely before anything of it is written. Each run is compared with the ledger: a run that
is there is not written again, one that an interrupted import left, or whose file was still growing, is continued, and
one with other content is a conflict, of which nothing is written. Files are independent of each other.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import structs

from api.importers.batch_append import BATCH_EVENTS, FileFault, split_batches
from api.importers.results.deepeval_reader import DEEPEVAL
from api.importers.results.imported_run import ImportedFile
from api.importers.results.inspect_reader import INSPECT
from api.importers.results.lm_eval_reader import LM_EVAL
from api.importers.results.promptfoo_reader import PROMPTFOO
from api.importers.results.report import (
    ImportedFileReport,
    Outcome,
    ResultsImport,
    report_file,
    report_run,
)
from api.importers.results.run_events import PreparedRun, prepare_run
from api.importers.results.source_file import ResultsReader, SourceFile
from api.importers.results.stored_run import StoredRun, read_stored
from api.progress import OpenProgress, ReportProgress
from api.service.evidence import Blob
from api.service.store import EventStore, append_with
from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.limits import LABEL_CHARS_MAX
from ledger.errors import AppendRefused, InvalidQuery

_encode = msgspec.json.Encoder().encode

PreparedFile = tuple[ImportedFile, list[PreparedRun]]
"""A file with the events of its runs."""

NOTHING = "Nothing of it was written."

READERS: tuple[ResultsReader, ...] = (INSPECT, LM_EVAL, PROMPTFOO, DEEPEVAL)


class ResultsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files are read: the options of `import results`. None: detected, or as the file states it."""

    format: str | None = None
    suite: str | None = None
    agent: str | None = None
    dry_run: bool = False

    def check(self) -> None:
        """Check the names. Errors: InvalidQuery."""
        for name, value in (("suite", self.suite), ("agent", self.agent)):
            if value is not None and not 0 < len(value) <= LABEL_CHARS_MAX:
                raise InvalidQuery(name, f"it has {len(value)} characters.", f"Use 1..{LABEL_CHARS_MAX} characters.")


def read_files(paths: Iterable[str], options: ResultsOptions) -> Iterator[PreparedFile | FileFault]:
    """Yield each file with the events of its runs, or its fault. Errors: InvalidQuery, for a wrong option."""
    for path in paths:
        try:
            yield read_file(path, options)
        except TallystickError as error:
            if isinstance(error, InvalidQuery) and error.field != "FILE":
                raise
            yield FileFault.of(error, path, advice=NOTHING)


def read_file(path: str, options: ResultsOptions) -> PreparedFile:
    """Read one file, and convert its runs into events. Errors: InvalidQuery, InvalidEvent."""
    source = SourceFile(Path(path), path)
    file = read_results(source, options.format)
    named = {key: value for key, value in (("suite", options.suite), ("agent", options.agent)) if value is not None}
    file.runs = [structs.replace(run, **named) for run in file.runs]
    prepared = [prepare_run(file, run) for run in file.runs]
    ids = [run.run_id for run in prepared]
    if twice := next((run_id for run_id in ids if ids.count(run_id) > 1), None):
        raise source.fault(f"it has two evaluations with the same id: {twice}.", "Split the file.")
    if not prepared:
        raise source.fault("it has no scores.", "Import a file of an evaluation that was scored.")
    return file, prepared


async def import_results(
    files: Iterator[PreparedFile | FileFault],
    store: EventStore,
    result: ResultsImport,
    progress: OpenProgress,
) -> None:
    """Append what is new of every file and add to `result`. In a dry run only compare.

    Errors: InvalidQuery, for a wrong option; those of `EventStore` that are not the fault of a file.
    """
    began = time.monotonic()
    writer = _RunWriter(store, result, progress)
    try:
        while (item := await asyncio.to_thread(next, files, None)) is not None:
            if isinstance(item, FileFault):
                result.faults.append(item)
                continue
            file, runs = item
            report = report_file(file)
            result.files.append(report)
            for run in runs:
                await writer.write(report, run)
    except TallystickError as error:
        written = f"{result.scores:,} scores of {result.runs:,} runs were written before."
        error.advice = f"{error.advice} {written} Running it again is safe.".lstrip()
        raise
    finally:
        result.elapsed_ms = round((time.monotonic() - began) * 1000)


class _RunWriter:
    """Compares runs with a ledger, and writes what is new of them."""

    def __init__(self, store: EventStore, result: ResultsImport, progress: OpenProgress) -> None:
        self._store = store
        self._result = result
        self._progress = progress

    async def write(self, file: ImportedFileReport, run: PreparedRun) -> None:
        """Write what the ledger lacks of a run, and report it."""
        stored = await read_stored(self._store, run.run_id)
        outcome: Outcome = "new" if stored is None else "continued"
        if stored is not None:
            if difference := stored.difference(run):
                self._refuse(file, run, difference)
                return
            if stored.has_all(run):
                outcome = "there"
                self._result.there += 1
        missing = list(_missing(run, stored))
        if missing:
            self._result.runs += 1
            if self._result.dry_run:
                self._result.appended += len(missing)
                self._result.scores += sum(draft.name.startswith("eval.scored") for draft, _ in missing)
            else:
                with self._progress(f"importing {file.file}", "events") as report:
                    try:
                        await self._append(missing, report)
                    except (AppendRefused, InvalidEvent) as error:
                        self._result.runs -= 1
                        self._result.faults.append(FileFault.of(error, file.file, run.run_id, NOTHING))
                        return
        file.runs.append(report_run(run, outcome))

    def _refuse(self, file: ImportedFileReport, run: PreparedRun, difference: str) -> None:
        self._result.conflicts += 1
        file.runs.append(report_run(run, "conflict"))
        fault = FileFault(
            file=file.file,
            run_id=run.run_id,
            detail=f"the ledger has run {run.run_id} with other content: {difference}. Nothing of the run was written.",
            advice=f"See `tallystick eval show {run.run_id}`. A run is never overwritten; "
            "results that were scored again need a run id of their own from the tool.",
        )
        self._result.faults.append(fault)

    async def _append(self, missing: list[tuple[Draft, tuple[Blob, ...]]], report: ReportProgress) -> None:
        result, done = self._result, 0
        for part in split_batches(missing, _measure, BATCH_EVENTS):
            drafts = [draft for draft, _ in part]
            answer = await append_with(self._store, [blob for _, blobs in part for blob in blobs], drafts)
            result.appended += answer.count - answer.duplicates
            result.duplicates += answer.duplicates
            result.scores += sum(draft.name.startswith("eval.scored") for draft in drafts)
            result.first = answer.first if result.first is None else min(answer.first, result.first)
            result.last = answer.last if result.last is None else max(answer.last, result.last)
            done += len(part)
            report(done, len(missing))


def _missing(run: PreparedRun, stored: StoredRun | None) -> Iterator[tuple[Draft, tuple[Blob, ...]]]:
    """Yield the events that the ledger lacks, with the bytes that they name."""
    if stored is None:
        yield run.start_draft(), run.start_blobs
    for key, graded in run.scores.items():
        if stored is None or key not in stored.scores:
            yield run.score_draft(graded), graded.blobs
    if run.finished is not None and not (stored is not None and stored.finished):
        yield run.finish_draft(), ()


def _measure(missing: tuple[Draft, tuple[Blob, ...]]) -> tuple[int, int]:
    """Return the events that an event and the bytes that it names become, and all bytes."""
    draft, blobs = missing
    return 1 + len(blobs), len(_encode(draft)) + sum(len(blob.data) for blob in blobs)


def read_results(source: SourceFile, format_: str | None = None) -> ImportedFile:
    """Read a file in the named format, or in the one that its content shows. Errors: InvalidQuery, InvalidEvent."""
    for reader in READERS:
        if reader.format == format_ or (format_ is None and reader.recognizes(source)):
            if not reader.recognizes(source):
                source.check_json()
            return reader.read(source)
    names = ", ".join(reader.format for reader in READERS)
    if format_ is not None:
        raise InvalidQuery("format", f"{format_!r} is not one of {names}.", "Use one of these, or leave it out.")
    source.check_json()
    titles = ", ".join(reader.title for reader in READERS)
    raise source.fault(
        f"its content is in none of the known formats ({titles}){_missing_member(source)}.",
        f"Name the format with --format: {names}.",
    )


def _missing_member(source: SourceFile) -> str:
    """Return in words which member the object lacks to be in a format, if it has all the others; or else nothing."""
    missing = {reader.title: reader.members - source.members.keys() for reader in READERS}
    lacking = [f"`{next(iter(names))}` of {title}" for title, names in missing.items() if len(names) == 1]
    return f": it lacks {' or '.join(lacking)}" if lacking else ""
