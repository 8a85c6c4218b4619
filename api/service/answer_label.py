"""A label to record, and one in the log."""

from datetime import datetime

import msgspec

from events.payload import Label, StreamName, Text


class LabelToRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label to record: which answer, and what the person says of it."""

    run_id: StreamName
    """The evaluation in which the person saw the answer."""
    scenario_id: StreamName
    """The scenario."""
    attempt: int = 1
    """Number of the attempt, 1-based."""
    criterion: Label | None = None
    """The criterion, a name of a component of the score; absent for the answer as a whole."""
    passed: bool
    """Whether the answer meets the criterion, or passes as a whole."""
    note: Text | None = None
    """Why, in words."""


class RecordedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label in the log. `reviews` counts the decisions of judges that it reviewed."""

    label_id: str
    run_id: str
    scenario_id: str
    attempt: int
    analysis_digest: str
    criterion: str | None
    passed: bool
    reviews: int
    position: int
    event_id: str
    time: datetime
    duplicate: bool
    """Whether the label was in the log before: this is a retry, and nothing was written."""
