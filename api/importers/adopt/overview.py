"""Read everything that is here already: git repositories, and sessions of coding agents."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from api.importers.adopt.git_changes import FoundRepositories, GitOptions, GitPreview, read_repositories
from api.importers.adopt.sessions import FoundSessions, SessionsPreview, read_sessions
from api.progress import OpenProgress
from ledger.errors import InvalidQuery


class AdoptPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What agents did, from what is here already."""

    git: GitPreview
    """Changes and their outcomes."""
    sessions: SessionsPreview
    """Sessions on this machine."""

    @property
    def found(self) -> bool:
        """Whether there is a repository or a session."""
        return bool(self.git.repositories or self.sessions.programs)

    @property
    def faults(self) -> bool:
        """Whether something could not be read or recorded."""
        return bool(self.git.faults or self.sessions.faults)


class FoundAll(NamedTuple):
    """Repositories and sessions."""

    git: FoundRepositories
    sessions: FoundSessions

    @property
    def preview(self) -> AdoptPreview:
        """What they show."""
        return AdoptPreview(git=self.git.preview, sessions=self.sessions.preview)


def read_all(
    paths: Sequence[Path],
    session_paths: Sequence[Path],
    options: GitOptions,
    now: datetime,
    progress: OpenProgress,
) -> FoundAll:
    """Read repositories and sessions. Without paths, a folder without a repository is no error.

    Errors: InvalidQuery, for a path that has neither; SourceUnreadable.
    """
    try:
        git = read_repositories(paths or [Path()], options, progress)
    except InvalidQuery:
        if paths:
            raise
        git = FoundRepositories([], GitPreview())
    return FoundAll(git, read_sessions(session_paths, now, progress, since=options.since))
