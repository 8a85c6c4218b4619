"""Read the changes of git repositories and their outcomes, without a ledger."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.importers.adopt.repositories import find_repositories
from api.importers.batch_append import FileFault
from api.progress import OpenProgress
from api.text_format import pluralize
from events.errors import TallystickError
from instruments.git.agents import Mark, OwnRule, read_rules
from instruments.git.history import History, LandedChange, read_history
from instruments.git.pull_requests import PullRequest
from instruments.git.repository import Repository
from ledger.errors import InvalidQuery
from projections.changes.outcomes import (
    DAY_S,
    SURVIVAL_DAYS,
    UNMARKED,
    ChangeFacts,
    Fix,
    outcomes_by_agent,
)
from tallystick.shapes.changes import ChangeOutcomes

COARSE_SHARE = 0.05
"""With more changes that merge the main line into itself, a change is often a person's whole work of days."""


class GitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How repositories are read."""

    since: datetime | None = None
    """Only changes that landed then or later are in the figures."""
    agent: str | None = None
    """Only figures of this agent, or of `unmarked`."""
    rules_file: Path | None = None
    """The owner's own rules for recognising agents."""
    seen_through: datetime | None = None
    """When the repository was brought up to date; None: not later than its newest change."""

    def read_rules(self) -> Mapping[str, OwnRule]:
        """Read the file of rules. Errors: SourceUnreadable."""
        return {} if self.rules_file is None else read_rules(self.rules_file)

    def check_agent(self, known: Collection[str]) -> None:
        """Check that something is of the agent that is asked for. Errors: InvalidQuery, which names the others."""
        if self.agent is not None and self.agent not in known:
            advice = f"There is {', '.join(sorted(known))}." if known else "Nothing is here in that time."
            raise InvalidQuery("agent", f"nothing here has a mark of {self.agent!r}.", advice)


class RepositoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a repository's main line, and their outcomes."""

    path: str
    """Its folder."""
    head: str
    """The newest change that was read."""
    landed: int
    """How many changes landed in the time that figures are about."""
    since: datetime | None
    """When the first of them landed, UTC; None without any."""
    seen_through: datetime
    """When the newest change landed, UTC: outcomes are known until then."""
    agents: list[ChangeOutcomes]
    """The figures, by agent."""
    reverts: dict[str, int]
    """How many commits say which change they take back, by how that is known: sha, pull_request, subject."""
    unresolved_reverts: int
    """How many say that they take back a change which is not here."""
    caveats: list[str]
    """What limits the figures."""


class RecordedChanges(msgspec.Struct, kw_only=True):
    """What was recorded of repositories."""

    repositories: int = 0
    """Repositories of which something was new."""
    unchanged: int = 0
    """Repositories of which everything was there."""
    changes: int = 0
    """New changes."""
    outcomes: int = 0
    """New outcomes of changes: reverts, first repairs, lines that are alive at an age."""
    gone: int = 0
    """Changes that a main line no longer has, since its history was rewritten."""


class GitPreview(msgspec.Struct, kw_only=True):
    """The repositories that were read, and those that could not be."""

    repositories: list[RepositoryChanges] = []
    faults: list[FileFault] = []
    recorded: RecordedChanges | None = None
    """What was recorded; None without a ledger."""


class ReadRepository(NamedTuple):
    """A repository, the branch that was read, and its history."""

    path: Path
    branch: str
    history: History


class FoundRepositories(NamedTuple):
    """Repositories, and what they show."""

    repositories: list[ReadRepository]
    preview: GitPreview


def read_repositories(
    paths: Sequence[Path], options: GitOptions, progress: OpenProgress, requests: Sequence[PullRequest] = ()
) -> FoundRepositories:
    """Read the repositories at and below some folders. Requests that landed changes are marks on these.

    Errors: InvalidQuery, for a path without a repository; SourceUnreadable.
    """
    rules, agents = options.read_rules(), set[str]()
    preview, read = GitPreview(), list[ReadRepository]()
    for path in find_repositories(paths):
        repository = Repository(path)
        try:
            with progress(path.name, "changes") as report:
                history = with_request_marks(read_history(repository, rules, report), requests)
                history = _seen(history, options.seen_through, path)
            branch = repository.text("rev-parse", "--abbrev-ref", "HEAD")
        except TallystickError as error:
            preview.faults.append(FileFault.of(error, str(path)))
        else:
            found = _describe(path, history, options)
            agents |= {figures.agent for figures in found.agents}
            preview.repositories.append(of_agent(found, options.agent))
            read.append(ReadRepository(path, branch, history))
    if preview.repositories:
        options.check_agent(agents)
    return FoundRepositories(read, preview)


