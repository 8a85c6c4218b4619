"""Use case of changes: the outcomes of the recorded changes of repositories, by agent."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta, structs

from api.service.ledger import View
from api.service.operation import operation
from api.service.unknown_names import find_unknown_names
from ledger.threads import run_on_thread
from projections.changes.change_index import ChangeIndex, RepositoryState
from projections.changes.outcomes import outcomes_by_agent
from projections.shared_params import Since
from tallystick.shapes.changes import ChangesAnswer, RepositoryOutcomes


class ChangesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which changes are meant: those that landed at a time or later, and perhaps those of one agent."""

    since: Since = None
    agent: Annotated[str | None, Meta(description="Only this agent's figures, or those of `unmarked`.")] = None


@operation("/changes", "changes")
async def get_changes(view: View, params: ChangesQuery) -> ChangesAnswer:
    """Return the outcomes of recorded changes by agent: kept, reverted and fixed, and lines that are alive."""
    projection, position = await view.at(ChangeIndex)
    repositories = await run_on_thread(_describe_all, projection.copy(), params)
    known = {figures.agent for repository in repositories for figures in repository.agents}
    if params.agent is not None:
        repositories = [_of_agent(repository, params.agent) for repository in repositories]
    unknown = tuple(find_unknown_names({"agent": params.agent}, {"agent": known}) or ())
    return ChangesAnswer(repositories=repositories, as_of=await view.dated(position), unknown_names=unknown)


def _of_agent(found: RepositoryOutcomes, agent: str) -> RepositoryOutcomes:
    return structs.replace(found, agents=[figures for figures in found.agents if figures.agent == agent])


def _describe_all(index: ChangeIndex, params: ChangesQuery) -> list[RepositoryOutcomes]:
    return [_describe(state, params) for state in index.repositories() if state.through_s]


def _describe(state: RepositoryState, params: ChangesQuery) -> RepositoryOutcomes:
    since_s = 0 if params.since is None else params.since.timestamp()
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
