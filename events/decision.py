"""The decision stream: what an agent decided, how confident it was, and how the decision turned out.

Field names are those of CSTP (recordDecision, reviewDecision) in snake case, so that CSTP agents recognise them.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from events.life import RESOLVERS
from events.limits import ITEMS_MAX
from events.payload import (
    Confidence,
    Count,
    Facts,
    Label,
    Labels,
    Payload,
    PayloadPart,
    StreamId,
    StreamName,
    Text,
    Texts,
    TimeText,
)
from tallystick.shapes.decisions import Outcome

Stakes = Literal["low", "medium", "high", "critical"]
MentalState = Literal["deliberate", "reactive", "exploratory", "habitual", "pressured"]
ReasonType = Literal[
    "authority", "analogy", "analysis", "pattern", "intuition", "empirical", "elimination", "constraint"
]
Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class Reason(PayloadPart, frozen=True, kw_only=True):
    """A reason for the decision."""

    type: ReasonType
    """Kind of reasoning. Source: the agent."""
    text: Text
    """The reason in words. Source: the agent."""
    strength: Confidence | None = None
    """How strongly the reason supports the decision, 0..1. Source: the agent."""


class DeliberationInput(PayloadPart, frozen=True, kw_only=True):
    """One input that the agent considered before deciding."""

    id: str
    """Name of the input; `inputs_used` refers to it. Source: the agent."""
    text: str
    """The input in words. Source: the agent."""
    source: str | None = None
    """Where the input came from. Source: the agent."""
    timestamp: str | None = None
    """When the agent saw it, as the agent wrote it. Source: the agent."""


class DeliberationStep(PayloadPart, frozen=True, kw_only=True):
    """One step of the thinking before the decision."""

    step: Count | None = None
    """1-based number of the step. Source: the agent."""
    thought: str
    """The thought in words. Source: the agent."""
    inputs_used: Texts = ()
    """Ids of the inputs that this step used. Source: the agent."""
    timestamp: str | None = None
    """When the step happened, as the agent wrote it. Source: the agent."""
    duration_ms: Count | None = None
    """Duration of the step, milliseconds. Source: the agent's measurement."""
    type: str | None = None
    """Kind of step. Source: the agent."""
    conclusion: bool | None = None
    """Whether this step reached the conclusion. Source: the agent."""


