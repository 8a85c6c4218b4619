"""The alert stream: what a server found out, and reports to the receivers of its webhooks.

Only a server appends these events, and only while a webhook asks for them. Each alert has a stream of its own, named by
what it is about, so that the same finding is never recorded twice.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import AGENT_NAME_CHARS_MAX
from events.payload import Confidence, Count, Label, Payload, StreamId, StreamName, Text, TimeText

DriftScore = Literal["brier_degradation", "accuracy_drop"]
GateVerdict = Literal["passed", "worse", "unusable"]

AgentName = Annotated[str, msgspec.Meta(min_length=1, max_length=AGENT_NAME_CHARS_MAX)]


class AlertDriftDetected(Payload, frozen=True, kw_only=True):
    """An agent's last 30 days are worse than the 90 days before, by more than chance explains."""

    alert_id: StreamId
    """Names the stream `alert/ALERT_ID`. Source: the server."""
    agent: AgentName
    """The agent whose decisions these are. Source: the log."""
    score: DriftScore
    """The score that got worse. Source: computed."""
    recent: float
    """Its value over the last 30 days, 0 to 1. Source: computed."""
    historical: float
    """Its value over the 90 days before, 0 to 1. Source: computed."""
    change: float
    """The change relative to `historical`, below 0 for a drop. Source: computed."""
    p: Confidence
    """The p value of the permutation test. Source: computed."""
    recent_reviews: Count
    """Reviewed decisions of the last 30 days. Source: counted."""
    historical_reviews: Count
    """Reviewed decisions of the 90 days before. Source: counted."""
    until: TimeText
    """The end of the last 30 days: the beginning of a week, RFC 3339 UTC. Source: the server."""
    level: Confidence
    """The largest share of checks of an agent without a change that raise an alert. Source: the server."""


class AlertGateJudged(Payload, frozen=True, kw_only=True):
    """An evaluation ended, and the gate has compared it with the latest one before."""

    alert_id: StreamId
    """Names the stream `alert/ALERT_ID`. Source: the server."""
    run_id: StreamName
    """The evaluation that ended: the candidate. Source: the log."""
    baseline_id: StreamName
    """The evaluation that it is compared with. Source: the log."""
    suite: Label | None = None
    """The suite of both. Source: the log."""
    agent: Label | None = None
    """The agent that was evaluated. Source: the log."""
    verdict: GateVerdict
    """The gate's verdict with its default limits. Source: computed."""
    reasons: Annotated[tuple[Text, ...], msgspec.Meta(max_length=8)] = ()
    """Why it did not pass, as phrases. Source: computed."""
    regressions: Count
    """Scenarios that pass less often than before, or are missing. Source: counted."""
    errors: Count
    """Attempts of the candidate in error. Source: counted."""
    mean: float | None = None
    """The candidate's mean over all scenarios, 0 to 100. Source: computed."""
    baseline_mean: float | None = None
    """The baseline's mean over all scenarios, 0 to 100. Source: computed."""


class AlertReviewOverdue(Payload, frozen=True, kw_only=True):
    """The date by which a decision was to be reviewed has passed, and it has no review."""

    alert_id: StreamId
    """Names the stream `alert/ALERT_ID`. Source: the server."""
    decision_id: StreamName
    """The decision. Source: the log."""
    agent: AgentName
    """The agent that recorded it. Source: the log."""
    review_by: TimeText
    """When it was to be reviewed, RFC 3339 UTC. Source: the log."""


class AlertCheckpointUnsigned(Payload, frozen=True, kw_only=True):
    """The log has grown, and the server has signed no checkpoint for some seconds."""

    alert_id: StreamId
    """Names the stream `alert/ALERT_ID`. Source: the server."""
    signed_events: Count
    """Events under the newest checkpoint that the server knows; 0: it knows none. Source: the server."""
    head_position: Count
    """The newest position when the server found this. Source: the server."""
    reason: Text
    """Why no checkpoint is signed. Source: the server."""
