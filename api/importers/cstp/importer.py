"""Import a CSTP installation: read and check all of it first, then write it."""

import time
from datetime import datetime
from pathlib import Path

import msgspec

from api.importers.batch_append import (
    STREAMS_MAX,
    AppendTotals,
    append_batches,
    count_lines,
    group_batches,
)
from api.importers.cstp.link_events import ledger_links, link_events, merge_links
from api.importers.cstp.merge import merge_decisions
from api.importers.cstp.report import HALF_CONFIDENCE, ZERO_CONFIDENCE, CstpImportResult
from api.importers.cstp.source_decision import SourceDecision
from api.importers.cstp.source_files import find_files, read_decisions, read_links
from api.importers.cstp.to_events import LedgerState, decision_events
from api.progress import OpenProgress, no_progress
from api.service.store import EventStore
from events.decision import DecisionAmended, DecisionRecorded
from events.envelope import Draft, Event
from events.link import DecisionLinked
from events.registry import VOCABULARY
from projections.decisions.decision_state import fold_decision


class CstpImport:
    """An import of one installation, or of one of its files."""

    def __init__(self, path: Path, *, progress: OpenProgress = no_progress) -> None:
        """Read everything at a path. Errors: InvalidQuery, if it has no files of CSTP."""
        self._began = time.monotonic()
        self._progress = progress
        self._report = CstpImportResult(path=str(path))
        files = find_files(path, self._report)
        self._report.yaml_files, self._report.sqlite_stores = len(files.decisions), len(files.stores)
        self._decisions = merge_decisions(read_decisions(files, self._report, progress), self._report)
        for decision in self._decisions:
            _count(decision, self._report)
        self._links = merge_links(self._decisions, read_links(files, self._report), self._report)
        self._report.graph_files, self._report.links = len(files.graphs), len(self._links)

    async def write(self, store: EventStore, *, dry_run: bool = False) -> CstpImportResult:
        """Append what the ledger does not have; return the report. Errors: those of `EventStore`."""
        report = self._report
        report.dry_run = dry_run
        groups = [*await self._new_events(store), *await self._new_links(store)]
        if not dry_run:
            totals = AppendTotals()
            with self._progress("importing", "decisions") as show_progress:
                batches = group_batches(enumerate(groups, 1), "decision")
                await append_batches(batches, store, totals, report.path, count_lines(show_progress, len(groups)))
            report.appended, report.duplicates, report.first, report.last = msgspec.structs.astuple(totals)
        report.no_place = dict(sorted(report.no_place.items()))
        report.passed_over.sort()
        report.complete = not report.losses and not report.contradictions
        report.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return report

    async def _new_events(self, store: EventStore) -> list[list[Draft]]:
        """Return the new events of every decision that has any."""
        groups, counts = [], {"recorded": 0, "reviewed": 0, "amended": 0, "thought": 0, "preserved": 0}
        with self._progress("comparing", "decisions") as show_progress:
            for start in range(0, len(self._decisions), STREAMS_MAX):
                decisions = self._decisions[start : start + STREAMS_MAX]
                show_progress(start, len(self._decisions))
                states = _ledger_states(await store.streams([f"decision/{decision.id}" for decision in decisions]))
                for decision in decisions:
                    events = decision_events(decision, states.get(decision.id), self._report)
                    if events:
                        groups.append(events)
                    self._report.unchanged += events == []
                    for draft in events or ():
                        counts[draft.name.split(".")[1]] += 1
        report = self._report
        report.recorded, report.reviewed, report.amended, report.thoughts, report.preserved = counts.values()
        return groups

    async def _new_links(self, store: EventStore) -> list[list[Draft]]:
        """Return the event of every new link."""
        if not self._links:
            return []
        known = await ledger_links(store.pages(VOCABULARY.names_of(DecisionLinked)))
        agents = {decision.id: decision.agent for decision in self._decisions}
        drafts = link_events(self._links, known, agents, self._report)
        self._report.linked = len(drafts)
        return [[draft] for draft in drafts]


def _count(decision: SourceDecision, report: CstpImportResult) -> None:
    confidence = decision.values.get("confidence")
    report.decisions += 1
    report.in_both += len(decision.stored) > 1
    report.reviews += bool(decision.reviews)
    report.with_confidence += confidence is not None
    report.without_agent += decision.agent is None
    report.without_time += decision.time is None
    report.without_reviewer += any(review.agent is None for review in decision.reviews)
    if confidence == 0.5:
        report.doubtful[HALF_CONFIDENCE] += 1
    elif confidence == 0 and decision.stored == {"sqlite"}:
        report.doubtful[ZERO_CONFIDENCE] += 1


def _ledger_states(lines: bytes) -> dict[str, LedgerState]:
    """Return the decisions of some streams by id."""
    streams: dict[str, list[Event]] = {}
    for event in VOCABULARY.events(lines):
        streams.setdefault(event.subject, []).append(event)
    states = {}
    for events in streams.values():
        decision = fold_decision(events)
        assert decision is not None, "a stream has at least one event"
        times = (event.recordedtime for event in events if isinstance(event.data, DecisionRecorded | DecisionAmended))
        states[decision.decision_id] = LedgerState(decision, datetime.fromisoformat(max(times)))
    return states
