"""The keyword arguments of the client's methods. Each is optional; one that is None is not sent.

A `Moment` is a `datetime` with a zone, a date in UTC, or text as RFC 3339 writes it. A `datetime` without a zone is
refused: it may be UTC or the time of the machine.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypeAlias, TypedDict

from tallystick.results import Reason, ThoughtEvent

Moment: TypeAlias = datetime | date | str
Outcome: TypeAlias = Literal["success", "partial", "failure", "abandoned"]
Stakes: TypeAlias = Literal["low", "medium", "high", "critical"]
LinkType: TypeAlias = Literal["relates_to", "supersedes", "depends_on"]
MentalState: TypeAlias = Literal["deliberate", "reactive", "exploratory", "habitual", "pressured"]


class EventFields(TypedDict, total=False):
    """The arguments that every event may have beside its payload."""

    event_id: str | None
    """The event's id, 1..128 printable characters, unique to the agent. Give one, and the same call in another process
    is a retry: it adds nothing. The default is a new UUIDv7."""
    time: Moment | None
    """When it happened. The default is when the server records it."""
    expectedversion: int | None
    """The number of events that the stream must have; if it has another number, the error is Conflict."""
    traceparent: str | None
    """W3C trace context."""
    correlationid: str | None
    """An id that related events share."""
    causationid: str | None
    """The id of the event that caused it."""


class DecisionFields(EventFields, total=False):
    """The arguments of a decision, and those of `EventFields`."""

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
    """The reasons for it."""
    thoughts: Sequence[ThoughtEvent | str] | None
    """The thoughts that led to it, in order, as results of `think` or as plain texts. They become the last steps of its
    deliberation."""
    question: str | None
    """The question that it answers, unique within project and category. Agents that answered the same one can be
    compared."""
    test: str | None
    """How its outcome will be known: a rule, its window and parameters, such as git.kept:14d. The ledger reviews the
    decision from what is observed."""
    cluster: str | None
    """What its outcome depends on together with other decisions: a task, a session, a day."""
    model: str | None
    """The language model that decides, as it is claimed."""
    reported_model: str | None
    """The model that the endpoint named in its answer."""
    tags: Sequence[str] | None
    """Labels for searching."""
    pattern: str | None
    """The general rule that this decision is a case of."""
    mental_state: MentalState | None
    """The agent's way of deciding."""
    review_by: Moment | None
    """When its outcome should be reviewed."""
    kpi_indicators: Sequence[str] | None
    """Indicators that will show the outcome."""
    pre_decision: Mapping[str, Any] | None
    """What was checked before deciding."""
    trace: Sequence[Mapping[str, Any]] | None
    """The reasoning trace."""
    deliberation: Mapping[str, Any] | None
    """The chain of thought, with `inputs` and `steps`."""
    bridge: Mapping[str, Any] | None
    """The structure of the decision and the function that it serves."""
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
    """The commit at which it was made."""


class AmendFields(EventFields, total=False):
    """The changes of a decision, at least one, and the arguments of `EventFields`. An absent field does not change."""

    decision: str | None
    """The new text."""
    confidence: float | None
    """The new stated probability of success, 0..1. After the first review it changes only what is shown. Calibration
    uses the earlier one."""
    context: str | None
    """The new situation."""
    reasons: Sequence[Reason | Mapping[str, Any]] | None
    """The new reasons; an empty list removes them."""
    tags: Sequence[str] | None
    """The new labels; an empty list removes them."""
    pattern: str | None
    """The new pattern."""
    bridge: Mapping[str, Any] | None
    """The new bridge."""


class ReviewFields(EventFields, total=False):
    """The arguments of a review, and those of `EventFields`."""

    actual_result: str | None
    """What happened, in words."""
    lessons: str | None
    """What was learned."""
    notes: str | None
    """Anything else."""
    affected_kpis: Mapping[str, float] | None
    """The measured change of each indicator."""


class LinkFields(TypedDict, total=False):
    """The arguments of a link."""

    weight: float | None
    """How strongly the decisions are linked, above 0, at most 1."""
    context: str | None
    """Why they are linked, in words."""
    event_id: str | None
    """The event's id, 1..128 printable characters, unique to the agent. Give one, and the same call in another process
    is a retry: it adds nothing. The default is a new UUIDv7."""


class ThoughtFields(EventFields, total=False):
    """The arguments of a thought, and those of `EventFields`."""

    decision_id: str | None
    """The id of the recorded decision to which it belongs. Without one, it is a thought before a decision."""
    thought_id: str | None
    """The id of a thought before a decision, 1..64 letters, digits and `._-`. The default is a new one."""
    agent_id: str | None
    """The agent that thought it, if several agents use one token. Only for a thought before a decision."""


class DecisionSelection(TypedDict, total=False):
    """The decisions to use, for both `decisions` and `calibration`."""

    agent: str | None
    """The agent that decided. The default is this client's agent; None means every agent."""
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
    """Only decisions of the last 30, 60 or 90 days, or all."""
    as_of: int | Moment | None
    """The position or time up to which events are used. The default is now."""


