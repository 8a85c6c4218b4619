"""What the client returns about events and decisions.

Every struct is frozen. Fields that a newer server adds are skipped, so that an older client goes on working.
"""

from datetime import datetime
from typing import Any

import msgspec


class AppendedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event is in the log."""

    position: int
    """1-based place in the log."""
    id: str
    """The event's id, unique within its source."""
    subject: str
    """The event's stream, such as `decision/3f2a9c1e`."""
    streamversion: int
    """1-based place in the stream."""
    duplicate: bool
    """Whether the event was in the log before, so that this was a retry."""


class DecisionEvent(AppendedEvent, frozen=True, kw_only=True):
    """Where an event of a decision is in the log."""

    @property
    def decision_id(self) -> str:
        """The id of the decision."""
        return self.subject.partition("/")[2]


class ThoughtEvent(AppendedEvent, frozen=True, kw_only=True):
    """Where a thought is in the log."""

    text: str
    """The thought in words."""

    @property
    def thought_id(self) -> str | None:
        """The id of a thought before its decision; None for a thought on a recorded decision."""
        stream, _, name = self.subject.partition("/")
        return name if stream == "thought" else None


class AppendResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch is in the log."""

    first: int
    """The lowest position."""
    last: int
    """The highest position."""
    count: int
    """How many events the batch has."""
    duplicates: int
    """How many of them were in the log before."""
    events: tuple[AppendedEvent, ...]
    """Each event, in the order of the batch."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the log holds it (CloudEvents 1.0)."""

    id: str
    """Unique within its source."""
    source: str
    """Who wrote it, as `/agents/NAME`."""
    type: str
    """What it says, such as `decision.recorded.v1`."""
    subject: str
    """Its stream, such as `decision/3f2a9c1e`."""
    time: datetime
    """When it happened, UTC."""
    recordedtime: datetime
    """When it was appended, UTC; never earlier than its predecessor's."""
    position: int
    """1-based place in the log."""
    streamversion: int
    """1-based place in the stream."""
    data: dict[str, Any]
    """The payload, as the event's type defines it."""
    specversion: str = "1.0"
    """The version of CloudEvents."""
    traceparent: str | None = None
    """W3C trace context, where the writer gave one."""
    correlationid: str | None = None
    """What it belongs to, where the writer said so."""
    causationid: str | None = None
    """The event that caused it, where the writer said so."""

    @property
    def agent(self) -> str:
        """The agent's name: `scout` for the source `/agents/scout`."""
        return self.source.removeprefix("/agents/")


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of events."""

    events: tuple[Event, ...]
    """The events, in the order asked for."""
    next: int | None
    """The cursor of the next page; None on the last one."""
    head: int
    """The newest position of the log."""


class AsOf(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the log that an answer is computed from."""

    position: int
    """The newest position that counts; 0 for an empty log."""
    time: datetime | None
    """When that position was recorded, UTC; None for an empty log."""


