"""Checks of what is appended about tests of decisions: statements, observations, and reviews."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from api.principal import Forbidden, Principal
from events.decision import DecisionRecordedV1, DecisionReviewed, DecisionReviewedV1, DecisionTestStated
from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import PAGE_EVENTS_MAX
from events.observation import ObservationRecorded, ObservationScanned
from events.registry import VOCABULARY
from ledger.log import LogReader, Query

CHECKED: Final = frozenset((DecisionTestStated, ObservationRecorded, ObservationScanned, DecisionReviewed))
"""The types of payloads that `check_tests` checks."""

SKEW_MAX: Final = timedelta(hours=1)
"""So much later than by the clock of the ledger may something have been observed: clocks differ."""

_STATED: Final = VOCABULARY.names_of(DecisionTestStated)


def check_tests(draft: Draft, caller: Principal, now: datetime, index: int) -> None:
    """Complete a statement of a test; check when something was observed, and that no caller reviews as a rule.

    Errors: InvalidEvent.
    """
    data = draft.data
    if isinstance(data, DecisionTestStated):
        from projections.resolve.statement import complete_test  # noqa: PLC0415 - loads numpy

        try:
            draft.data = complete_test(data)
        except InvalidEvent as error:
            error.field, error.index = "data.rule", index
            raise
        _check_time("start", data.start, None, index)
        if draft.time is not None and draft.time < now - SKEW_MAX and not caller.permissions.in_every_stream:
            detail = (
                f"time {draft.time:%Y-%m-%dT%H:%M:%SZ} is over an hour ago, and a test is stated before its evidence."
            )
            raise InvalidEvent(detail, "Leave out time.", field="time", index=index)
    elif isinstance(data, ObservationRecorded):
        _check_time("occurred", data.occurred, now, index)
    elif isinstance(data, ObservationScanned):
        _check_time("through", data.through, now, index)
    elif isinstance(data, DecisionReviewed) and data.rule is not None and not caller.permissions.in_every_stream:
        detail = "rule is stated by the ledger, which reviews by rules itself."
        raise InvalidEvent(detail, "Leave out rule: then it is your review.", field="data.rule", index=index)


def _check_time(field: str, text: str | None, now: datetime | None, index: int) -> None:
    """Check that a time has a zone, and is not later than now, if that is given."""
    if text is None:
        return
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        detail = f"{field} {text!r} is not a time with a zone."
        raise InvalidEvent(detail, "Write 2026-02-05T14:30:00Z.", field=f"data.{field}", index=index)
    if now is not None and moment > now + SKEW_MAX:
        detail = f"{field} {text} is over an hour later than now, {now:%Y-%m-%dT%H:%M:%SZ}."
        raise InvalidEvent(detail, "Correct the clock of the observer.", field=f"data.{field}", index=index)


async def check_own_reviews(reader: LogReader, drafts: Sequence[Draft], caller: Principal) -> None:
    """Check that an agent does not review its own decision that has a test. Errors: Forbidden; nothing was written."""
    reviewed = {draft.data.decision_id for draft in drafts if isinstance(draft.data, DecisionReviewedV1)}
    if not reviewed:
        return
    made = {draft.data.decision_id for draft in drafts if isinstance(draft.data, DecisionRecordedV1)}
    stated = {draft.data.decision_id for draft in drafts if isinstance(draft.data, DecisionTestStated)}
    own = reviewed & stated & made
    subjects = tuple(f"decision/{name}" for name in sorted(reviewed))
    page = await reader.read(Query(subjects=subjects, types=_STATED, limit=PAGE_EVENTS_MAX))
    for event in VOCABULARY.events(page.ndjson):
        if event.source == caller.source:
            own.add(event.subject.removeprefix("decision/"))
    if own:
        detail = f"The decision {min(map(str, own))} has a test: its agent does not review it."
        raise Forbidden(detail, "Let the test decide, or a reviewer with another token.", written=False)