class DecisionFilter(DecisionSelection, total=False):
    """The arguments that list decisions, and those of `DecisionSelection`."""

    status: Literal["pending", "reviewed", "retracted"] | None
    """Only decisions without a review, only those with one, or only retracted ones, which are left out otherwise."""
    outcome: Outcome | None
    """Only decisions with this outcome."""
    tag: str | Sequence[str] | None
    """Only decisions with this label, or with any of these."""
    search: str | None
    """Only decisions whose texts contain all of these words."""
    retrieval_mode: Literal["semantic", "keyword", "hybrid"] | None
    """Rank what `search` finds, the best first: by its meaning, by its words, or by both."""
    hybrid_weight: float | None
    """The weight of the meaning in the mode hybrid, 0..1. The default is 0.7."""
    embedding: str | None
    """The vector of the search, as a JSON array of numbers."""
    embedding_model: str | None
    """The model that made `embedding`."""
    cluster: str | None
    """Decisions of one cluster."""
    model: str | None
    """Decisions by one model, by any of its names."""
    sort: Literal["created_at", "confidence", "category", "stakes", "status"] | None
    """The field to sort by. The default is created_at."""
    order: Literal["asc", "desc"] | None
    """The order of sorting. The default is desc."""
    limit: int | None
    """The highest number of decisions, 1..1,000. The default is 100."""
    offset: int | None
    """The number of decisions to skip: `next` of the previous page."""


class CalibrationFilter(DecisionSelection, total=False):
    """The figures to compute, and the arguments of `DecisionSelection`."""

    model: str | None
    """Decisions by one model, by any of its names."""
    group_by: Literal["confidence_bucket", "category", "stakes", "agent", "project", "feature", "model"] | None
    """The field to group by. The default is confidence_bucket."""
    min_decisions: int | None
    """The lowest number of reviewed decisions for which there are figures. The default is 5."""
    detail: Literal["figures", "curves"] | None
    """curves adds the calibration curve, its bands, the AUC and the Murphy diagram. The default is figures."""
    threshold: float | None
    """Adds what acting only on decisions with at least this confidence, 0..0.999, would have come to."""
    include: Sequence[Literal["trend", "drift", "comparison", "reviews_by_age", "plots"]] | None
    """The parts to add."""
    trend_days: int | None
    """The length of the windows of `trend`, days. The default is 30."""
    limit: int | None
    """The highest number of groups, 1..1,000. The default is 1,000."""
    offset: int | None
    """The number of groups to skip: `groups_next` of the previous page."""
    group_sort: Literal["name", "decisions"] | None
    """The order of groups: by their names, or those with the most decisions first. The default is name."""


class Plan(TypedDict, total=False):
    """A decision that is about to be made."""

    agent: str | None
    """The agent whose earlier decisions are used. The default is this client's agent."""
    category: str | None
    """Its category."""
    stakes: Stakes | None
    """Its stakes."""
    confidence: float | None
    """The confidence that the agent intends to state, 0..1."""
    as_of: int | Moment | None
    """The position or time up to which events are used. The default is now."""


class EventFilter(TypedDict, total=False):
    """The events to read."""

    after: int | None
    """Only positions above this one. The default is 0."""
    types: Sequence[str] | None
    """Only these types, such as `decision.recorded.v1`."""
    subjects: Sequence[str] | None
    """Only these streams, such as `decision/3f2a9c1e`."""
    agent: str | None
    """Only events of this agent. The default is every agent."""
    correlationid: str | None
    """Only events with this correlation id."""
    since: Moment | None
    """Only events that happened then or later."""
    until: Moment | None
    """Only events that happened before."""


class EventSelection(EventFilter, total=False):
    """The arguments that read events, and those of `EventFilter`."""

    before: int | None
    """Only positions below this one."""
    order: Literal["asc", "desc"] | None
    """The default is asc, the oldest first."""
    limit: int | None
    """The highest number of events. The default is all."""


class DiscoveryOptions(TypedDict, total=False):
    """The task of a discovery run, and when it stops."""

    run_id: str | None
    """The id of the run, 1..64 letters, digits and `._-`. The default is a new one. Give the id of an
    interrupted run to continue it."""
    probe_id: str | None
    """The task that each answer solves. The default is refactor-go."""
    max_iterations: int | None
    """The number of models after which it stops, 1..1,000. The default is 15."""
    max_attempts: int | None
    """The number of prompts after which it stops, 1..1,000. The default is 40."""
    terminate_on_repeat: bool | None
    """Whether it stops when a model answers again. The default is True."""
    keep_going: bool | None
    """Whether it stops only at its limits. The default is False."""
    sensitive: bool | None
    """Whether responses are stored only as evidence, which can be erased. The default is False."""
    router: str | None
    """A description of what answers. The log keeps it permanently, so do not put a secret in it."""
    requested_model: str | None
    """The requested model."""
