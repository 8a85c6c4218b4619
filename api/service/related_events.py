"""Use case: all that happened under one correlation id: decisions with their reviews, scores, and every event."""

from collections.abc import Iterable
from datetime import datetime
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from api.service.decisions import decision_states
from api.service.event_search import search_events
from api.service.ledger import View
from api.service.operation import operation
from api.service.shared_fields import shared_fields
from events.envelope import Event
from events.evaluation import EvalScored, ScoreState
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.probe import ProbeScored
from ledger.errors import InvalidQuery
from ledger.log import LogPage, Query
from projections.decisions.decision_state import DecisionState
from projections.shared_params import After, Limit
from tallystick.shapes.parts import AsOf


class RelatedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event with the correlation id.

    `causationid` is the id of its cause, as stated; `cause` is the position of the newest earlier event of this page
    with that id, None if there is none.
    """

    position: int
    type: str
    subject: str
    agent: str
    time: datetime
    causationid: str | None = None
    cause: int | None = None


class RelatedEvalScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an answer in an evaluation; `model` and `confidence` are as the answer states them."""

    run_id: str
    scenario_id: str
    attempt: int
    state: ScoreState
    passed: bool | None
    total_score: float | None
    model: str | None
    reported_model: str | None
    confidence: float | None
    position: int


class RelatedProbeScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an answer to a probe. `run_id` and `attempt` are those of its discovery run, if it has one."""

    score_id: str
    probe_id: str
    scorer_id: str
    run_id: str | None
    attempt: int | None
    model_name: str | None
    reported_model: str | None
    total_score: float | None
    position: int


class RelatedEvents(msgspec.Struct, frozen=True, kw_only=True):
    """All that happened under a correlation id, as of a position.

    `decisions` are in their current state: also those of which only a later event, such as the review, has the id.
    `next` is the position to continue after, None if every event was searched.
    """

    correlationid: str
    events: list[RelatedEvent]
    decisions: list[DecisionState]
    evaluation_scores: list[RelatedEvalScore]
    probe_scores: list[RelatedProbeScore]
    next: int | None
    as_of: AsOf


class RelatedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Under which correlation id to look, and for which page of events."""

    correlationid: Annotated[
        str, Meta(description="The correlation id.", extra_json_schema={"type": "string", "minLength": 1})
    ]
    after: After = 0
    limit: Limit = PAGE_EVENTS_DEFAULT


@operation("/related", "related", heavy=True)
async def get_related(view: View, params: RelatedQuery) -> RelatedEvents:
    """Show all that happened under one correlation id.

    It joins the decisions with their reviews, the scores of evaluations and of probes, and lists every event.
    """
    return await find_related(view, params.correlationid, params.after, params.limit)


async def find_related(
    view: View,
    correlationid: str,
    after: int = 0,
    limit: int = PAGE_EVENTS_MAX,
    *,
    search_s: float = inf,
) -> RelatedEvents:
    """Find the events with a correlation id, in the order of the log, or those found in `search_s`.

    Errors: InvalidQuery.
    """
    if not correlationid:
        raise InvalidQuery("correlationid", "it is empty.", "Name a correlation id.")
    position = await view.head_position()
    query = Query(correlationid=correlationid, after=after, before=position + 1, limit=limit)
    found = await search_events(view, query, search_s)
    events = list(view.usable_events(LogPage(b"\n".join(found.lines), found.positions, found.more)))
    subjects = dict.fromkeys(event.subject for event in events if event.subject.startswith("decision/"))
    return RelatedEvents(
        correlationid=correlationid,
        events=_with_causes(events),
        decisions=await decision_states(view, list(subjects), position),
        evaluation_scores=[
            RelatedEvalScore(**shared_fields(event.data, RelatedEvalScore), position=event.position)
            for event in events
            if isinstance(event.data, EvalScored)
        ],
        probe_scores=[
            RelatedProbeScore(**shared_fields(event.data, RelatedProbeScore), position=event.position)
            for event in events
            if isinstance(event.data, ProbeScored)
        ],
        next=found.next,
        as_of=await view.dated(position),
    )


def _with_causes(events: Iterable[Event]) -> list[RelatedEvent]:
    """Return the events, each with the position of its cause."""
    positions: dict[str, int] = {}
    related: list[RelatedEvent] = []
    for event in events:
        cause = None if event.causationid is None else positions.get(event.causationid)
        related.append(
            RelatedEvent(
                position=event.position,
                type=event.name,
                subject=event.subject,
                agent=event.agent,
                time=event.moment,
                causationid=event.causationid,
                cause=cause,
            )
        )
        positions[event.id] = event.position
    return related
