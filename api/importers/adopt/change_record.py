"""Record the changes of repositories: what was observed of each, and a scan that says through when.

Only what differs from what the ledger has is recorded, so that reading a repository again adds what is new. What a scan
does not show did not happen until then.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from msgspec import structs

from api.importers.adopt.git_changes import FoundRepositories, ReadRepository, RecordedChanges, change_facts
from api.importers.adopt.observations import Facts, SubjectObserved, observation, read_observed, scan
from api.importers.batch_append import FileFault, append_all
from api.progress import OpenProgress
from api.service.store import EventStore
from events.envelope import Draft
from events.limits import ITEMS_MAX
from instruments.git.history import LandedChange
from projections.changes.change_index import (
    FIXED,
    GIT,
    GONE,
    LANDED,
    LINES,
    REVERTED,
    WITHDRAWN,
    ChangeIndex,
    RecordedChange,
    RepositoryState,
    day_name,
)
from projections.changes.outcomes import DAY_S, SURVIVAL_DAYS, ChangeFacts

READER: Final = 2
"""The version of what reads changes: increase it if the same history gives other observations."""

_NEW: Final = RecordedChange(landed_s=0)


async def record_changes(found: FoundRepositories, store: EventStore, progress: OpenProgress) -> None:
    """Record what is new of repositories, and note it in their preview. Errors: those of `EventStore`."""
    result, index = RecordedChanges(), await read_observed(store) if found.repositories else ChangeIndex()
    with progress("recording", "repositories") as report:
        for done, read in enumerate(found.repositories, 1):
            if read.history.is_shallow:
                detail = f"{read.path} is a shallow clone: its first commit, by which it is known, is missing."
                advice = "Nothing of it was recorded. Get the commit: git fetch --unshallow."
                found.preview.faults.append(FileFault(file=str(read.path), detail=detail, advice=advice))
            elif drafts := list(_drafts(read, index, result)):
                await append_all(drafts, store)
                result.repositories += 1
            else:
                result.unchanged += 1
            report(done, len(found.repositories))
    found.preview.recorded = result


def repository_id(read: ReadRepository) -> str:
    """Return the id of a repository's main line: a digest of its first commit and of the branch's name."""
    return sha256(f"{read.history.root}\n{read.branch}".encode()).hexdigest()[:16]


def _drafts(read: ReadRepository, index: ChangeIndex, result: RecordedChanges) -> Iterator[Draft]:
    """Yield the events that the ledger lacks, and count them: observations, then the scan."""
    history, repository = read.history, repository_id(read)
    state = index.repository(repository)
    if any(change.sha == state.head for change in history.changes):  # what is known of it already stays known
        history = structs.replace(history, seen_s=max(history.seen_s, state.through_s))
    observations = list(_observations(history.changes, change_facts(history), state))
    for observed in observations:
        result.changes += observed.event_type == LANDED
        result.gone += observed.event_type == GONE
        result.outcomes += observed.event_type in {REVERTED, FIXED, LINES}
        yield observation(GIT, observed._replace(subject=f"{GIT}:{repository}:{observed.subject}"), state.scans)
    here = {change.sha for change in history.changes}
    gone = sum(sha not in here for sha in state.changes)
    if observations or (state.head, state.through_s) != (history.head, history.watermark_s):
        yield scan(
            GIT,
            repository,
            history.watermark_s,
            history.head,
            reader=READER,
            subjects=len(history.changes),
            gone=gone,
            scans=state.scans,
        )


def _observations(
    changes: Sequence[LandedChange], facts: Sequence[ChangeFacts], state: RepositoryState
) -> Iterator[SubjectObserved]:
    """Yield what differs from what was observed before, change by change."""
    by_index = [change.sha for change in changes]
    for change, found in zip(changes, facts, strict=True):
        known = state.changes.get(change.sha, _NEW)
        yield from _of_change(change, found, known)
        if _has_lost(known, found):
            yield SubjectObserved(WITHDRAWN, change.sha, changes[-1].landed_s, {})
            known = _NEW
        yield from _outcomes(change, found, known, by_index)
    here = set(by_index)
    for sha, lost in state.changes.items():
        if sha not in here and not lost.is_gone:
            yield SubjectObserved(GONE, sha, changes[-1].landed_s, {})


def _has_lost(known: RecordedChange, found: ChangeFacts) -> bool:
    """Return whether an outcome that was observed is there no more: history was rewritten, or read in another way."""
    reverted = known.reverted_s is not None and found.reverted_s is None
    return reverted or (known.fixed_by is not None and found.fix is None) or len(known.alive) > len(found.alive)


def _outcomes(
    change: LandedChange, found: ChangeFacts, known: RecordedChange, by_index: Sequence[str]
) -> Iterator[SubjectObserved]:
    """Yield the outcomes of a change that differ from those that are known."""
    if found.reverted_s is not None and known.reverted_s != found.reverted_s:
        first = change.reverted[0]
        facts: Facts = {"by": by_index[first.by], "form": str(first.form)}
        yield SubjectObserved(REVERTED, change.sha, found.reverted_s, facts)
    if found.fix is not None and (known.fixed_s, known.fixed_by) != (found.fix.at_s, by_index[found.fix.by]):
        yield SubjectObserved(FIXED, change.sha, found.fix.at_s, {"by": by_index[found.fix.by]})
    if found.alive and known.alive != found.alive:
        days = SURVIVAL_DAYS[: len(found.alive)]
        alive: Facts = {day_name(day): lines for day, lines in zip(days, found.alive, strict=True)}
        yield SubjectObserved(LINES, change.sha, found.landed_s + days[-1] * DAY_S, alive)


def _of_change(change: LandedChange, found: ChangeFacts, known: RecordedChange) -> Iterator[SubjectObserved]:
    """Yield that a change landed, if it is new, has other marks, or is back after it was gone."""
    brought, decisions = change.brought[-ITEMS_MAX:], change.decisions[:ITEMS_MAX]
    stated = found.landed_s, found.agents, found.marks, found.models, found.born, brought, decisions
    before = known.landed_s, known.agents, known.marks, known.models, known.born, known.commits, known.decisions
    if not known.is_gone and stated == before:
        return
    names: Mapping[str, tuple[str, ...]] = {
        "agents": found.agents,
        "marks": found.marks,
        "models": found.models,
        "commits": brought,
        "decisions": decisions,
    }
    facts: Facts = {name: values for name, values in names.items() if values}
    facts["born"] = found.born
    yield SubjectObserved(LANDED, change.sha, found.landed_s, facts)
