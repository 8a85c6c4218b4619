"""Use cases of tests of decisions: list them with what their rules find, and review decisions by them.

A decision is reviewed when its window is over and covered, also where it failed before: when an outcome enters a figure
does not depend on the outcome. A review by somebody stands, whatever a rule finds.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta

from api.service.decisions import decision_states
from api.service.ledger import LedgerService, View
from api.service.operation import operation
from api.service.unknown_names import find_unknown_names
from events.decision import DecisionReviewed, rule_source
from events.envelope import Draft, agent_of, timestamp
from events.limits import BATCH_EVENTS_MAX
from events.registry import VOCABULARY
from ledger.errors import IdentityConflict, StreamConflict
from projections.changes.change_index import ChangeIndex
from projections.decisions.decision_state import DecisionState
from projections.resolve.covered import may_be_final
from projections.resolve.evidence import Evidence
from projections.resolve.rules import is_final
from projections.resolve.stated_tests import DecisionWithTest, StatedTests, find_verdict
from projections.resolve.statement import Statement, write_statement
from projections.resolve.states import RuleFinding
from projections.shared_params import Agent, Limit, Offset, stream_id
from tallystick.shapes.tests import DecisionTest, DecisionTestsAnswer, ResolvedTests, TestState

PAUSE_AFTER: Final = 200
"""Tests that are looked at without a pause: 4 ms."""

EVIDENCE_MAX: Final = 16

LATE_S: Final = 3_600
"""A test that is stated so long after its window began is stated after evidence, recorded or not."""

_ID_CHARS: Final = 32
_encode = msgspec.json.Encoder(order="sorted").encode


class DecisionTestsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which tests are meant."""

    state: Annotated[TestState | None, Meta(description="Tests in one state.")] = None
    rule: Annotated[str | None, Meta(description="Tests by one rule, such as `git.kept`.")] = None
    agent: Agent = None
    decision_id: Annotated[str | None, stream_id("The test of one decision.")] = None
    limit: Limit = 100
    offset: Offset = 0


class _Found(NamedTuple):
    """A decision with a test, and what its rule finds."""

    tested: DecisionWithTest
    verdict: RuleFinding


@operation("/tests", "tests", heavy=True)
async def get_tests(view: View, params: DecisionTestsQuery) -> DecisionTestsAnswer:
    """List the tests of decisions with what their rules find by now, the next due first.

    Those with an outcome are last.
    """
    found, position = await _find(view)
    meant = [
        one
        for one in found
        if params.rule in (None, one.tested.test.rule)
        and params.agent in (None, one.tested.test.agent)
        and params.decision_id in (None, one.tested.decision_id)
    ]
    rows = [one for one in meant if params.state in (None, one.verdict.state)]
    rows.sort(key=_due_first)
    shown = rows[params.offset : params.offset + params.limit]
    after = params.offset + len(shown)
    known = {
        "rule": {one.tested.test.rule for one in found},
        "agent": {one.tested.test.agent for one in found},
        "decision_id": {one.tested.decision_id for one in found},
    }
    asked = {"rule": params.rule, "agent": params.agent, "decision_id": params.decision_id}
    return DecisionTestsAnswer(
        tests=[_describe(one) for one in shown],
        states=_count(meant),
        total=len(rows),
        next=after if after < len(rows) else None,
        as_of=await view.dated(position),
        unknown_names=UNSET if meant else find_unknown_names(asked, known),
    )


async def resolve_tests(
    ledger: LedgerService, *, dry_run: bool = False, closed: set[str] | None = None
) -> ResolvedTests:
    """Review every decision whose test has an outcome by now, and that nobody has reviewed; or only list them.

    Twice is once: the id of a review follows from what decides. `closed` are decisions that no rule will review, as
    earlier calls found, and gets more; with it, states are only those of tests that may have an outcome.
    Errors: those of `Log.append`.
    """
    found, position = await _find(ledger, only_open=True, closed=closed)
    closed = set() if closed is None else closed
    decided = [one for one in found if is_final(one.verdict)]
    decided.sort(key=_due_first)
    resolved, retrofitted = list[DecisionTest](), 0
    for start in range(0, len(decided), BATCH_EVENTS_MAX):
        batch = decided[start : start + BATCH_EVENTS_MAX]
        reviewed, late = await _review(ledger, batch, position, dry_run=dry_run)
        closed |= {one.tested.decision_id for one in batch} - {one.tested.decision_id for one in reviewed}
        resolved += [_describe(one, reviewed=True) for one in reviewed]
        retrofitted += late
    return ResolvedTests(resolved=resolved, states=_count(found), retrofitted=retrofitted)


async def find_test(view: View, decision_id: str) -> DecisionTest | None:
    """Return the test of a decision with what its rule finds by now; None: it has none, or is retracted."""
    projection, evidence, _ = await _read(view)
    tested = projection.find(decision_id)
    return None if tested is None else _describe(_Found(tested, find_verdict(tested.test, evidence)))


