"""Import run reports: each run once, many of them in one batch.

The importer first reads the runs that the ledger has already. An equal run is not written again. A different run with
the same id is a conflict, and nothing of it is written. A run that is larger than a batch, and whose import was
interrupted, is continued.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from api.importers.batch_append import STREAMS_MAX, FileFault, split_batches
from api.importers.runs import reader
from api.importers.runs.score_check import UnsupportedScore, unsupported_scores
from api.importers.runs.to_events import RunEvents, run_events
from api.progress import ReportProgress
from api.service.evidence import digest_of
from api.service.store import EventStore
from events.agent_name import is_valid_agent
from events.discovery import DiscoveryAttempted
from events.envelope import EventFacts
from events.errors import InvalidEvent, TallystickError
from events.limits import BATCH_BYTES_MAX, BATCH_EVENTS_MAX
from events.probe import score_id_of
from events.registry import VOCABULARY
from instruments.probes import SCORERS
from ledger.errors import AppendRefused, Gone, InvalidQuery, LifecycleViolation
from ledger.threads import run_on_thread
from projections.discovery.run_report import REPORTED_SCORER_ID, DiscoveryRun, RunReport, build_report


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
            yield _read_events(path, agent)
        except TallystickError as error:
            yield FileFault.of(error, path)


def read_run(path: str, agent: str | None) -> RunEvents:
    """Read the run of a file, or of standard input as `-`, as events. Errors: InvalidQuery, InvalidEvent."""
    _check_agent(agent)
    return _read_events(path, agent)


def _read_events(path: str, agent: str | None) -> RunEvents:
    return run_events(path, reader.decode_report(reader.read_report(path)), agent)


def _check_agent(agent: str | None) -> None:
    if agent is not None and not is_valid_agent(agent):
        raise InvalidQuery("agent", f"{agent!r} cannot be an agent's name.", "Use 1..64 letters, digits and ._:@/+-.")


async def import_runs(
    runs: Iterator[RunEvents | FileFault],
    store: EventStore,
    result: RunImportResult,
    report: ReportProgress,
    total: int,
    *,
    rescore: bool = True,
) -> None:
    """Append every new run and add to `result`; the next batch is read while one is written.

    With `rescore`, every output is scored again, also those of existing runs, and unsupported scores are listed.
    Errors: those of `EventStore.append` that are not the fault of a file; the runs written before stay.
    """
    began = time.monotonic()
    batches = _batches(runs, result, rescore=rescore)
    writing: asyncio.Task[None] | None = None
    try:
        while True:
            batch = await run_on_thread(next, batches, None)
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
        result.unborne = [score for score in result.unborne if (score.file, score.run_id) not in left_out]
        result.elapsed_ms = round((time.monotonic() - began) * 1000)


def _batches(
    runs: Iterator[RunEvents | FileFault], result: RunImportResult, *, rescore: bool
) -> Iterator[list[RunEvents]]:
    """Yield runs that are appended together, each run once."""
    batch: dict[str, RunEvents] = {}
    events = size_bytes = 0
    for run in runs:
        result.files += 1
        if isinstance(run, FileFault):
            result.faults.append(run)
            continue
        if rescore:
            result.unborne.extend(unsupported_scores(run))
        run_length = sum(draft.events for draft in run.drafts)
        run_bytes = sum(draft.size_bytes for draft in run.drafts)
        events, size_bytes = events + run_length, size_bytes + run_bytes
        if batch and (events > BATCH_EVENTS_MAX or size_bytes > BATCH_BYTES_MAX or run.run_id in batch):
            yield list(batch.values())
            batch, events, size_bytes = {}, run_length, run_bytes
        batch[run.run_id] = run
    if batch:
        yield list(batch.values())


class SaveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one report: whether it was `saved` now. `unborne` lists its unsupported scores."""

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
        raise LifecycleViolation(fault.detail, fault.advice, subject=f"discovery/{run.run_id}", index=0)
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
        """Append the new runs: all at once if possible, otherwise one after another."""
        new = await self._new_runs(batch)
        if not new:
            return
        try:
            await self._append(new)
        except (AppendRefused, InvalidEvent, Gone) as error:
            if len(new) > 1:
                for run in new:
                    await self.write([run])
                return
            (run,) = new
            if await self._new_runs(new):  # otherwise another process has written it meanwhile
                self._result.faults.append(FileFault.of(error, run.file, run.run_id))

    async def _append(self, runs: Sequence[RunEvents]) -> None:
        result = self._result
        all_drafts = (draft for run in runs for draft in run.drafts)
        for part in split_batches(all_drafts, lambda draft: (draft.events, draft.size_bytes), BATCH_EVENTS_MAX):
            drafts = [run_draft.draft for run_draft in part]
            async with self._store.keep(run_draft.blob for run_draft in part if run_draft.blob is not None) as evidence:
                for draft in evidence:
                    draft.source = drafts[0].source
                answer = await self._store.append([*evidence, *drafts])
            result.appended += answer.count - answer.duplicates
            result.first = answer.first if result.first is None else min(answer.first, result.first)
            result.last = answer.last if result.last is None else max(answer.last, result.last)
        result.runs += len(runs)
        result.results += sum(len(run.report.results or ()) for run in runs)

    async def _new_runs(self, batch: Sequence[RunEvents]) -> list[RunEvents]:
        """Return the runs that the ledger does not have; count the others, or list them as conflicts."""
        streams = await self._streams([f"discovery/{run.run_id}" for run in batch])
        new: list[RunEvents] = []
        for run in batch:
            events = streams.get(f"discovery/{run.run_id}")
            if events is None:
                new.append(run)
                continue
            stored = await self._stored_run(run.run_id, events)
            report = build_report(stored, _texts(run.report) if stored.evidence() else {})
            if report == run.report:
                self._result.there += 1
            elif stored.imported and _continues(report, run.report):
                new.append(run)
            else:
                self._result.faults.append(_conflict(run))
        return new

    async def _stored_run(self, run_id: str, events: list[EventFacts]) -> DiscoveryRun:
        """Return the run of a stream, with the scores that its report may state."""
        attempts = [event.data.attempt for event in events if isinstance(event.data, DiscoveryAttempted)]
        our_scorers = [(scorer.id, scorer.version) for scorer in SCORERS.values()]
        scorers = [(REPORTED_SCORER_ID, None)] if DiscoveryRun.of(events, []).imported else our_scorers
        score_ids = [score_id_of(run_id, attempt, *scorer) for attempt in attempts for scorer in scorers]
        streams = await self._streams([f"probe/{score_id}" for score_id in score_ids])
        scores = [event for stream in streams.values() for event in stream]
        return DiscoveryRun.of(events, sorted(scores, key=lambda event: event.position))

    async def _streams(self, subjects: Sequence[str]) -> dict[str, list[EventFacts]]:
        streams: dict[str, list[EventFacts]] = {}
        for start in range(0, len(subjects), STREAMS_MAX):
            for event in VOCABULARY.facts(await self._store.streams(subjects[start : start + STREAMS_MAX])):
                streams.setdefault(event.subject, []).append(event)
        return streams


def _texts(report: RunReport) -> dict[str, str | None]:
    """Return the outputs of a report by digest: evidence with that digest is the same text, even after erasure."""
    outputs = (result.probe.raw_output or "" for result in report.results or ())
    return {digest_of(output.encode()): output for output in outputs}


def _continues(stored: RunReport, imported: RunReport) -> bool:
    """Whether the stored run is the beginning of the imported one."""
    stored_results, results = stored.results or (), imported.results or ()
    same = (stored.start_time, stored.config) == (imported.start_time, imported.config)
    return stored.end_time is None and same and stored_results == results[: len(stored_results)]


def _conflict(run: RunEvents) -> FileFault:
    return FileFault(
        file=run.file,
        run_id=run.run_id,
        field="run_id",
        detail=f"run_id: the ledger has another run {run.run_id}.",
        advice=f"See `tallystick run show {run.run_id} --json`; a run is never overwritten: give this another run_id.",
        conflict=True,
    )
