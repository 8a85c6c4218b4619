"""Outcomes of decisions by pull request: the caller supplies evidence, since age alone proves nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
import numpy as np

from api.auth import Principal
from api.service.decisions import decision_states
from api.service.ledger import LedgerService
from events.decision import DecisionReviewed, Outcome
from events.limits import BATCH_EVENTS_MAX
from events.registry import VOCABULARY
from ledger.errors import StreamConflict
from projections.decisions.decision_index import DecisionIndex, DecisionSelection
from projections.time_range import TimeRange

_review = VOCABULARY.kinds["decision.reviewed.v1"].draft


class OutcomeEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about a pull request: how it turned out, and how the caller knows."""

    outcome: Outcome = "success"
    text: str


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A decision old enough to have an outcome, with the evidence for it."""

    decision_id: str
    pr: int
    evidence: OutcomeEvidence | None
    updated: bool = False


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates among `processed` unreviewed decisions."""

    processed: int
    candidates: list[Candidate]


class AttributionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to consider: of a project, made since a time, at least so old."""

    project: str
    since: datetime | None
    age: timedelta
    evidence: Mapping[int, OutcomeEvidence]
    dry_run: bool


async def attribute(ledger: LedgerService, caller: Principal, query: AttributionQuery) -> Attribution:
    """Review, in the caller's name, each candidate whose pull request has evidence; not with `dry_run`.

    Errors: those of `LedgerService.record`; reviews go in batches of BATCH_EVENTS_MAX, each all or nothing.
    """
    projection, position = await ledger.engine.at(DecisionIndex)
    pending = DecisionSelection(project=query.project, status="pending", range=TimeRange(query.since, None))
    processed = len(projection.find(pending))
    latest = ledger.clock() - query.age
    old = msgspec.structs.replace(pending, range=TimeRange(query.since, latest))
    early = query.since is None or query.since <= latest
    prs = projection.pull_requests(projection.find(old)) if early else {}
    subjects = projection.subjects(np.array(list(prs), dtype=np.intp))
    candidates = [
        Candidate(decision_id=subject.removeprefix("decision/"), pr=pr, evidence=query.evidence.get(pr))
        for subject, pr in zip(subjects, prs.values(), strict=True)
    ]
    if not query.dry_run:
        vouched = [one for one in candidates if one.evidence is not None]
        done: set[str] = set()
        for batch in _batches(vouched):
            done |= await _record(ledger, caller, batch, position)
        candidates = [
            msgspec.structs.replace(one, updated=True) if one.decision_id in done else one for one in candidates
        ]
    return Attribution(processed=processed, candidates=candidates)


async def _record(ledger: LedgerService, caller: Principal, batch: Sequence[Candidate], position: int) -> set[str]:
    """Review decisions in one append, and return which; decisions reviewed meanwhile are left as they are."""
    unrecorded = {one.decision_id: one for one in batch}
    while unrecorded:
        states = await decision_states(ledger, [f"decision/{name}" for name in unrecorded], position)
        versions = {one.decision_id: one.streamversion for one in states if one.review is None}
        drafts = [
            _review(data=_review_payload(unrecorded[name]), expectedversion=version)
            for name, version in versions.items()
        ]
        unrecorded = {name: unrecorded[name] for name in versions}
        if not drafts:
            break
        try:
            await ledger.record(drafts, caller)
        except StreamConflict:
            position = (await ledger.reader.head()).position
        else:
            return set(unrecorded)
    return set()


def _review_payload(candidate: Candidate) -> DecisionReviewed:
    assert candidate.evidence is not None, "only decisions with evidence are reviewed"
    evidence = candidate.evidence
    return DecisionReviewed(decision_id=candidate.decision_id, outcome=evidence.outcome, notes=evidence.text)


def _batches(candidates: Sequence[Candidate]) -> list[Sequence[Candidate]]:
    return [candidates[start : start + BATCH_EVENTS_MAX] for start in range(0, len(candidates), BATCH_EVENTS_MAX)]
