"""The structs that the client returns about events, decisions and discovery.

Every struct is frozen. Fields that a newer server adds are ignored, so that an older client still works.
"""

from datetime import datetime
from typing import Any

import msgspec

from tallystick.shapes.appended import AppendedEvent, RemarkedEvent
from tallystick.shapes.decisions import Retraction, Review
from tallystick.shapes.parts import AsOf, UnknownName
from tallystick.shapes.retrieval import Retrieval


class DecisionEvent(RemarkedEvent, frozen=True, kw_only=True):
    """The position of an event of a decision in the log. Pass pending thoughts to `record` in `thoughts`."""

    @property
    def decision_id(self) -> str:
        """The id of the decision."""
        return self.subject.partition("/")[2]


class ThoughtEvent(AppendedEvent, frozen=True, kw_only=True):
    """The position of a thought in the log, and its text."""

    text: str
    """The thought in words."""

    @property
    def thought_id(self) -> str | None:
        """The id of a thought recorded before its decision; None for a thought on a recorded decision."""
        stream, _, name = self.subject.partition("/")
        return name if stream == "thought" else None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the log stores it (CloudEvents 1.0)."""

    id: str
    """Unique within its source."""
    source: str
    """The agent that wrote it, as `/agents/NAME`."""
    type: str
    """The event type, such as `decision.recorded.v1`."""
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
    """The W3C trace context, if the writer gave one."""
    correlationid: str | None = None
    """An id that related events share, if the writer gave one."""
    causationid: str | None = None
    """The id of the event that caused it, if the writer gave one."""

    @property
    def agent(self) -> str:
        """The agent's name: `scout` for the source `/agents/scout`."""
        return self.source.removeprefix("/agents/")


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of events."""

    events: tuple[Event, ...]
    """The events, in the requested order."""
    next: int | None
    """The cursor of the next page; None on the last page."""
    head: int
    """The newest position of the log."""


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reason for a decision."""

    text: str
    """The reason in words."""
    type: str = msgspec.field(default_factory=lambda: "analysis")
    """authority, analogy, analysis, pattern, intuition, empirical, elimination or constraint."""
    strength: float | None = None
    """How strongly it supports the decision, 0..1."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of an agent, with every amendment applied."""

    decision: str
    """The decision in words."""
    decision_id: str | None = None
    """The id of the decision."""
    confidence: float | None = None
    """The stated probability of success, 0..1; None if the agent stated none."""
    category: str | None = None
    """The kind of decision."""
    stakes: str | None = None
    """low, medium, high or critical."""
    context: str | None = None
    """The situation in words."""
    reasons: tuple[Reason, ...] = ()
    """The reasons for it."""
    tags: tuple[str, ...] = ()
    """Labels for searching."""
    pattern: str | None = None
    """The general rule that this decision is a case of."""
    mental_state: str | None = None
    """deliberate, reactive, exploratory, habitual or pressured."""
    review_by: datetime | None = None
    """When its outcome should be reviewed, UTC."""
    kpi_indicators: tuple[str, ...] = ()
    """Indicators that will show the outcome."""
    pre_decision: dict[str, Any] | None = None
    """What was checked before deciding."""
    trace: tuple[dict[str, Any], ...] = ()
    """The reasoning trace."""
    deliberation: dict[str, Any] | None = None
    """The chain of thought, with `inputs` and `steps`."""
    bridge: dict[str, Any] | None = None
    """The structure of the decision and the function that it serves."""
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
    """The commit at which it was made."""
    cluster: str | None = None
    """What its outcome depends on together with other decisions: a task, a session, a day."""
    model: str | None = None
    """The language model that decided, as it is claimed."""
    reported_model: str | None = None
    """The model that the endpoint named in its answer."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a decision's history."""

    position: int
    """1-based place in the log."""
    streamversion: int
    """1-based place in the decision's stream."""
    type: str
    """The event type, such as `decision.reviewed.v1`."""
    agent: str
    """The agent that wrote it."""
    time: datetime
    """When it happened, UTC."""
    data: dict[str, Any]
    """The payload."""


class DecisionState(msgspec.Struct, frozen=True, kw_only=True):
    """The current state of a decision, after all its events."""

    decision_id: str
    """The id of the decision."""
    agent: str
    """The agent that decided."""
    recorded_at: datetime
    """When it was made, UTC."""
    updated_at: datetime
    """When its latest event happened, UTC."""
    position: int
    """1-based place of its first event in the log."""
    streamversion: int
    """The number of its events."""
    decision: Decision
    """The decision, with every amendment applied."""
    question: str | None = None
    """The question that it answers, if it names one."""
    review: Review | None = None
    """How it turned out; None if nobody has reviewed it."""
    confidence_at_review: float | None = None
    """The confidence stated before the first review, 0..1. Calibration uses this one."""
    thoughts: tuple[str, ...] = ()
    """The thoughts that were added to it, oldest first."""
    history: tuple[HistoryEntry, ...] = ()
    """Its events, oldest first; only `get_decision` returns them."""
    retracted: Retraction | None = None
    """Who withdrew it, when and why; None if nobody has."""
    superseded_by: tuple[str, ...] = ()
    """The ids of the decisions that supersede it."""
    preserve: bool = False
    """Whether views that shorten old decisions show this one in full."""


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of decisions."""

    decisions: tuple[DecisionState, ...]
    """The decisions, in the requested order."""
    total: int
    """The number of decisions that match, on all pages."""
    next: int | None
    """The offset of the next page; None on the last page."""
    as_of: AsOf
    """The state of the log that the answer is computed from."""
    unknown_names: tuple[UnknownName, ...] = ()
    """Names in the filter that the ledger does not know, if nothing matched."""
    retrieval: Retrieval | None = None
    """How a search with `retrieval_mode` was answered; None without a mode."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The response to a prompt of `discover`, or the reason why there is none."""

    response: str | None = None
    """The whole response; it may be empty."""
    failure: str | None = None
    """`timeout` or `failed`, if there is no response."""
    detail: str | None = None
    """What went wrong, in words. The log keeps it permanently, so do not put a secret in it."""
    reported_model: str | None = None
    """The model that the endpoint reports."""
    tokens_used: int | None = None
    """The number of tokens in prompt and response."""


class ClaimedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model as an answer names itself: a claim, which may be false."""

    model_name: str
    """The model's name."""
    provider: str | None = None
    """The organisation that made the model."""
    version: str | None = None
    """The version of the model, or its release date."""
    wrapper: str | None = None
    """The program between the model and the caller."""


class DiscoveryReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a discovery run."""

    run_id: str
    """The id of the run."""
    start_time: datetime | None = None
    """When it began."""
    end_time: datetime | None = None
    """When it ended; None while it can be continued."""
    termination_reason: str | None = None
    """Why it ended."""
    unique_models: tuple[ClaimedModel, ...] = ()
    """The models that it identified, in the order of their first answers."""
    results: tuple[dict[str, Any], ...] = ()
    """The accepted answers, each with its probe and its score."""
