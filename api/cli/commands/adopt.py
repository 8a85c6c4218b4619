"""adopt: see what agents did, from what people have already."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show, use_store
from api.cli.options import argument, flag, option
from api.cli.output import show_progress

if TYPE_CHECKING:
    from api.importers.adopt.git_changes import GitOptions
    from api.service.store import EventStore

Since = Annotated[str | None, option("Only what happened then or later is in the figures.", "TIME")]
Rules = Annotated[Path | None, option("Your own marks of agents: TOML with a table agents.NAME for each.", "FILE")]
Record = Annotated[bool, flag("--record", "Record what is new in the ledger; files of sessions become evidence.")]
Agent = Annotated[str | None, option("Only the figures of this agent, or of `unmarked`.", "NAME")]


@verb(server=True)
def everything(
    target: LedgerTarget,
    paths: Annotated[list[Path] | None, argument("Git repositories, or folders with some.", "[PATH...]")] = None,
    *,
    session_paths: Annotated[
        list[Path] | None, option("Files of sessions, or folders with some; may be repeated.", "PATH", "--sessions")
    ] = None,
    since: Since = None,
    agent: Agent = None,
    rules: Rules = None,
    record: Record = False,
) -> None:
    """Show what agents did here, from git repositories and sessions.

    This verb may be left out. Without a path: the repository here, or those below this folder. Without --sessions:
    those in the usual places of Claude Code, Codex and Gemini CLI. Nothing is fetched or run, and nothing is written
    without --record. Exit code 1: something could not be read; 2: there is nothing.

    Example: tallystick adopt ~/work
    """
    from datetime import UTC, datetime

    from api.cli.render.sessions import print_overview
    from api.importers.adopt.change_record import record_changes
    from api.importers.adopt.overview import read_all
    from api.importers.adopt.session_record import record_sessions

    now, options = datetime.now(UTC), _options(since, agent, rules)
    found = read_all(paths or [], session_paths or [], options, now, show_progress)

    async def record_found(store: "EventStore") -> None:
        await record_changes(found.git, store, show_progress)
        await record_sessions(found.sessions, store, now, show_progress)

    preview = found.preview
    if record and preview.found:
        use_store(target, record_found)
    show(target, preview, print_overview, code=(1 if preview.faults else 0) if preview.found else 2)


@verb(server=True)
def git(
    target: LedgerTarget,
    paths: Annotated[list[Path] | None, argument("Git repositories, or folders with some.", "[PATH...]")] = None,
    *,
    since: Since = None,
    seen_through: Annotated[
        str | None, option("When it was brought up to date; otherwise its newest change.", "TIME")
    ] = None,
    agent: Agent = None,
    rules: Rules = None,
    record: Record = False,
) -> None:
    """Show the outcomes of the changes in git repositories, by agent.

    Agents are known by the marks that they leave in commits; a change without one is unmarked. A change is kept if
    it is neither reverted nor fixed within 14 days, and counts when it is so old. Without a path: the repository
    here, or those below this folder. Nothing is fetched or run. What happened is known until the newest change, or
    until --seen-through: a time, or `now` after a `git pull`. Nothing is written without --record. With it, every
    change is recorded, whatever --since and --agent say; what is there already is not recorded again. Exit code 1: a
    repository could not be read or recorded; 2: none could.

    Example: tallystick adopt git ~/work --since 2026-01-01
    """
    from api.cli.render.adopt import print_git_preview
    from api.importers.adopt.change_record import record_changes
    from api.importers.adopt.git_changes import read_repositories

    options = _options(since, agent, rules, seen_through)
    found = read_repositories(paths or [Path()], options, show_progress)
    if record and found.repositories:
        use_store(target, lambda store: record_changes(found, store, show_progress))
    preview = found.preview
    code = (1 if preview.repositories else 2) if preview.faults else 0
    show(target, preview, print_git_preview, code=code)


@verb(server=True)
def pulls(
    target: LedgerTarget,
    files: Annotated[list[Path], argument("Lists of pull requests.", "FILE...")],
    *,
    repository: Annotated[
        Path | None, option("The repository of the requests: show what they landed, too.", "PATH")
    ] = None,
    since: Since = None,
    seen_through: Annotated[
        str | None, option("When the lists were made. Without it: the newest time in them.", "TIME")
    ] = None,
    agent: Agent = None,
    rules: Rules = None,
    record: Record = False,
) -> None:
    """Show the outcomes of pull requests, by agent.

    A list is what `gh pr list --json FIELDS`, or the REST interface of GitHub or GitLab prints, or CSV with agent,
    created_at, closed_at and merged_at. Agents are known by the account that opened a request, and by its branch.
    No forge is asked, and nothing is written without --record. With it, every request with a number is recorded,
    known by its --repository. What a list does not show is taken as not happened only if it has all requests: it
    lacks none that is recorded, and is not as long as one page of a forge, unless --seen-through is stated.

    Example: tallystick adopt pulls pulls.json --repository .
    """
    from api.cli.render.adopt import print_request_preview
    from api.importers.adopt.pull_requests import preview_requests
    from api.importers.adopt.request_record import check_repository, record_requests
    from api.parameters import parse_instant

    through = None if seen_through is None else parse_instant("seen_through", seen_through, end=True)
    options = _options(since, agent, rules)
    found = preview_requests(files, options, show_progress, seen_through=through, repository=repository)
    if record:
        read = check_repository(found)
        use_store(target, lambda store: record_requests(found, read, store))
    show(target, found.preview, print_request_preview)


@verb(server=True)
def sessions(
    target: LedgerTarget,
    paths: Annotated[list[Path] | None, argument("Files of sessions, or folders with some.", "[PATH...]")] = None,
    *,
    since: Annotated[str | None, option("Only sessions that went on then or later.", "TIME")] = None,
    record: Record = False,
    again: Annotated[bool, flag("--again", "Read what is recorded again, from its evidence, and record it.")] = False,
) -> None:
    """Show what sessions of coding agents on this machine did.

    That is: answers, models, tokens, tools and denials, in sessions of Claude Code, Codex and Gemini CLI, and exports
    of opencode. Without a path: those in the usual places. Answers are counted once, though files repeat them. Texts
    are not shown, and nothing is written without --record. With it, what is there already is not recorded again, and
    the log gets ids, times, models, tokens, tools and counts; the files themselves become evidence, which can be
    erased. With --again, recorded sessions are read as this version would read them; calls that are recorded stay as
    they are. Exit code 1: a file could not be read; 2: there is no session.

    Example: tallystick adopt sessions --record
    """
    from datetime import UTC, datetime

    from api.cli.render.sessions import print_sessions
    from api.importers.adopt.session_again import record_again
    from api.importers.adopt.session_record import record_sessions
    from api.importers.adopt.sessions import read_sessions
    from api.parameters import parse_instant
    from ledger.errors import InvalidQuery

    now, oldest = datetime.now(UTC), None if since is None else parse_instant("since", since)
    if again:
        if paths or since is not None or record:
            raise InvalidQuery("again", "it reads all that is recorded.", "Leave out PATH, --since and --record.")
        seen = use_store(target, lambda store: record_again(store, now, show_progress))
        show(target, seen, print_sessions, code=(1 if seen.faults else 0) if seen.programs else 2)
        return
    found = read_sessions(paths or [], now, show_progress, since=oldest)
    preview = found.preview
    if record and found.sessions:
        use_store(target, lambda store: record_sessions(found, store, now, show_progress))
    show(target, preview, print_sessions, code=(1 if preview.faults else 0) if preview.programs else 2)


def _options(since: str | None, agent: str | None, rules: Path | None, seen_through: str | None = None) -> "GitOptions":
    from datetime import UTC, datetime

    from api.importers.adopt.git_changes import GitOptions
    from api.parameters import parse_instant

    seen = None
    if seen_through is not None:
        now = datetime.now(UTC)
        seen = now if seen_through == "now" else min(now, parse_instant("seen_through", seen_through, end=True))
    return GitOptions(
        since=None if since is None else parse_instant("since", since),
        agent=agent,
        rules_file=rules,
        seen_through=seen,
    )
