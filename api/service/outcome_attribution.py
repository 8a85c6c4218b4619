"""Attribute outcomes to decisions by their pull requests. The caller supplies evidence: age alone proves nothing."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from api.principal import Principal
from api.service.decisions import decision_states
from api.service.ledger import LedgerService
from events.decision import DecisionReviewed
from events.limits import BATCH_EVENTS_MAX
from events.payload import Text
from events.registry import VOCABULARY
from ledger.errors import StreamConflict
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.shared_params import Since
from projections.time_range import TimeRange
from tallystick.shapes.decisions import Outcome

STABILITY_DAYS = 14
STABILITY_DAYS_MAX = 36_500

_review = VOCABULARY.event_types["decision.reviewed.v1"].draft


class OutcomeEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about a pull request: its outcome, and the text that supports it."""

    outcome: Outcome = "success"
    text: Text


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is old enough to have an outcome, with the evidence for it; `updated` if it was reviewed now."""

    decision_id: str
    pr: int
    evidence: OutcomeEvidence | None
    updated: bool = False


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates among unreviewed decisions; `processed` is the number of these."""

    processed: int
    candidates: list[Candidate]


class AttributionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to consider: those of a project, made since a time, at least `stability_days` ago.

    `evidence` is by the number of the pull request.
    """

    project: str
    since: Since = None
    stability_days: Annotated[int, Meta(ge=0, le=STABILITY_DAYS_MAX)] = STABILITY_DAYS
    dry_run: bool = False
    evidence: Mapping[int, OutcomeEvidence] = {}


async def attribute_candidates(ledger: LedgerService, caller: Principal, query: AttributionQuery) -> Attribution:
    """Review in the caller's name each candidate whose pull request has evidence. With `dry_run`, only list candidates.

    Reviews are appended in batches of BATCH_EVENTS_MAX, each all or nothing. Errors: those of `LedgerService.record`.
    """
    projection, position = await ledger.at(DecisionIndex)
    pending = DecisionSelection(project=query.project, status="pending", range=TimeRange(query.since, None))
    processed = projection.total(pending)
    latest = ledger.clock() - timedelta(days=query.stability_days)
    old_enough = msgspec.structs.replace(pending, range=TimeRange(query.since, latest))
    includes_old = query.since is None or query.since <= latest
    pull_requests = projection.pull_requests(projection.find(old_enough)) if includes_old else {}
    rows = np.array(list(pull_requests), dtype=np.intp)
    subjects = await ledger.engine.names.subjects(projection.positions(rows))
    candidates = [
        Candidate(decision_id=subject.removeprefix("decision/"), pr=pr, evidence=query.evidence.get(pr))
        for subject, pr in zip(subjects, pull_requests.values(), strict=True)
    ]
    if not query.dry_run:
        supported = [candidate for candidate in candidates if candidate.evidence is not None]
        reviewed: set[str] = set()
        for start in range(0, len(supported), BATCH_EVENTS_MAX):
            batch = supported[start : start + BATCH_EVENTS_MAX]
            reviewed |= await _record(ledger, caller, batch, position)
        candidates = [
            msgspec.structs.replace(candidate, updated=candidate.decision_id in reviewed) for candidate in candidates
        ]
    return Attribution(processed=processed, candidates=candidates)


async def _record(ledger: LedgerService, caller: Principal, batch: Sequence[Candidate], position: int) -> set[str]:
    """Review decisions in one append; return their ids. Leave out decisions that were reviewed meanwhile."""
    unrecorded = {candidate.decision_id: candidate for candidate in batch}
    while unrecorded:
        states = await decision_states(ledger, [f"decision/{name}" for name in unrecorded], position)
        versions = {
            state.decision_id: state.streamversion
            for state in states
            if state.review is None and state.retracted is None and caller.may_review(state.agent)
        }
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