class Interval(msgspec.Struct, frozen=True, array_like=True):
    """Both ends of an interval."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an agent decided so."""

    text: str
    """The reason in words."""
    type: str = msgspec.field(default_factory=lambda: "analysis")
    """authority, analogy, analysis, pattern, intuition, empirical, elimination or constraint."""
    strength: float | None = None
    """How strong the support is, 0..1."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent decided, with every amendment applied."""

    decision: str
    """The decision in words."""
    decision_id: str | None = None
    """The id of the decision."""
    confidence: float | None = None
    """The stated probability of success, 0..1; None where the agent stated none."""
    category: str | None = None
    """The kind of decision."""
    stakes: str | None = None
    """low, medium, high or critical."""
    context: str | None = None
    """The situation in words."""
    reasons: tuple[Reason, ...] = ()
    """Why."""
    tags: tuple[str, ...] = ()
    """Labels to find it by."""
    pattern: str | None = None
    """The general rule that this decision is a case of."""
    mental_state: str | None = None
    """deliberate, reactive, exploratory, habitual or pressured."""
    review_by: datetime | None = None
    """When to look at its outcome, UTC."""
    kpi_indicators: tuple[str, ...] = ()
    """Indicators that will show the outcome."""
    pre_decision: dict[str, Any] | None = None
    """What was checked before deciding."""
    trace: tuple[dict[str, Any], ...] = ()
    """The reasoning trace."""
    deliberation: dict[str, Any] | None = None
    """The chain of thought, with `inputs` and `steps`."""
    bridge: dict[str, Any] | None = None
    """How its form serves its function."""
    project: str | None = None
    """The project it belongs to."""
    feature: str | None = None
    """The feature it belongs to."""
    pr: int | None = None
    """The number of the pull request."""
    file: str | None = None
    """The path of the file."""
    line: int | None = None
    """The 1-based line in that file."""
    commit: str | None = None
    """The commit it was made at."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """How a decision turned out: the latest review, which is the one that counts."""

    outcome: str
    """success, partial, failure or abandoned."""
    reviewed_at: datetime
    """When, UTC."""
    reviewed_by: str
    """The agent that reviewed it."""
    actual_result: str | None = None
    """What happened, in words."""
    lessons: str | None = None
    """What was learned."""
    notes: str | None = None
    """Anything else."""
    affected_kpis: dict[str, float] | None = None
    """Indicator to measured change."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a decision's history."""

    position: int
    """1-based place in the log."""
    streamversion: int
    """1-based place in the decision's stream."""
    type: str
    """What it says, such as `decision.reviewed.v1`."""
    agent: str
    """Who wrote it."""
    time: datetime
    """When it happened, UTC."""
    data: dict[str, Any]
    """The payload."""


class DecisionState(msgspec.Struct, frozen=True, kw_only=True):
    """A decision as its events leave it."""

    decision_id: str
    """The id of the decision."""
    agent: str
    """Who decided."""
    recorded_at: datetime
    """When it was made, UTC."""
    updated_at: datetime
    """When its latest event happened, UTC."""
    position: int
    """1-based place in the log of its first event."""
    streamversion: int
    """How many events it has."""
    decision: Decision
    """What was decided, with every amendment applied."""
    question: str | None = None
    """The question it answers, where one was named."""
    review: Review | None = None
    """How it turned out; None where nobody has reviewed it."""
    confidence_at_review: float | None = None
    """The confidence before the outcome was first known, 0..1, which is the one that calibration counts."""
    thoughts: tuple[str, ...] = ()
    """Thoughts that were added to it, the oldest first."""
    history: tuple[HistoryEntry, ...] = ()
    """Its events, the oldest first; only `get_decision` gives them."""


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of decisions."""

    decisions: tuple[DecisionState, ...]
    """The decisions, in the order asked for."""
    total: int
    """How many fit in all."""
    next: int | None
    """The offset of the next page; None on the last one."""
    as_of: AsOf
    """The state of the log that counts."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back for a prompt of `discover`: a response, or why there is none."""

    response: str | None = None
    """The whole response; it may be empty."""
    failure: str | None = None
    """`timeout` or `failed`, where there is no response."""
    detail: str | None = None
    """What went wrong, in words. The log keeps it permanently, so do not put a secret in it."""
    reported_model: str | None = None
    """Which model the endpoint says it used."""
    tokens_used: int | None = None
    """Tokens of prompt and response."""


class ClaimedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model, as an answer names it. It is a claim."""

    model_name: str
    """The model's name."""
    provider: str | None = None
    """Who made it."""
    version: str | None = None
    """Its version or date of release."""
    wrapper: str | None = None
    """The program that passes the answer on."""


class DiscoveryReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of discovery found."""

    run_id: str
    """The id of the run."""
    start_time: datetime | None = None
    """When it began."""
    end_time: datetime | None = None
    """When it ended; None while it can go on."""
    termination_reason: str | None = None
    """Why it ended."""
    unique_models: tuple[ClaimedModel, ...] = ()
    """The models that it identified, in the order in which they came."""
    results: tuple[dict[str, Any], ...] = ()
    """Each accepted answer, with its probe and its score."""