async def _read(view: View) -> tuple[StatedTests, Evidence, int]:
    """Return every test, what rules look at, and the position as of which."""
    projection, position = await view.at(StatedTests, also=(ChangeIndex,))
    changes = await view.beside(ChangeIndex)
    return projection, projection.evidence(changes, int(view.clock().timestamp())), position


async def _find(
    view: View, *, only_open: bool = False, closed: Container[str] | None = None
) -> tuple[list[_Found], int]:
    """Return what every test finds by now, or only of decisions without a review; and the position as of which.

    Given those that no rule will review, only tests that may have an outcome.
    """
    projection, evidence, position = await _read(view)
    tested = projection.tested()
    tests = iter([one for one in tested if one.reviewed_by is None] if only_open else tested)
    found = list[_Found]()
    while some := list(islice(tests, PAUSE_AFTER)):
        found += [
            _Found(one, find_verdict(one.test, evidence))
            for one in some
            if closed is None or (one.decision_id not in closed and may_be_final(one.test, evidence))
        ]
        await asyncio.sleep(0)
    return found, position


def _due_first(found: _Found) -> tuple[bool, bool, int, int]:
    due_s = found.verdict.due_s
    return is_final(found.verdict), due_s is None, due_s or 0, found.tested.test.position


def _count(found: Iterable[_Found]) -> dict[str, int]:
    return dict(Counter(one.verdict.state for one in found).most_common())


def _is_retrofitted(found: _Found) -> bool:
    """Return whether there was evidence before the test was stated: in the log, or since its window had begun."""
    test, verdict = found.tested.test, found.verdict
    if verdict.start_s is not None and verdict.start_s + LATE_S < test.stated_s:
        return True
    return verdict.first_position is not None and verdict.first_position < test.position


async def _review(
    ledger: LedgerService, batch: Sequence[_Found], position: int, *, dry_run: bool
) -> tuple[list[_Found], int]:
    """Review decisions in one append; return them, and how many have a confidence that came after the evidence."""
    while True:
        subjects = [f"decision/{one.tested.decision_id}" for one in batch]
        states = {state.decision_id: state for state in await decision_states(ledger, subjects, position)}
        due = [one for one in batch if _is_open(states.get(one.tested.decision_id))]
        chosen = [one for one in due if not _is_late(one, states[one.tested.decision_id])]
        drafts = [_draft(one, states[one.tested.decision_id].streamversion) for one in chosen]
        try:
            if drafts and not dry_run:
                await ledger.record_own(drafts)
        except (StreamConflict, IdentityConflict):  # one of them was reviewed meanwhile, perhaps by the same rule
            position = (await ledger.reader.head()).position
        else:
            return chosen, len(due) - len(chosen)


def _is_late(found: _Found, state: DecisionState) -> bool:
    """Return whether a confidence would be judged by a test that was stated after the evidence."""
    return state.decision.confidence is not None and _is_retrofitted(found)


def _is_open(state: DecisionState | None) -> bool:
    return state is not None and state.review is None and state.retracted is None


def _draft(found: _Found, version: int) -> Draft:
    test, verdict = found.tested.test, found.verdict
    assert verdict.due_s is not None, "an outcome follows from a window that is over"
    due = timestamp(datetime.fromtimestamp(verdict.due_s, UTC))
    decided = [test.decision_id, test.rule, test.version, dict(test.params), verdict.state, verdict.due_s]
    review = DecisionReviewed(
        decision_id=test.decision_id,
        outcome="success" if verdict.state == "succeeded" else "failure",
        actual_result=verdict.value,
        rule=test.rule,
        rule_version=test.version,
        basis=verdict.basis,
        due=due,
        evidence=verdict.evidence[:EVIDENCE_MAX] or None,
    )
    return VOCABULARY.draft_of(
        review,
        id=f"resolve-{sha256(_encode(decided)).hexdigest()[:_ID_CHARS]}",
        source=rule_source(test.rule, test.version),
        expectedversion=version,
    )


def _describe(found: _Found, *, reviewed: bool = False) -> DecisionTest:
    tested, test, verdict = found.tested, found.tested.test, found.verdict
    source = rule_source(test.rule, test.version) if reviewed else tested.reviewed_by
    outcome = tested.outcome
    if reviewed:
        outcome = "success" if verdict.state == "succeeded" else "failure"
    return DecisionTest(
        decision_id=tested.decision_id,
        agent=test.agent,
        test=write_statement(
            Statement(test.rule, test.version, test.subject, test.params, test.window_s, test.grace_s)
        ),
        rule=test.rule,
        stated=_moment(test.stated_s),
        state=verdict.state,
        value=verdict.value,
        start=None if verdict.start_s is None else _moment(verdict.start_s),
        due=None if verdict.due_s is None else _moment(verdict.due_s),
        basis=verdict.basis,
        evidence=list(verdict.evidence),
        retrofitted=_is_retrofitted(found),
        reviewed_by=None if source is None else agent_of(source),
        outcome=outcome,
    )


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
