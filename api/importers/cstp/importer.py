"""Import a CSTP installation: read and check all of it first, then write it."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from api.importers.cstp.merge import merge_decisions
from api.importers.cstp.report import HALF, ZERO, CstpImportResult, ReportBuilder
from api.importers.cstp.source_files import find_files, read_decisions
from api.importers.cstp.to_events import LedgerState, SizedDraft, decision_events
from api.importers.pipeline import AppendTotals, Batch, append_batches, count_lines
from api.progress import OpenProgress, no_progress
from api.service.store import EventStore
from events.decision import DecisionAmended, DecisionRecorded
from events.envelope import Draft, Event
from events.limits import BATCH_BYTES_MAX
from events.registry import VOCABULARY
from projections.decisions.decision_state import fold_decision

BATCH_EVENTS = 1000
STREAMS_MAX = 100
"""Streams that are read in one request: the longest names of so many make a request line of 8 KB."""

_ENVELOPE_BYTES = 500


class CstpImport:
    """An import of one installation, or of one of its files."""

    def __init__(self, path: Path, *, progress: OpenProgress = no_progress) -> None:
        """Read everything at a path. Errors: InvalidQuery, if nothing of CSTP is there."""
        self._began = time.monotonic()
        self._progress = progress
        self._notes = ReportBuilder()
        groups = find_files(path, self._notes)
        self._decisions = merge_decisions(read_decisions(groups, self._notes, progress), self._notes)
        self._report = CstpImportResult(
            path=str(path), yaml_files=len(groups.decisions), sqlite_stores=len(groups.stores)
        )
        self._count()

    def _count(self) -> None:
        report, notes = self._report, self._notes
        for decision in self._decisions:
            confidence = decision.values.get("confidence")
            report.decisions += 1
            report.in_both += len(decision.stored) > 1
            report.reviews += bool(decision.reviews)
            report.with_confidence += confidence is not None
            report.without_agent += decision.agent is None
            report.without_time += decision.time is None
            report.without_reviewer += any(review.agent is None for review in decision.reviews)
            if confidence == 0.5:
                notes.doubtful[HALF] += 1
            elif confidence == 0 and decision.stored == {"sqlite"}:
                notes.doubtful[ZERO] += 1

    async def write(self, store: EventStore, *, dry_run: bool = False) -> CstpImportResult:
        """Append what the ledger does not have; return the report. Errors: those of `EventStore`."""
        report, notes = self._report, self._notes
        report.dry_run = dry_run
        events = await self._new_events(store)
        if not dry_run:
            totals = AppendTotals()
            with self._progress("importing", "decisions") as shown:
                await append_batches(_batches(events), store, totals, report.path, count_lines(shown, len(events)))
            report.appended, report.duplicates, report.first, report.last = msgspec.structs.astuple(totals)
        report.losses, report.contradictions = notes.losses, notes.contradictions
        report.no_place, report.doubtful = dict(sorted(notes.no_place.items())), dict(+notes.doubtful)
        report.passed_over = sorted(notes.passed_over)
        report.complete = not report.losses and not report.contradictions
        report.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return report

    async def _new_events(self, store: EventStore) -> list[list[SizedDraft]]:
        """Return the new events of every decision that has any."""
        groups, names = [], {"recorded": 0, "reviewed": 0, "amended": 0, "thought": 0}
        with self._progress("comparing", "decisions") as shown:
            for start in range(0, len(self._decisions), STREAMS_MAX):
                decisions = self._decisions[start : start + STREAMS_MAX]
                shown(start, len(self._decisions))
                held = _read_held(await store.streams([f"decision/{decision.id}" for decision in decisions]))
                for decision in decisions:
                    events = decision_events(decision, held.get(decision.id), self._notes)
                    if events:
                        groups.append(events)
                    self._report.unchanged += events == []
                    for one in events or ():
                        names[one.draft.name.split(".")[1]] += 1
        report = self._report
        report.recorded, report.reviewed, report.amended, report.thoughts = names.values()
        return groups


def _read_held(lines: bytes) -> dict[str, LedgerState]:
    """Return the decisions of some streams by id."""
    streams: dict[str, list[Event]] = {}
    for event in VOCABULARY.events(lines):
        streams.setdefault(event.subject, []).append(event)
    held = {}
    for events in streams.values():
        decision = fold_decision(events)
        assert decision is not None, "a stream has at least one event"
        stated = (event.recordedtime for event in events if isinstance(event.data, DecisionRecorded | DecisionAmended))
        held[decision.decision_id] = LedgerState(decision, datetime.fromisoformat(max(stated)))
    return held


def _batches(groups: list[list[SizedDraft]]) -> Iterator[Batch]:
    """Yield batches of whole decisions."""
    drafts: list[Draft] = []
    numbers: list[int] = []
    size_bytes = 0
    for number, events in enumerate(groups, 1):
        more_bytes = sum(one.size_bytes + _ENVELOPE_BYTES for one in events)
        if drafts and (len(drafts) + len(events) > BATCH_EVENTS or size_bytes + more_bytes > BATCH_BYTES_MAX):
            yield Batch(drafts, numbers, "decision")
            drafts, numbers, size_bytes = [], [], 0
        drafts.extend(one.draft for one in events)
        numbers.extend([number] * len(events))
        size_bytes += more_bytes
    if drafts:
        yield Batch(drafts, numbers, "decision")
