"""The keyword arguments of the client's methods. Each is optional; one that is None is left out.

A `Moment` is a `datetime`, a date, or text as RFC 3339 writes it. A time without an offset is UTC.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypeAlias, TypedDict

from tallystick.results import Reason, ThoughtEvent

Moment: TypeAlias = datetime | date | str
Outcome: TypeAlias = Literal["success", "partial", "failure", "abandoned"]
Stakes: TypeAlias = Literal["low", "medium", "high", "critical"]
MentalState: TypeAlias = Literal["deliberate", "reactive", "exploratory", "habitual", "pressured"]


class EventFields(TypedDict, total=False):
    """What every event may have beside its payload."""

    event_id: str | None
    """The event's id, 1..128 printable characters, unique to the agent. Give one, and the same call in another process
    is a retry: it adds nothing. The default is a new UUIDv7."""
    time: Moment | None
    """When it happened. The default is when the server records it."""
    expectedversion: int | None
    """How many events you believe the stream to hold; Conflict where it holds another number."""
    traceparent: str | None
    """W3C trace context."""
    correlationid: str | None
    """What the event belongs to."""
    causationid: str | None
    """The event that caused it."""


class DecisionFields(EventFields, total=False):
    """What is known about a decision when it is made; and all of `EventFields`."""

    decision_id: str | None
    """The decision's id, 1..64 letters, digits and `._-`. The default is a new one. With an id of yours, the same call
    in another process is a retry, which adds nothing."""
    confidence: float | None
    """The probability of success that the agent states, 0..1."""
    category: str | None
    """The kind of decision; figures are grouped by it."""
    stakes: Stakes | None
    """How much depends on it."""
    context: str | None
    """The situation in words."""
    reasons: Sequence[Reason | Mapping[str, Any]] | None
    """Why."""
    thoughts: Sequence[ThoughtEvent | str] | None
    """What was thought on the way, in order, as results of `think` or as plain texts. They become the last steps of the
    decision's deliberation."""
    question: str | None
    """The question it answers, unique within project and category. Agents that answered the same one are compared."""
    tags: Sequence[str] | None
    """Labels to find it by."""
    pattern: str | None
    """The general rule that this decision is a case of."""
    mental_state: MentalState | None
    """How it was made."""
    review_by: Moment | None
    """When to look at its outcome."""
    kpi_indicators: Sequence[str] | None
    """Indicators that will show the outcome."""
    pre_decision: Mapping[str, Any] | None
    """What was checked before."""
    trace: Sequence[Mapping[str, Any]] | None
    """The reasoning trace."""
    deliberation: Mapping[str, Any] | None
    """The chain of thought, with `inputs` and `steps`."""
    bridge: Mapping[str, Any] | None
    """How its form serves its function."""
    project: str | None
    """The project it belongs to."""
    feature: str | None
    """The feature it belongs to."""
    pr: int | None
    """The number of the pull request."""
    file: str | None
    """The path of the file."""
    line: int | None
    """The 1-based line in that file."""
    commit: str | None
    """The commit it was made at."""


class AmendFields(EventFields, total=False):
    """What changes in a decision, at least one of these; and all of `EventFields`. An absent field stays as it was."""

    decision: str | None
    """The new text."""
    confidence: float | None
    """The new stated probability of success, 0..1. After the first review it changes what is shown, never what
    calibration counts."""
    context: str | None
    """The new situation."""
    reasons: Sequence[Reason | Mapping[str, Any]] | None
    """The new reasons; an empty list removes them."""
    tags: Sequence[str] | None
    """The new labels; an empty list removes them."""
    pattern: str | None
    """The new general rule."""
    bridge: Mapping[str, Any] | None
    """The new form and function."""


class ReviewFields(EventFields, total=False):
    """What is known about an outcome; and all of `EventFields`."""

    actual_result: str | None
    """What happened, in words."""
    lessons: str | None
    """What was learned."""
    notes: str | None
    """Anything else."""
    affected_kpis: Mapping[str, float] | None
    """Indicator to measured change."""


class ThoughtFields(EventFields, total=False):
    """What is known about a thought; and all of `EventFields`."""

    decision_id: str | None
    """The recorded decision that it is about. Without one, it is a thought before a decision."""
    thought_id: str | None
    """The id of a thought before a decision, 1..64 letters, digits and `._-`. The default is a new one."""
    agent_id: str | None
    """Who thought it, where several think behind one token; before a decision only."""