class Deliberation(PayloadPart, frozen=True, kw_only=True):
    """The chain of thought behind a decision."""

    inputs: Annotated[tuple[DeliberationInput, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The inputs. Source: the agent."""
    steps: Annotated[tuple[DeliberationStep, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The steps, in order. Source: the agent."""
    total_duration_ms: Count | None = None
    """Duration of the whole deliberation, milliseconds. Source: the agent's measurement."""
    convergence_point: Count | None = None
    """Number of the step at which the decision became clear. Source: the agent."""


class Bridge(PayloadPart, frozen=True, kw_only=True):
    """How the decision's form serves its function."""

    structure: str | None = None
    """What it looks like. Source: the agent."""
    function: str | None = None
    """What it is for. Source: the agent."""
    tolerance: Texts = ()
    """What may vary. Source: the agent."""
    enforcement: Texts = ()
    """What must stay true. Source: the agent."""
    prevention: Texts = ()
    """What must not happen. Source: the agent."""


class PreDecision(PayloadPart, frozen=True, kw_only=True):
    """What the agent checked before deciding."""

    query_run: bool | None = None
    """Whether the agent searched earlier decisions. Source: the agent."""
    similar_found: Count | None = None
    """How many similar decisions it found. Source: the agent."""
    guardrails_checked: bool | None = None
    """Whether the agent checked guardrails. Source: the agent."""
    guardrails_passed: bool | None = None
    """Whether the guardrails passed. Source: the agent."""


class TraceStep(PayloadPart, frozen=True, kw_only=True):
    """One step of a reasoning trace."""

    step: Count | None = None
    """1-based number of the step. Source: the agent."""
    thought: str | None = None
    """The thought in words. Source: the agent."""
    output: str | None = None
    """Result of the step. Source: the agent."""
    confidence: Confidence | None = None
    """The agent's confidence at this step, 0..1. Source: the agent."""
    tags: Labels = ()
    """Labels of the step. Source: the agent."""


class DecisionRecordedV1(Payload, frozen=True, kw_only=True):
    """A decision, as the agent stated it when it was made. Version 2 can also state its cluster and its model."""

    decision_id: StreamId | None = None
    """Names the stream `decision/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    decision: Text
    """The decision in words. Source: the agent."""
    confidence: Confidence | None = None
    """Stated probability of success, 0..1. Source: the agent; absent when it stated none, never assumed."""
    category: Label | None = None
    """Kind of decision, free text. Source: the agent."""
    stakes: Stakes | None = None
    """How much depends on it. Source: the agent."""
    context: str | None = None
    """The situation in words. Source: the agent."""
    reasons: Annotated[tuple[Reason, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The reasons. Source: the agent."""
    tags: Labels = ()
    """Labels for searching. Source: the agent."""
    pattern: str | None = None
    """The general rule this decision is a case of. Source: the agent."""
    mental_state: MentalState | None = None
    """State of mind in which the agent decided. Source: the agent."""
    review_by: Instant | None = None
    """When to review its outcome, UTC. Source: the agent."""
    kpi_indicators: Labels = ()
    """Indicators that will show the outcome. Source: the agent."""
    pre_decision: PreDecision | None = None
    """Checks made before the decision. Source: the agent."""
    trace: Annotated[tuple[TraceStep, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """Reasoning trace. Source: the agent."""
    deliberation: Deliberation | None = None
    """Chain of thought. Source: the agent."""
    bridge: Bridge | None = None
    """Form and function. Source: the agent."""
    project: Label | None = None
    """Project it belongs to. Source: the agent."""
    feature: Label | None = None
    """Feature it belongs to. Source: the agent."""
    pr: Count | None = None
    """Number of the pull request. Source: the agent."""
    file: str | None = None
    """Path of the file. Source: the agent."""
    line: Count | None = None
    """1-based line in that file. Source: the agent."""
    commit: str | None = None
    """Commit at which the decision was made. Source: the agent."""


class DecisionRecorded(DecisionRecordedV1, frozen=True, kw_only=True):
    """A decision, as the agent stated it when it was made."""

    cluster: Label | None = None
    """What its outcome depends on together with other decisions: a task, a session, a day. Decisions with the same text
    are one cluster. Source: the agent."""
    model: Label | None = None
    """The language model that decided, as it is claimed. Source: the agent."""
    reported_model: Label | None = None
    """The model that the endpoint named in its answer. Source: the endpoint, passed on by the agent."""


class DecisionAmended(Payload, frozen=True, kw_only=True):
    """A change to a recorded decision. An absent field is unchanged; at least one field must be present.

    If the confidence is amended after the first review, views show the new value and calibration uses the old one.
    """

    decision_id: StreamId
    """The decision that changes. Source: the client."""
    decision: Text | None = None
    """New text. Source: the agent."""
    confidence: Confidence | None = None
    """New stated probability of success, 0..1. Source: the agent."""
    context: str | None = None
    """New situation. Source: the agent."""
    reasons: Annotated[tuple[Reason, ...], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    """New reasons; an empty list removes them. Source: the agent."""
    tags: Labels | None = None
    """New labels; an empty list removes them. Source: the agent."""
    pattern: str | None = None
    """New general rule. Source: the agent."""
    bridge: Bridge | None = None
    """New form and function. Source: the agent."""

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in self.__struct_fields__[1:]):
            raise ValueError("An amendment changes at least one field")


class DecisionThought(Payload, frozen=True, kw_only=True):
    """A thought added to a recorded decision."""

    decision_id: StreamId
    """The decision it belongs to. Source: the client."""
    text: Text
    """The thought in words. Source: the agent."""


class DecisionAsked(Payload, frozen=True, kw_only=True):
    """Which question a decision answers, to compare agents that answered the same one. The latest event is used."""

    decision_id: StreamId
    """The decision that answers it. Source: the client."""
    question: Label
    """Name of the question, unique within project and category. Source: the agent, or the author of the question."""


class DecisionTestStated(Payload, frozen=True, kw_only=True):
    """How the outcome of a decision will be known: a rule, and what it is about. The first statement counts."""

    decision_id: StreamId
    """The decision. Source: the client."""
    rule: Label
    """The rule: `git.kept`; in a post also with its window and parameters, `git.kept:14d`. Source: the agent."""
    version: Count | None = None
    """The version of the rule. Source: the ledger."""
    subject: Label | None = None
    """What is observed: `commit:ID`, `pr:NUMBER`, `command:NAME`; absent: the change whose commit names the decision,
    or those of several tests. Source: the agent."""
    params: Facts | None = None
    """Parameters of the rule, by name. Source: the agent."""
    start: TimeText | None = None
    """When the window begins, RFC 3339. Source: the agent; where absent, the rule says it, such as when a change
    landed."""
    window_s: Count | None = None
    """Length of the window, seconds. Source: the agent; where absent in a post, the rule."""
    grace_s: Count = 0
    """How long after the window evidence may still come before it is overdue, seconds. Source: the agent."""


class DecisionReviewedV1(Payload, frozen=True, kw_only=True):
    """How a decision turned out. Version 2 can also state the rule that found it."""

    decision_id: StreamId
    """The decision reviewed. Source: the client."""
    outcome: Outcome
    """How it turned out. Source: the reviewer."""
    actual_result: str | None = None
    """What happened, in words. Source: the reviewer."""
    lessons: str | None = None
    """What was learned. Source: the reviewer."""
    notes: str | None = None
    """Anything else. Source: the reviewer."""
    affected_kpis: dict[str, float] | None = None
    """Indicator to measured change. Source: the reviewer."""


class DecisionReviewed(DecisionReviewedV1, frozen=True, kw_only=True):
    """How a decision turned out. The latest review is used; earlier ones remain in the history."""

    rule: Label | None = None
    """The rule that found it. Source: the ledger; absent in a review by somebody."""
    rule_version: Count | None = None
    """The version of the rule. Source: the ledger."""
    basis: Literal["event", "deadline"] | None = None
    """Whether something happened that decides it, or did not until the end. Source: the ledger."""
    due: TimeText | None = None
    """When the window ended, RFC 3339 UTC. Source: the ledger, computed."""
    evidence: Annotated[tuple[StreamName, ...], msgspec.Meta(max_length=16)] | None = None
    """Ids of the observations that decide it. Source: the ledger."""

    @property
    def own_source(self) -> str | None:
        """The source of a review by a rule; None: it is an agent's."""
        return None if self.rule is None else rule_source(self.rule, self.rule_version or 0)


def rule_source(rule: str, version: int) -> str:
    """Return the source of the reviews by a rule."""
    return f"{RESOLVERS}{rule}.v{version}"


class DecisionPreserved(Payload, frozen=True, kw_only=True):
    """Whether views that shorten old decisions show this one in full. The latest event is used."""

    decision_id: StreamId
    """The decision. Source: the client."""
    preserve: bool
    """True: always show it in full; false: no longer. Source: the client."""


class DecisionRetracted(Payload, frozen=True, kw_only=True):
    """A decision is withdrawn, such as one that was recorded twice. No later event of the decision is accepted.

    It no longer counts in any figure. Its history stays.
    """

    decision_id: StreamId
    """The decision that is withdrawn. Source: the client."""
    reason: Text
    """Why, in words. Source: the caller that withdraws it."""
