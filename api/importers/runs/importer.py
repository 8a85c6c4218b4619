"""Taking in run reports: each run once, whoever brings it, and many of them in one batch.

The ledger is asked first which of the runs it holds: one that says the same is there already, one that says something
else is a contradiction, and nothing of it is written. A run that is larger than a batch and was broken off goes on.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from api.auth import is_valid_agent
from api.importers.runs import reader
from api.importers.runs.score_check import UnsupportedScore, unborne
from api.importers.runs.to_events import RunEvents, StatedValue, tell
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
"""Streams that the ledger is asked for at once."""


class FileFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that was not taken in: why, and what to do. `conflict`: its run is there, and says something else."""

    file: str
    run_id: str | None = None
    field: str | None = None
    detail: str
    advice: str
    conflict: bool = False


class RunImportResult(msgspec.Struct, kw_only=True):
    """What became of some files. `runs` were written now, `there` were there already."""

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
        """Whether any of the files held a run report."""
        return bool(self.runs or self.there) or any(fault.conflict for fault in self.faults)


def readable(paths: Iterable[str], agent: str | None) -> Iterator[RunEvents | FileFault]:
    """Each file's run as events, or what is wrong with it. Errors: InvalidQuery, for what is no agent's name."""
    _check_agent(agent)
    for path in paths:
        try:
            yield tell(path, reader.decode(reader.read(path)), agent)
        except TallystickError as error:
            yield fault_of(error, path)


def read_run(path: str, agent: str | None) -> RunEvents:
    """The run of a file, or of standard input as `-`, as events. Errors: InvalidQuery, InvalidEvent."""
    _check_agent(agent)
    return tell(path, reader.decode(reader.read(path)), agent)


def _check_agent(agent: str | None) -> None:
    if agent is not None and not is_valid_agent(agent):
        raise InvalidQuery("agent", f"{agent!r} cannot be an agent's name.", "Use 1..64 letters, digits and ._:@/+-.")


def fault_of(error: TallystickError, path: str, run_id: str | None = None) -> FileFault:
    """An error as what is wrong with a file."""
    detail = error.detail.replace("; nothing was written", "")
    advice = error.advice.replace(" Nothing was written.", "")
    return FileFault(file=path, run_id=run_id, field=getattr(error, "field", None), detail=detail, advice=advice)


async def take(
    found: Iterator[RunEvents | FileFault],
    store: EventStore,
    taken: RunImportResult,
    report: Report,
    total: int,
    *,
    rescore: bool = True,
) -> None:
    """Append every run that is new, counting into `taken`; the next batch is read while one is written.

    Where asked, outputs are scored again, and scores that are not borne out noted, of those that were there, too.
    Errors: those of `EventStore.append` that no file is to blame for; what was written before stays.
    """
    began = time.monotonic()
    batches = _batches(found, taken, rescore=rescore)
    writing: asyncio.Task[None] | None = None
    try:
        while True:
            batch = await asyncio.to_thread(next, batches, None)
            if writing is not None:
                await writing
                report(taken.runs + taken.there + len(taken.faults), total)
            if batch is None:
                return
            writing = asyncio.create_task(_Writer(store, taken).write(batch))
    except TallystickError as error:
        error.advice = f"{error.advice} {taken.runs:,} runs were written before. Running it again is safe.".lstrip()
        raise
    finally:
        left_out = {(fault.file, fault.run_id) for fault in taken.faults}
        taken.unborne = [one for one in taken.unborne if (one.file, one.run_id) not in left_out]
        taken.elapsed_ms = round((time.monotonic() - began) * 1000)


def _batches(
    found: Iterator[RunEvents | FileFault], taken: RunImportResult, *, rescore: bool
) -> Iterator[list[RunEvents]]:
    """Runs that are appended together; each of them once."""
    batch: dict[str, RunEvents] = {}
    events = size_bytes = 0
    for one in found:
        taken.files += 1
        if isinstance(one, FileFault):
            taken.faults.append(one)
            continue
        if rescore:
            taken.unborne.extend(unborne(one))
        more, larger = sum(said.events for said in one.sayings), sum(said.size_bytes for said in one.sayings)
        events, size_bytes = events + more, size_bytes + larger
        if batch and (events > BATCH_EVENTS_MAX or size_bytes > BATCH_BYTES_MAX or one.run_id in batch):
            yield list(batch.values())
            batch, events, size_bytes = {}, more, larger
        batch[one.run_id] = one
    if batch:
        yield list(batch.values())


def _parts(sayings: Iterable[StatedValue]) -> Iterator[list[StatedValue]]:
    """Events that fit into one batch."""
    part: list[StatedValue] = []
    events = size_bytes = 0
    for said in sayings:
        events, size_bytes = events + said.events, size_bytes + said.size_bytes
        if part and (events > BATCH_EVENTS_MAX or size_bytes > BATCH_BYTES_MAX):
            yield part
            part, events, size_bytes = [], said.events, said.size_bytes
        part.append(said)
    yield part


class SaveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report: `saved` now, or there already."""

    run_id: str
    saved: bool
    results: int
    appended: int
    first: int | None
    last: int | None
    unborne: list[UnsupportedScore]


async def save(told: RunEvents, store: EventStore) -> SaveResult:
    """Append one run. Errors: LifecycleViolation, where its run says something else; those of `EventStore.append`."""
    taken = RunImportResult()
    await take(iter([told]), store, taken, lambda done, total: None, 1)
    for fault in taken.faults:
        detail = f"{fault.detail}; nothing was written."
        raise LifecycleViolation(detail, fault.advice, subject=f"discovery/{told.run_id}", index=0)
    results = len(told.report.results or ())
    return SaveResult(
        run_id=told.run_id, saved=taken.runs == 1, results=results, appended=taken.appended, first=taken.first,
        last=taken.last, unborne=taken.unborne,
    )  # fmt: skip


class _Writer:
    """Writes batches of runs."""

    def __init__(self, store: EventStore, taken: RunImportResult) -> None:
        self._sink = store
        self._taken = taken

    async def write(self, batch: Sequence[RunEvents]) -> None:
        """Append the runs that are new, at once where that can be, else one by one."""
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
            if await self._fresh(fresh):  # else another wrote it in the meantime
                self._taken.faults.append(fault_of(error, one.file, one.run_id))

    async def _append(self, fresh: Sequence[RunEvents]) -> None:
        taken = self._taken
        for part in _parts(said for one in fresh for said in one.sayings):
            drafts = [said.draft for said in part]
            async with self._sink.keep(said.blob for said in part if said.blob is not None) as evidence:
                for draft in evidence:
                    draft.source = drafts[0].source
                answer = await self._sink.append([*evidence, *drafts])
            taken.appended += answer.count - answer.duplicates
            taken.first = answer.first if taken.first is None else min(answer.first, taken.first)
            taken.last = answer.last if taken.last is None else max(answer.last, taken.last)
        taken.runs += len(fresh)
        taken.results += sum(len(one.report.results or ()) for one in fresh)

    async def _fresh(self, batch: Sequence[RunEvents]) -> list[RunEvents]:
        """Those of some runs that are not there; of the others it is noted what they are."""
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
                self._taken.there += 1
            elif run.imported and _goes_on(report, one.report):
                fresh.append(one)
            else:
                self._taken.faults.append(_contradiction(one))
        return fresh

    async def _run(self, run_id: str, events: list[EventFacts]) -> DiscoveryRun:
        """The run of a stream, with the scores that its report may state."""
        attempts = [event.data.attempt for event in events if isinstance(event.data, DiscoveryAttempted)]
        ours = [(scorer.id, scorer.version) for scorer in SCORERS.values()]
        scorers = [(REPORTED_SCORER_ID, None)] if DiscoveryRun.of(events, []).imported else ours
        names = [score_id_of(run_id, attempt, *scorer) for attempt in attempts for scorer in scorers]
        scores = await self._streams([f"probe/{name}" for name in names])
        told = [event for score in scores.values() for event in score]
        return DiscoveryRun.of(events, sorted(told, key=lambda event: event.position))

    async def _stored(self, run_ids: Sequence[str]) -> dict[str, list[EventFacts]]:
        return await self._streams([f"discovery/{run_id}" for run_id in run_ids])

    async def _streams(self, subjects: Sequence[str]) -> dict[str, list[EventFacts]]:
        found: dict[str, list[EventFacts]] = {}
        for start in range(0, len(subjects), ASKED):
            for event in VOCABULARY.facts(await self._sink.streams(subjects[start : start + ASKED])):
                found.setdefault(event.subject, []).append(event)
        return found


def _texts(report: RunReport) -> dict[str, str | None]:
    """The outputs of a report by their digests: what is kept under a digest says the same, also when it was erased."""
    outputs = (result.probe.raw_output or "" for result in report.results or ())
    return {digest_of(output.encode()): output for output in outputs}


def _goes_on(stored: RunReport, wanted: RunReport) -> bool:
    """Whether what is stored is the beginning of what is wanted."""
    done, results = stored.results or (), wanted.results or ()
    same = (stored.start_time, stored.config) == (wanted.start_time, wanted.config)
    return stored.end_time is None and same and done == results[: len(done)]


def _contradiction(one: RunEvents) -> FileFault:
    return FileFault(
        file=one.file,
        run_id=one.run_id,
        field="run_id",
        detail=f"run_id: {one.run_id} is in the ledger, and says something else.",
        advice=f"See `tallystick run show {one.run_id} --json`; a run overwrites no other: give this another run_id.",
        conflict=True,
    )
