"""adopt: see what agents did, from what people have already."""

from pathlib import Path
from typing import Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import argument, option
from api.cli.output import show_progress

Since = Annotated[str | None, option("Only what happened then or later is in the figures.", "TIME")]
Agent = Annotated[str | None, option("Only the figures of this agent, or of `unmarked`.", "NAME")]


@verb(ledger=False)
def git(
    target: LedgerTarget,
    paths: Annotated[list[Path] | None, argument("Git repositories, or folders with some.", "[PATH...]")] = None,
    *,
    since: Since = None,
    agent: Agent = None,
    rules: Annotated[
        Path | None, option("Your own marks of agents: TOML with a table [agents.NAME] for each.", "FILE")
    ] = None,
) -> None:
    """Show the outcomes of the changes in git repositories, by agent.

    Agents are known by the marks that they leave in commits; a change without one is unmarked. A change is kept if
    it is neither reverted nor fixed within 14 days, and counts when it is so old. Without a path: the repository
    here, or those below this folder. Nothing is written, fetched or run. Exit code 1: a repository could not be
    read; 2: none could.

    Example: tallystick adopt git ~/work --since 2026-01-01
    """
    from api.cli.render.adopt import print_git_preview
    from api.importers.adopt.git_changes import GitOptions, preview_repositories
    from api.parameters import parse_instant

    options = GitOptions(since=None if since is None else parse_instant("since", since), agent=agent, rules_file=rules)
    preview = preview_repositories(paths or [Path()], options, show_progress)
    code = (1 if preview.repositories else 2) if preview.faults else 0
    show(target, preview, print_git_preview, code=code)
