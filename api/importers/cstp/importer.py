"""A takeover of a CSTP installation: all of it is read and checked when it is made, and written by `write`."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from api.importers.cstp.merge import join
from api.importers.cstp.report import HALF, ZERO, CstpImportResult, ReportBuilder
from api.importers.cstp.source_files import accounts_of, look
from api.importers.cstp.to_events import DecisionEvents, LedgerState, tell
from api.importers.pipeline import AppendTotals, Batch, counting, pump
from api.progress import OpenProgress, no_progress
from api.service.store import EventStore
from events.decision import DecisionAmended, DecisionRecorded
from events.envelope import Draft, Event
from events.limits import BATCH_BYTES_MAX
from events.registry import VOCABULARY
from projections.decisions.decision_state import fold_decision

BATCH_EVENTS = 1000
ASKED_MAX = 100
"""Streams that are asked for in one request: the longest names of so many make a line of 8 KB."""

_ENVELOPE_BYTES = 500


class CstpImport:
    """A takeover of one installation, or of one file of it."""

    def __init__(self, path: Path, *, progress: OpenProgress = no_progress) -> None:
        """Read everything at a path. Errors: InvalidQuery, where nothing of CSTP's is there."""
        self._began = time.monotonic()
        self._progress = progress
        self._notes = ReportBuilder()
        found = look(path, self._notes)
        self._accounts = join(accounts_of(found, self._notes, progress), self._notes)
        self._report = CstpImportResult(
            path=str(path), yaml_files=len(found.decisions), sqlite_stores=len(found.stores)
        )
        self._count()

    def _count(self) -> None:
        report, notes = self._report, self._notes
        for account in self._accounts:
            confidence = account.values.get("confidence")
            report.decisions += 1
            report.in_both += len(account.stored) > 1
            report.reviews += bool(account.reviews)
            report.with_confidence += confidence is not None
            report.without_agent += account.agent is None
            report.without_time += account.time is None
            report.without_reviewer += any(review.agent is None for review in account.reviews)
            if confidence == 0.5:
                notes.doubtful[HALF] += 1
            elif confidence == 0 and account.stored == {"sqlite"}:
                notes.doubtful[ZERO] += 1

    async def write(self, store: EventStore, *, dry_run: bool = False) -> CstpImportResult:
        """Append what the ledger does not have; return the whole account. Errors: those of `EventStore`."""
        report, notes = self._report, self._notes
        report.dry_run = dry_run
        told = await self._tell(store)
        if not dry_run:
            tally = AppendTotals()
            with self._progress("taking over", "decisions") as shown:
                await pump(_batches(told), store, tally, report.path, counting(shown, len(told)))
            report.appended, report.duplicates, report.first, report.last = msgspec.structs.astuple(tally)
        report.losses, report.contradictions = notes.losses, notes.contradictions
        report.no_place, report.doubtful = dict(sorted(notes.no_place.items())), dict(+notes.doubtful)
        report.passed_over = sorted(notes.passed_over)
        report.complete = not report.losses and not report.contradictions
        report.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return report

    async def _tell(self, store: EventStore) -> list[list[DecisionEvents]]:
        """The events of every decision that has any."""
        found, names = [], {"recorded": 0, "reviewed": 0, "amended": 0, "thought": 0}
        with self._progress("comparing", "decisions") as shown:
            for start in range(0, len(self._accounts), ASKED_MAX):
                accounts = self._accounts[start : start + ASKED_MAX]
                shown(start, len(self._accounts))
                held = _held(await store.streams([f"decision/{account.id}" for account in accounts]))
                for account in accounts:
                    told = tell(account, held.get(account.id), self._notes)
                    if told:
                        found.append(told)
                    self._report.unchanged += told == []
                    for one in told or ():
                        names[one.draft.name.split(".")[1]] += 1
        report = self._report
        report.recorded, report.reviewed, report.amended, report.thoughts = names.values()
        return found


def _held(lines: bytes) -> dict[str, LedgerState]:
    """The decisions of some streams by their ids."""
    streams: dict[str, list[Event]] = {}
    for event in VOCABULARY.events(lines):
        streams.setdefault(event.subject, []).append(event)
    held = {}
    for events in streams.values():
        standing = fold_decision(events)
        assert standing is not None, "a stream holds an event"
        stated = (event.recordedtime for event in events if isinstance(event.data, DecisionRecorded | DecisionAmended))
        held[standing.decision_id] = LedgerState(standing, datetime.fromisoformat(max(stated)))
    return held


def _batches(told: list[list[DecisionEvents]]) -> Iterator[Batch]:
    """Batches of whole decisions."""
    drafts: list[Draft] = []
    numbers: list[int] = []
    size_bytes = 0
    for number, events in enumerate(told, 1):
        more_bytes = sum(one.size_bytes + _ENVELOPE_BYTES for one in events)
        if drafts and (len(drafts) + len(events) > BATCH_EVENTS or size_bytes + more_bytes > BATCH_BYTES_MAX):
            yield Batch(drafts, numbers, "decision")
            drafts, numbers, size_bytes = [], [], 0
        drafts.extend(one.draft for one in events)
        numbers.extend([number] * len(events))
        size_bytes += more_bytes
    if drafts:
        yield Batch(drafts, numbers, "decision")
