"""A git repository, read safely: its settings, hooks and programs have no effect, and nothing is fetched or written."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from instruments.errors import SourceUnreadable

_SETTINGS = (
    "safe.directory=*",  # nothing of the repository is run, so it may be anybody's
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.attributesFile=/dev/null",
    "log.showSignature=false",
    "diff.renames=true",
    "diff.renameLimit=1000",
    "diff.algorithm=myers",
    "diff.indentHeuristic=true",
    "diff.suppressBlankEmpty=false",
)
_OPTIONS = ("--no-pager", "--no-replace-objects", *(word for text in _SETTINGS for word in ("-c", text)))
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what it lacks
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_STDERR_BYTES = 2_000


class Repository:
    """A git repository at a folder, or the one that contains it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self, *words: str) -> str:
        """Return what a git command prints, without white space at its ends. Errors: SourceUnreadable."""
        with self.output(*words) as stream:
            return stream.read().decode(errors="replace").strip()

    @contextmanager
    def output(self, *words: str) -> Iterator[IO[bytes]]:
        """Run a git command; yield its output, which must be read to its end.

        Errors: SourceUnreadable, if there is no git, or if the command fails: then what was read is incomplete.
        """
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            process = subprocess.Popen(  # noqa: S603 - our own words; no shell
                ["git", "-C", str(self.path), *_OPTIONS, *words],  # noqa: S607 - the git of the user's path
                env=environment | _ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise SourceUnreadable("There is no command git.", "Install git.") from None
        assert process.stdout is not None
        with process:
            try:
                yield process.stdout
            finally:
                process.stdout.close()
                said = self._said(process)
        if process.returncode:
            raise SourceUnreadable(f"{self.path}: git ended with {process.returncode}: {said}", _advice(said))

    def _said(self, process: "subprocess.Popen[bytes]") -> str:
        assert process.stderr is not None
        lines = process.stderr.read(_STDERR_BYTES).decode(errors="replace").splitlines()
        return (
            next((line for line in lines if line.startswith(("fatal:", "error:"))), "".join(lines[:1])) or "no reason"
        )


def _advice(said: str) -> str:
    if "not a git repository" in said:
        return "Name a folder that a git repository contains."
    if "promisor" in said or "could not fetch" in said or "lazy" in said:
        return "It is a partial clone. Get what it lacks: git fetch --refetch --no-filter."
    if "does not have any commits" in said or "unknown revision" in said or "bad revision" in said:
        return "Name a repository with commits."
    return "Check it: git fsck."
