"""Real histories: origins of lines are those of git blame, and figures those of their README."""

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from instruments.git.code_lines import BORN_LINES_MAX
from instruments.git.history import History
from instruments.git.history_log import read_changes
from instruments.git.line_origins import UNKNOWN, LineOrigins
from instruments.git.repository import Repository
from tests.support.paths import SHARED

BUNDLES = ("superpowers", "playwright-mcp", "tools")
BLAMED_FILES = 30
DAY_S = 86_400

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
            subprocess.run(["git", "clone", "-q", SHARED / "git" / f"{name}.bundle", path], check=True)
        return Repository(path)

    return open_bundle


def blamed(path: Path, name: str) -> list[str]:
    """The id that git blame gives for each line."""
    command = ["git", "-C", path, "blame", "--first-parent", "-w", "--porcelain", "HEAD", "--", name]
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


def survival(history: History, agent: str | None, days: int) -> tuple[int, float]:
    """Lines born in changes that are old enough, and the share of them that are alive after some days."""
    born = alive = 0
    for change in history.changes:
        if list(change.agents) != [agent] * (agent is not None) or not 0 < change.born <= BORN_LINES_MAX:
            continue
        end_s = change.landed_s + days * DAY_S
        if end_s <= history.watermark_s:
            born += change.born
            alive += change.born - sum(one.lines for one in change.ended if history.changes[one.by].landed_s <= end_s)
    return born, alive / born
