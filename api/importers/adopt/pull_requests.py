"""Read lists of pull requests and their outcomes, without a ledger."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import structs

from api.importers.adopt.git_changes import GitOptions, RepositoryChanges, of_agent, read_repositories
from api.progress import OpenProgress
from instruments.git.agents import agents_of
from instruments.git.pull_requests import PullRequest, read_pull_requests
from ledger.errors import InvalidQuery
from projections.changes.requests import RequestFacts, request_outcomes
from tallystick.shapes.changes import RequestOutcomes


class RequestPreview(msgspec.Struct, frozen=True, kw_only=True):
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


def preview_requests(
    files: Sequence[Path],
    options: GitOptions,
    progress: OpenProgress,
    *,
    seen_through: datetime | None = None,
    repository: Path | None = None,
) -> RequestPreview:
    """Read lists of requests. Outcomes are those at `seen_through`, which no time in the lists is after.

    Errors: SourceUnreadable; InvalidQuery, for a folder without a repository, and where no request is.
    """
    rules = options.read_rules()
    requests = [request for file in files for request in read_pull_requests(file, rules)]
    if not requests:
        raise InvalidQuery("FILE", "there is no pull request in it.", "List all of them: gh pr list --state all")
    newest_s = max(request.seen_s for request in requests)
    watermark_s = newest_s if seen_through is None else seen_through.timestamp()
    if watermark_s < newest_s:
        newest = f"{datetime.fromtimestamp(newest_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
        raise InvalidQuery("seen_through", f"the lists have a later time, {newest}.", "Name that or a later one.")
    since_s = 0 if options.since is None else options.since.timestamp()
    facts = [_facts(request) for request in requests if request.created_s >= since_s]
    figures = request_outcomes(facts, watermark_s)
    options.check_agent({one.agent for one in figures})
    everything = structs.replace(options, agent=None)  # the repository may know none of that agent
    found = (
        []
        if repository is None
        else read_repositories([repository], everything, progress, requests).preview.repositories
    )
    return RequestPreview(
        files=list(map(str, files)),
        requests=len(facts),
        seen_through=datetime.fromtimestamp(watermark_s, UTC),
        agents=[figures for figures in request_outcomes(facts, watermark_s) if options.agent in {None, figures.agent}],
        caveats=list(_caveats(facts)),
        repositories=[of_agent(one, options.agent) for one in found],
    )


def _facts(request: PullRequest) -> RequestFacts:
    return RequestFacts(
        agents=tuple(agents_of(request.marks)),
        marks=tuple(dict.fromkeys(mark.rule for mark in request.marks)),
        created_s=request.created_s,
        closed_s=request.closed_s,
        merged_s=request.merged_s,
        review=request.review,
        checks=request.checks,
    )


def _caveats(facts: Sequence[RequestFacts]) -> Iterable[str]:
    if any(not request.agents for request in facts):
        yield "Unmarked requests may be an agent's, too: many agents open them under the account of a person."
    yield "Merged is not good, and closed is not bad: many are closed by a timer, or for another request."
    if any(request.checks is not None for request in facts):
        yield "Checks that were skipped, cancelled or missing are no evidence: they count as none."
