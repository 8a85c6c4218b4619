"""Use case of changes: the outcomes of the recorded changes and pull requests of repositories, by agent."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, structs

from api.service.ledger import View
from api.service.operation import operation
from api.service.unknown_names import find_unknown_names
from ledger.threads import run_on_thread
from projections.changes.change_index import ChangeIndex, RepositoryState
from projections.changes.outcomes import outcomes_by_agent
from projections.changes.requests import request_outcomes
from projections.shared_params import Since
from tallystick.shapes.changes import (
    ChangeOutcomes,
    ChangesAnswer,
    RepositoryOutcomes,
    RepositoryRequests,
    RequestOutcomes,
)


class ChangesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which changes are meant: those that landed at a time or later, and perhaps those of one agent."""

    since: Since = None
    agent: Annotated[str | None, Meta(description="Only this agent's figures, or those of `unmarked`.")] = None


@operation("/changes", "changes")
async def get_changes(view: View, params: ChangesQuery) -> ChangesAnswer:
    """Return the outcomes of recorded changes and pull requests by agent."""
    projection, position = await view.at(ChangeIndex)
    repositories, requests = await run_on_thread(_describe_all, projection.copy(), params)
    known = {figures.agent for one in repositories for figures in one.agents}
    known |= {figures.agent for one in requests for figures in one.agents}
    if params.agent is not None:
        repositories = [structs.replace(one, agents=_of_agent(one.agents, params.agent)) for one in repositories]
        requests = [structs.replace(one, agents=_of_agent(one.agents, params.agent)) for one in requests]
    unknown = tuple(find_unknown_names({"agent": params.agent}, {"agent": known}) or ())
    dated = await view.dated(position)
    return ChangesAnswer(repositories=repositories, requests=requests, as_of=dated, unknown_names=unknown)


_Figures = TypeVar("_Figures", ChangeOutcomes, RequestOutcomes)


def _of_agent(figures: Iterable[_Figures], agent: str) -> list[_Figures]:
    return [one for one in figures if one.agent == agent]


def _describe_all(
    index: ChangeIndex, params: ChangesQuery
) -> tuple[list[RepositoryOutcomes], list[RepositoryRequests]]:
    since_s = 0 if params.since is None else params.since.timestamp()
    states = index.repositories()
    return (
        [_describe(state, since_s) for state in states if state.through_s],
        [_describe_requests(state, since_s) for state in states if state.requests_through_s],
    )


def _describe(state: RepositoryState, since_s: float) -> RepositoryOutcomes:
    facts = [one for one in state.facts() if since_s <= one.landed_s <= state.through_s]
    agents = outcomes_by_agent(facts, state.through_s)
    return RepositoryOutcomes(
        repository=state.repository,
        head=state.head,
        landed=len(facts),
        since=datetime.fromtimestamp(min(one.landed_s for one in facts), UTC) if facts else None,
        seen_through=datetime.fromtimestamp(state.through_s, UTC),
        agents=list(agents),
        gone=sum(change.is_gone for change in state.changes.values()),
    )


def _describe_requests(state: RepositoryState, since_s: float) -> RepositoryRequests:
    through_s = state.requests_through_s
    facts = [one.facts() for one in state.requests.values() if since_s <= one.created_s <= through_s]
    return RepositoryRequests(
        repository=state.repository,
        requests=len(facts),
        seen_through=datetime.fromtimestamp(through_s, UTC),
        agents=list(request_outcomes(facts, through_s)),
    )