class DecisionSelection(TypedDict, total=False):
    """Which decisions count: for `decisions` and `calibration` alike."""

    agent: str | None
    """Whose decisions. The default is this client's agent; None means every agent's."""
    category: str | None
    """Their category."""
    stakes: Stakes | None
    """Their stakes."""
    project: str | None
    """Their project."""
    feature: str | None
    """Their feature."""
    since: Moment | None
    """Only decisions made then or later."""
    until: Moment | None
    """Only decisions made before; a bare date means the whole day in UTC."""
    window: Literal["30d", "60d", "90d", "all"] | None
    """Only decisions of the last so many days."""
    as_of: int | Moment | None
    """The state of the log that counts, a position or a time. The default is now."""


class DecisionFilter(DecisionSelection, total=False):
    """How to list decisions; and all of `DecisionSelection`."""

    status: Literal["pending", "reviewed"] | None
    """Only those without a review, or with one."""
    outcome: Outcome | None
    """Only those that turned out so."""
    tag: str | Sequence[str] | None
    """Only those with this label, or with any of these."""
    search: str | None
    """Only those whose texts hold all of these words."""
    sort: Literal["created_at", "confidence", "category", "stakes", "status"] | None
    """What to order by. The default is created_at."""
    order: Literal["asc", "desc"] | None
    """The default is desc."""
    limit: int | None
    """How many at most, 1..1,000. The default is 100."""
    offset: int | None
    """How many to skip, the `next` of the page before."""


class CalibrationFilter(DecisionSelection, total=False):
    """Which figures to compute; and all of `DecisionSelection`."""

    group_by: Literal["confidence_bucket", "category", "stakes", "agent", "project", "feature"] | None
    """How to group. The default is confidence_bucket."""
    min_decisions: int | None
    """Reviewed decisions below which there are no figures. The default is 5."""
    detail: Literal["figures", "curves"] | None
    """curves adds the calibration curve and its band. The default is figures."""
    include: Sequence[Literal["trend", "drift", "comparison"]] | None
    """What to add."""
    trend_days: int | None
    """The length of the windows of `trend`, days. The default is 30."""


class Plan(TypedDict, total=False):
    """A decision about to be made."""

    agent: str | None
    """Whose earlier decisions to look at. The default is this client's agent."""
    category: str | None
    """Its category."""
    stakes: Stakes | None
    """Its stakes."""
    confidence: float | None
    """The confidence that the agent means to state, 0..1."""
    as_of: int | Moment | None
    """The state of the log that counts, a position or a time. The default is now."""


class EventFilter(TypedDict, total=False):
    """Which events to read."""

    after: int | None
    """Only positions above this one. The default is 0."""
    types: Sequence[str] | None
    """Only these types, such as `decision.recorded.v1`."""
    subjects: Sequence[str] | None
    """Only these streams, such as `decision/3f2a9c1e`."""
    agent: str | None
    """Only events of this agent. The default is every agent's."""
    since: Moment | None
    """Only events that happened then or later."""
    until: Moment | None
    """Only events that happened before."""


class EventSelection(EventFilter, total=False):
    """How to read events; and all of `EventFilter`."""

    before: int | None
    """Only positions below this one."""
    order: Literal["asc", "desc"] | None
    """The default is asc, the oldest first."""
    limit: int | None
    """How many at most. The default is all."""


class DiscoveryOptions(TypedDict, total=False):
    """What a run of discovery asks, and when it stops."""

    run_id: str | None
    """The id of the run, 1..64 letters, digits and `._-`. The default is a new one. A run that was interrupted goes on
    under its id."""
    probe_id: str | None
    """The task that each answer solves. The default is refactor-go."""
    max_iterations: int | None
    """Models after which it stops, 1..1,000. The default is 15."""
    max_attempts: int | None
    """Prompts after which it stops, 1..1,000. The default is 40."""
    terminate_on_repeat: bool | None
    """Whether it stops when a model comes back. The default is True."""
    keep_going: bool | None
    """Whether only the limits stop it. The default is False."""
    sensitive: bool | None
    """Whether responses are kept as evidence alone, which can be erased. The default is False."""
    router: str | None
    """What answers, in words. The log keeps it permanently, so do not put a secret in it."""
    requested_model: str | None
    """The model that was asked for."""