def _seen(history: History, seen_through: datetime | None, path: Path) -> History:
    """Return a history that is known through a time. Errors: InvalidQuery, for a time before its newest change."""
    if seen_through is None:
        return history
    if seen_through.timestamp() < history.watermark_s:
        newest = f"{datetime.fromtimestamp(history.watermark_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
        raise InvalidQuery("seen_through", f"{path} has a later change, {newest}.", "Name that time or a later one.")
    return structs.replace(history, seen_s=int(seen_through.timestamp()))


def of_agent(found: RepositoryChanges, agent: str | None) -> RepositoryChanges:
    """Return the changes of a repository with the figures of one agent; None: of all."""
    return structs.replace(found, agents=[figures for figures in found.agents if agent in {None, figures.agent}])


def _describe(path: Path, history: History, options: GitOptions) -> RepositoryChanges:
    since_s = 0 if options.since is None else options.since.timestamp()
    facts = [facts for facts in change_facts(history) if facts.landed_s >= since_s]
    agents = outcomes_by_agent(facts, history.watermark_s)
    return RepositoryChanges(
        path=str(path),
        head=history.head,
        landed=len(facts),
        since=datetime.fromtimestamp(facts[0].landed_s, UTC) if facts else None,
        seen_through=datetime.fromtimestamp(history.watermark_s, UTC),
        agents=list(agents),
        reverts={str(form): count for form, count in history.resolved_reverts.items()},
        unresolved_reverts=history.unresolved_reverts,
        caveats=list(_caveats(history, agents)),
    )


def with_request_marks(history: History, requests: Iterable[PullRequest]) -> History:
    """Return a history in which changes have the marks of the requests that landed them, by id, or else by number."""
    by_sha = {request.merge_sha: request for request in requests if request.merge_sha is not None}
    by_number = {request.number: request for request in requests if request.merged_s is not None}
    by_number.pop(None, None)

    def marked(change: LandedChange) -> LandedChange:
        request = by_sha.get(change.sha) or by_number.get(change.number)
        if request is None:
            return change
        marks = (Mark(mark.agent, "request") for mark in request.marks)
        return structs.replace(change, marks=tuple(dict.fromkeys([*change.marks, *marks])))

    return structs.replace(history, changes=[marked(change) for change in history.changes])


def change_facts(history: History) -> Sequence[ChangeFacts]:
    """Return what is known of each change of a history."""
    return [_facts(change, history) for change in history.changes]


def _facts(change: LandedChange, history: History) -> ChangeFacts:
    fix = next((ended.by for ended in change.ended if history.changes[ended.by].is_fix), None)
    return ChangeFacts(
        agents=tuple(change.agents),
        marks=tuple(dict.fromkeys(mark.rule for mark in change.marks)),
        models=tuple(dict.fromkeys(mark.model for mark in change.marks if mark.model is not None)),
        landed_s=change.landed_s,
        born=change.born,
        reverted_s=history.changes[change.reverted[0].by].landed_s if change.reverted else None,
        fix=None if fix is None else Fix(history.changes[fix].landed_s, fix),
        alive=tuple(
            change.born - sum(ended.lines for ended in change.ended if history.changes[ended.by].landed_s <= end_s)
            for end_s in (change.landed_s + days * DAY_S for days in SURVIVAL_DAYS)
            if end_s <= history.watermark_s
        ),
    )


def _caveats(history: History, agents: Iterable[ChangeOutcomes]) -> Iterable[str]:
    by_agent = {figures.agent: figures for figures in agents}
    if UNMARKED in by_agent:
        yield "Unmarked changes may be an agent's, too: most agents can leave no mark, and squashes drop them."
    if any("+" in agent for agent in by_agent):
        yield "A change with marks of several agents is in a row of its own."
    if history.is_shallow:
        yield "This is a shallow clone: earlier changes are missing. Get them: git fetch --unshallow."
    if history.main_merged > COARSE_SHARE * len(history.changes):
        merged = pluralize(history.main_merged, "change")
        yield f"{merged} merged the main line into itself, as people do before a push: such a change is many at once."
    if history.unresolved_reverts:
        yield f"Not found: what {pluralize(history.unresolved_reverts, 'commit')} by their own words took back."
