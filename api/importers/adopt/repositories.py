"""Find the git repositories under folders."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ledger.errors import InvalidQuery

DEPTH_MAX: Final = 4
"""How many levels of folders below a named one are looked at."""

_SKIPPED = {"node_modules", "site-packages", "vendor"}
"""Folders with copies of other people's work. Hidden folders and links are not followed, either."""


def find_repositories(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield each repository once: those that contain a path, and those below it, but not those inside another.

    Errors: InvalidQuery, for a path that is no folder, or without a repository.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            raise InvalidQuery("PATH", f"{path} is not a folder.", "Name a folder with git repositories.")
        place = path.resolve()
        within = next((folder for folder in (place, *place.parents) if _is_repository(folder)), None)
        repositories = list(_below(place, DEPTH_MAX)) if within is None else [within]
        if not repositories:
            detail = f"{path} contains no git repository down to {DEPTH_MAX} levels."
            raise InvalidQuery("PATH", detail, "Name a repository, or a folder nearer to it.")
        for repository in repositories:
            if repository not in found:
                found.add(repository)
                yield repository


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for entry in _folders(folder):
        path = Path(entry.path)
        if _is_repository(path):
            yield path
        elif depth > 1:
            yield from _below(path, depth - 1)


def _folders(folder: Path) -> Iterable["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if _is_looked_at(entry)), key=lambda entry: entry.name)
    except OSError:  # a folder of somebody else
        return []


def _is_looked_at(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name not in _SKIPPED


def _is_repository(folder: Path) -> bool:
    """Return whether a folder is a work tree or a bare repository."""
    return (folder / ".git").exists() or all((folder / name).exists() for name in ("HEAD", "objects", "refs"))
