"""Real histories: origins of lines are those of git blame."""

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from instruments.git.history_log import read_changes
from instruments.git.line_origins import UNKNOWN, LineOrigins
from instruments.git.repository import Repository
from tests.support.paths import SHARED

BUNDLES = ("superpowers", "playwright-mcp", "tools")
BLAMED_FILES = 30

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SHARED / "git").exists(), reason="needs the shared data"),
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Repository]:
    """Clone a bundle once."""
    folder = tmp_path_factory.mktemp("bundles")

    def open_bundle(name: str) -> Repository:
        path = folder / name
        if not path.exists():
            subprocess.run(["git", "clone", "-q", str(SHARED / "git" / f"{name}.bundle"), str(path)], check=True)
        return Repository(path)

    return open_bundle


def blamed(path: Path, name: str) -> list[str]:
    """The id that git blame gives for each line."""
    command = ["git", "-C", str(path), "blame", "--first-parent", "-w", "--porcelain", "HEAD", "--", name]
    done = subprocess.run(command, check=True, capture_output=True)
    return [match[1].decode() for match in re.finditer(rb"^([0-9a-f]{40}) \d+ \d+", done.stdout, re.MULTILINE)]


@pytest.mark.parametrize("bundle", BUNDLES)
def test_origins_are_those_of_blame(opened: Callable[[str], Repository], bundle: str) -> None:
    repository = opened(bundle)
    origins = LineOrigins(lambda path, line: True, moves=False)
    shas = []
    for index, change in enumerate(read_changes(repository, "HEAD")):
        shas.append(change.commit.sha)
        origins.apply(index, change.edits)
    names = [name for name in repository.text("ls-files").splitlines() if not name.startswith('"')]
    compared = 0
    for name in random.Random(1).sample(names, BLAMED_FILES):
        expected = blamed(repository.path, name)
        if expected:  # a binary or an empty file has no lines
            found = origins.origins(name.encode())
            assert UNKNOWN not in found
            assert [shas[index] for index in found] == expected, name
            compared += len(expected)
    assert compared > 1_000
