"""Import run reports: each run once, many of them in one batch.

The importer first reads which of the runs the ledger has. An equal run is not written again. A different run with the
same id is a conflict, and nothing of it is written. A run larger than a batch that was interrupted is continued.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from api.auth import is_valid_agent
from api.importers.runs import reader
from api.importers.runs.score_check import UnsupportedScore, unsupported_scores
from api.importers.runs.to_events import RunDraft, RunEvents, run_events
from api.progress import Report
from api.service.evidence import digest_of
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted
from events.envelope import EventFacts
from events.errors import InvalidEvent, TallystickError
from events.limits import BATCH_BYTES_MAX, BATCH_EVENTS_MAX
from events.probe import score_id_of
from events.registry import VOCABULARY
from instruments.probes import SCORERS
from ledger.errors import AppendRefused, Gone, InvalidQuery, LifecycleViolation
from projections.discovery.run_report import REPORTED_SCORER_ID, DiscoveryRun, RunReport, build_report

ASKED = 100
"""Streams that are read at once."""


class FileFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that was not imported: why, and what to do. `conflict`: the ledger has another run with this id."""

    file: str
    run_id: str | None = None
    field: str | None = None
    detail: str
    advice: str
    conflict: bool = False


class RunImportResult(msgspec.Struct, kw_only=True):
    """The result of importing files. `runs` were written now, `there` existed already.

    `unborne` lists the stated scores that their own reports do not support.
    """

    files: int = 0
    runs: int = 0
    there: int = 0
    results: int = 0
    appended: int = 0
    first: int | None = None
    last: int | None = None
    faults: list[FileFault] = []
    unborne: list[UnsupportedScore] = []
    elapsed_ms: int = 0

    @property
    def usable(self) -> bool:
        """Whether any of the files was a run report."""
        return bool(self.runs or self.there) or any(fault.conflict for fault in self.faults)


def read_runs(paths: Iterable[str], agent: str | None) -> Iterator[RunEvents | FileFault]:
    """Yield each file's run as events, or its fault. Errors: InvalidQuery, for an invalid agent name."""
    _check_agent(agent)
    for path in paths:
        try:
            yield run_events(path, reader.decode(reader.read(path)), agent)
        except TallystickError as error:
            yield fault_of(error, path)


def read_run(path: str, agent: str | None) -> RunEvents:
    """Read the run of a file, or of standard input as `-`, as events. Errors: InvalidQuery, InvalidEvent."""
    _check_agent(agent)
    return run_events(path, reader.decode(reader.read(path)), agent)


def _check_agent(agent: str | None) -> None:
    if agent is not None and not is_valid_agent(agent):
        raise InvalidQuery("agent", f"{agent!r} cannot be an agent's name.", "Use 1..64 letters, digits and ._:@/+-.")


def fault_of(error: TallystickError, path: str, run_id: str | None = None) -> FileFault:
    """Return the fault of a file from an error."""
    detail = error.detail.replace("; nothing was written", "")
    advice = error.advice.replace(" Nothing was written.", "")
    return FileFault(file=path, run_id=run_id, field=getattr(error, "field", None), detail=detail, advice=advice)


async def import_runs(
    found: Iterator[RunEvents | FileFault],
    store: EventStore,
    result: RunImportResult,
    report: Report,
    total: int,
    *,
    rescore: bool = True,
) -> None:
    """Append every new run and add to `result`; the next batch is read while one is written.

    With `rescore`, every output is scored again, also of existing runs, and unsupported scores are listed.
    Errors: those of `EventStore.append` that no file causes; the runs written before stay.
    """
    began = time.monotonic()
    batches = _batches(found, result, rescore=rescore)
    writing: asyncio.Task[None] | None = None
    try:
        while True:
            batch = await asyncio.to_thread(next, batches, None)
            if writing is not None:
                await writing
                report(result.runs + result.there + len(result.faults), total)
            if batch is None:
                return
            writing = asyncio.create_task(_Writer(store, result).write(batch))
    except TallystickError as error:
        error.advice = f"{error.advice} {result.runs:,} runs were written before. Running it again is safe.".lstrip()
        raise
    finally:
        left_out = {(fault.file, fault.run_id) for fault in result.faults}
        result.unborne = [one for one in result.unborne if (one.file, one.run_id) not in left_out]
        result.elapsed_ms = round((time.monotonic() - began) * 1000)


def _batches(
    found: Iterator[RunEvents | FileFault], result: RunImportResult, *, rescore: bool
) -> Iterator[list[RunEvents]]:
    """Yield runs that are appended together, each run once."""
    batch: dict[str, RunEvents] = {}
    events = size_bytes = 0
    for one in found:
        result.files += 1
        if isinstance(one, FileFault):
            result.faults.append(one)
            continue
        if rescore:
            result.unborne.extend(unsupported_scores(one))
        more, larger = (
            sum(one_draft.events for one_draft in one.drafts),
            sum(one_draft.size_bytes for one_draft in one.drafts),
        )
        events, size_bytes = events + more, size_bytes + larger
        if batch and (events > BATCH_EVENTS_MAX or size_bytes > BATCH_BYTES_MAX or one.run_id in batch):
            yield list(batch.values())
            batch, events, size_bytes = {}, more, larger
        batch[one.run_id] = one
    if batch:
        yield list(batch.values())


def _parts(sayings: Iterable[RunDraft]) -> Iterator[list[RunDraft]]:
    """Yield events that fit into one batch."""
    part: list[RunDraft] = []
    events = size_bytes = 0
    for one_draft in sayings:
        events, size_bytes = events + one_draft.events, size_bytes + one_draft.size_bytes
        if part and (events > BATCH_EVENTS_MAX or size_bytes > BATCH_BYTES_MAX):
            yield part
            part, events, size_bytes = [], one_draft.events, one_draft.size_bytes
        part.append(one_draft)
    yield part


class SaveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one report: `saved` now, or there already. `unborne` lists its unsupported scores."""

    run_id: str
    saved: bool
    results: int
    appended: int
    first: int | None
    last: int | None
    unborne: list[UnsupportedScore]


async def save_run(run: RunEvents, store: EventStore) -> SaveResult:
    """Append one run. Errors: LifecycleViolation, if the ledger has another run with its id; those of appending."""
    result = RunImportResult()
    await import_runs(iter([run]), store, result, lambda done, total: None, 1)
    for fault in result.faults:
        detail = f"{fault.detail.removesuffix('.')}; nothing was written."
        raise LifecycleViolation(detail, fault.advice, subject=f"discovery/{run.run_id}", index=0)
    results = len(run.report.results or ())
    return SaveResult(
        run_id=run.run_id, saved=result.runs == 1, results=results, appended=result.appended, first=result.first,
        last=result.last, unborne=result.unborne,
    )  # fmt: skip


class _Writer:
    """Writes batches of runs."""

    def __init__(self, store: EventStore, result: RunImportResult) -> None:
        self._store = store
        self._result = result

    async def write(self, batch: Sequence[RunEvents]) -> None:
        """Append the new runs, all at once if possible, otherwise one by one."""
        fresh = await self._fresh(batch)
        if not fresh:
            return
        try:
            await self._append(fresh)
        except (AppendRefused, InvalidEvent, Gone) as error:
            if len(fresh) > 1:
                for one in fresh:
                    await self.write([one])
                return
            (one,) = fresh
            if await self._fresh(fresh):  # otherwise another process has written it meanwhile
                self._result.faults.append(fault_of(error, one.file, one.run_id))

    async def _append(self, fresh: Sequence[RunEvents]) -> None:
        result = self._result
        for part in _parts(one_draft for one in fresh for one_draft in one.drafts):
            drafts = [one_draft.draft for one_draft in part]
            async with self._store.keep(one_draft.blob for one_draft in part if one_draft.blob is not None) as evidence:
                for draft in evidence:
                    draft.source = drafts[0].source
                answer = await self._store.append([*evidence, *drafts])
            result.appended += answer.count - answer.duplicates
            result.first = answer.first if result.first is None else min(answer.first, result.first)
            result.last = answer.last if result.last is None else max(answer.last, result.last)
        result.runs += len(fresh)
        result.results += sum(len(one.report.results or ()) for one in fresh)

    async def _fresh(self, batch: Sequence[RunEvents]) -> list[RunEvents]:
        """Return the runs that the ledger does not have; count the others, or list them as conflicts."""
        stored = await self._stored([one.run_id for one in batch])
        fresh: list[RunEvents] = []
        for one in batch:
            events = stored.get(f"discovery/{one.run_id}")
            if events is None:
                fresh.append(one)
                continue
            run = await self._run(one.run_id, events)
            report = build_report(run, _texts(one.report) if run.evidence() else {})
            if report == one.report:
                self._result.there += 1
            elif run.imported and _continues(report, one.report):
                fresh.append(one)
            else:
                self._result.faults.append(_conflict(one))
        return fresh

    async def _run(self, run_id: str, events: list[EventFacts]) -> DiscoveryRun:
        """Return the run of a stream, with the scores that its report may state."""
        attempts = [event.data.attempt for event in events if isinstance(event.data, DiscoveryAttempted)]
        ours = [(scorer.id, scorer.version) for scorer in SCORERS.values()]
        scorers = [(REPORTED_SCORER_ID, None)] if DiscoveryRun.of(events, []).imported else ours
        names = [score_id_of(run_id, attempt, *scorer) for attempt in attempts for scorer in scorers]
        scores = await self._streams([f"probe/{name}" for name in names])
        found = [event for score in scores.values() for event in score]
        return DiscoveryRun.of(events, sorted(found, key=lambda event: event.position))

    async def _stored(self, run_ids: Sequence[str]) -> dict[str, list[EventFacts]]:
        return await self._streams([f"discovery/{run_id}" for run_id in run_ids])

    async def _streams(self, subjects: Sequence[str]) -> dict[str, list[EventFacts]]:
        found: dict[str, list[EventFacts]] = {}
        for start in range(0, len(subjects), ASKED):
            for event in VOCABULARY.facts(await self._store.streams(subjects[start : start + ASKED])):
                found.setdefault(event.subject, []).append(event)
        return found


def _texts(report: RunReport) -> dict[str, str | None]:
    """Return the outputs of a report by digest: evidence with that digest is the same text, even after erasure."""
    outputs = (result.probe.raw_output or "" for result in report.results or ())
    return {digest_of(output.encode()): output for output in outputs}


def _continues(stored: RunReport, wanted: RunReport) -> bool:
    """Whether the stored run is the beginning of the imported one."""
    done, results = stored.results or (), wanted.results or ()
    same = (stored.start_time, stored.config) == (wanted.start_time, wanted.config)
    return stored.end_time is None and same and done == results[: len(done)]


def _conflict(one: RunEvents) -> FileFault:
    return FileFault(
        file=one.file,
        run_id=one.run_id,
        field="run_id",
        detail=f"run_id: the ledger has another run {one.run_id}.",
        advice=f"See `tallystick run show {one.run_id} --json`; a run is never overwritten: give this another run_id.",
        conflict=True,
    )
