"""Read lists of pull requests and their outcomes, without a ledger."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.importers.adopt.git_changes import (
    FoundRepositories,
    GitOptions,
    GitPreview,
    ReadRepository,
    RepositoryChanges,
    of_agent,
    read_repositories,
)
from api.progress import OpenProgress
from instruments.errors import SourceUnreadable
from instruments.git.agents import agents_of
from instruments.git.pull_requests import PullRequest, read_pull_requests
from ledger.errors import InvalidQuery
from projections.changes.requests import RequestFacts, request_outcomes
from tallystick.shapes.changes import RequestOutcomes


class RecordedRequests(msgspec.Struct, kw_only=True):
    """What was recorded of lists of requests."""

    listed: int
    """Requests in the lists."""
    requests: int = 0
    """New requests."""
    outcomes: int = 0
    """Requests that were merged or closed since, or opened again."""
    without_number: int = 0
    """Requests that were not recorded, since the list does not have their numbers."""
    missing: int = 0
    """Requests that are recorded, and that the lists do not have."""
    is_whole: bool = False
    """Whether the lists have every request, so that what they do not show did not happen."""


class RequestPreview(msgspec.Struct, kw_only=True):
    """The pull requests of some lists, their outcomes, and those of the changes that they landed."""

    files: list[str]
    """The lists."""
    requests: int
    """How many requests they have in the time that figures are about."""
    seen_through: datetime
    """The newest time in the lists, UTC: outcomes are known until then."""
    agents: list[RequestOutcomes]
    """The figures, by agent."""
    caveats: list[str]
    """What limits the figures."""
    repositories: list[RepositoryChanges]
    """The repository that the requests are joined with."""
    recorded: RecordedRequests | None = None
    """What was recorded; None without a ledger."""


class FoundRequests(NamedTuple):
    """Requests, the repositories that they are joined with, and what they show."""

    requests: Sequence[PullRequest]
    repositories: Sequence[ReadRepository]
    watermark_s: int
    """Through when it is known how they ended, seconds since 1970."""
    is_dated: bool
    """Whether the time was stated: then the lists are said to have all of them."""
    preview: RequestPreview


def preview_requests(
    files: Sequence[Path],
    options: GitOptions,
    progress: OpenProgress,
    *,
    seen_through: datetime | None = None,
    repository: Path | None = None,
) -> FoundRequests:
    """Read lists of requests. Outcomes are those at `seen_through`, which no time in the lists is after.

    Errors: SourceUnreadable, also for a repository; InvalidQuery, for a folder without one, and where no request is.
    """
    rules = options.read_rules()
    requests = [request for file in files for request in read_pull_requests(file, rules)]
    if not requests:
        raise InvalidQuery("FILE", "there is no pull request in it.", "List all of them: gh pr list --state all")
    newest_s = max(request.seen_s for request in requests)
    watermark_s = newest_s if seen_through is None else int(seen_through.timestamp())
    if watermark_s < newest_s:
        newest = f"{datetime.fromtimestamp(newest_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
        raise InvalidQuery("seen_through", f"the lists have a later time, {newest}.", "Name that or a later one.")
    since_s = 0 if options.since is None else options.since.timestamp()
    facts = [request_facts(request) for request in requests if request.created_s >= since_s]
    figures = request_outcomes(facts, watermark_s)
    options.check_agent({one.agent for one in figures})
    everything = structs.replace(options, agent=None)  # the repository may know none of that agent
    found = FoundRepositories([], GitPreview())
    if repository is not None:
        found = read_repositories([repository], everything, progress, requests)
        for fault in found.preview.faults:
            raise SourceUnreadable(fault.detail, fault.advice)
    preview = RequestPreview(
        files=list(map(str, files)),
        requests=len(facts),
        seen_through=datetime.fromtimestamp(watermark_s, UTC),
        agents=[one for one in figures if options.agent in {None, one.agent}],
        caveats=list(_caveats(facts)),
        repositories=[of_agent(one, options.agent) for one in found.preview.repositories],
    )
    return FoundRequests(requests, found.repositories, watermark_s, seen_through is not None, preview)


def request_facts(request: PullRequest) -> RequestFacts:
    """Return what figures are made of."""
    return RequestFacts(
        agents=tuple(agents_of(request.marks)),
        marks=tuple(dict.fromkeys(mark.rule for mark in request.marks)),
        created_s=request.created_s,
        closed_s=request.closed_s,
        merged_s=request.merged_s,
        review=request.review,
        checks=request.result,
    )


def _caveats(facts: Sequence[RequestFacts]) -> Iterable[str]:
    if any(not request.agents for request in facts):
        yield "Unmarked requests may be an agent's, too: many agents open them under the account of a person."
    yield "Merged is not good, and closed is not bad: many are closed by a timer, or for another request."
    if any(request.checks is not None for request in facts):
        yield "Checks that were skipped, cancelled or missing are no evidence: they count as none."
