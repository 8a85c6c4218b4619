"""Previews of git repositories: real histories give the figures of their README, and faults are reported."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from api.importers.adopt.git_changes import GitOptions, RepositoryChanges, read_repositories
from api.parameters import parse_instant
from api.progress import no_progress
from ledger.errors import InvalidQuery
from tallystick.shapes.changes import ChangeOutcomes
from tests.instruments.git.made_repository import MadeRepository
from tests.support.paths import SHARED

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not (SHARED / "git").exists(), reason="needs the shared data")
ROUNDING = 0.0015
"""The README has three digits, of which the last may differ."""


def preview(path: Path, options: GitOptions | None = None) -> RepositoryChanges:
    (found,) = read_repositories([path], options or GitOptions(), no_progress).preview.repositories
    return found


def by_agent(found: RepositoryChanges) -> Mapping[str, ChangeOutcomes]:
    return {figures.agent: figures for figures in found.agents}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, RepositoryChanges]:
    folder = tmp_path_factory.mktemp("bundles")
    for bundle in (SHARED / "git").glob("*.bundle"):
        subprocess.run(["git", "clone", "-q", str(bundle), str(folder / bundle.stem)], check=True)
    found = read_repositories([folder], GitOptions(), no_progress).preview.repositories
    return {Path(repository.path).name: repository for repository in found}


@needs_data
@pytest.mark.parametrize(
    ("bundle", "agent", "changes", "lines", "alive", "fixed"),
    [
        ("superpowers", "claude", 24, 2_722, (0.840, 0.833, 0.777), (5, 24)),
        ("superpowers", "unmarked", 142, 8_912, (0.715, 0.698, 0.539), (38, 135)),
        ("playwright-mcp", "unmarked", 317, 21_323, (0.647, 0.531, 0.289), (36, 316)),
    ],
)
def test_figures_are_those_of_the_readme(
    bundles: Mapping[str, RepositoryChanges],
    bundle: str,
    agent: str,
    changes: int,
    lines: int,
    alive: tuple[float, ...],
    fixed: tuple[int, int],
) -> None:
    figures = by_agent(bundles[bundle])[agent]
    assert figures.with_code == changes
    assert figures.matured is not None
    assert (figures.matured.fixed.count, figures.matured.fixed.n) == fixed
    assert figures.lines_alive[1].lines == lines
    assert [one.rate for one in figures.lines_alive] == pytest.approx(alive, abs=ROUNDING)


@needs_data
def test_figures_are_near_the_readme_where_recognition_differs(bundles: Mapping[str, RepositoryChanges]) -> None:
    """Two more changes are Claude's here, one by the branch that its merge names. The README has 165 and 589."""
    figures = by_agent(bundles["tools"])
    assert (figures["claude"].with_code, figures["unmarked"].with_code) == (167, 586)
    assert [one.rate for one in figures["claude"].lines_alive] == pytest.approx((0.974, 0.972, 0.969), abs=ROUNDING)
    assert [one.rate for one in figures["unmarked"].lines_alive] == pytest.approx((0.972, 0.968, 0.966), abs=ROUNDING)


@needs_data
def test_reverts_are_resolved_as_the_readme_says(bundles: Mapping[str, RepositoryChanges]) -> None:
    assert {name: found.reverts for name, found in bundles.items()} == {
        "superpowers": {"sha": 7, "subject": 4}, "playwright-mcp": {"pull_request": 3, "sha": 1}, "tools": {},
    }  # fmt: skip
    assert [bundles[name].landed for name in ("superpowers", "playwright-mcp", "tools")] == [546, 572, 1_300]


def test_a_time_leaves_earlier_changes_out_but_not_their_lines(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made")
    made.change({"a.py": "one two"}, day=0)
    made.change({"a.py": "one two three four"}, day=2)
    made.change({"b.txt": "five"}, day=40)
    found = preview(made.path, GitOptions(since=parse_instant("since", "2026-01-02")))
    (figures,) = found.agents
    assert (found.landed, figures.with_code, figures.lines_alive[0].lines) == (2, 1, 2)


def test_the_owners_rules_recognise_an_agent(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made")
    made.change({"a.py": "one two"}, day=0, author="Ann <ann+ai@example.org>")
    rules = tmp_path / "rules.toml"
    rules.write_text('[agents.ours]\naddresses = ["Ann+AI@example.org"]\n', encoding="utf-8")
    assert [figures.agent for figures in preview(made.path, GitOptions(rules_file=rules)).agents] == ["ours"]
    with pytest.raises(InvalidQuery, match="nothing here has a mark of 'unmarked'") as caught:
        preview(made.path, GitOptions(rules_file=rules, agent="unmarked"))
    assert caught.value.advice == "There is ours."


def test_a_repository_that_cannot_be_read_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    MadeRepository(tmp_path / "good").change({"a.py": "one"}, day=0)
    MadeRepository(tmp_path / "new")
    found = read_repositories([tmp_path], GitOptions(), no_progress).preview
    assert [Path(repository.path).name for repository in found.repositories] == ["good"]
    assert [(fault.file, fault.advice) for fault in found.faults] == [
        (str(tmp_path / "new"), "Name a repository with commits.")
    ]


def test_what_limits_the_figures_is_said(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made")
    both = "Co-authored-by: Claude <noreply@anthropic.com>\nCo-authored-by: Copilot <copilot@github.com>"
    made.change({"a.py": "one"}, 'Revert "What is not here"', day=0)
    made.change({"a.py": "two"}, f"Work together\n\n{both}", day=1)
    made.git("checkout", "-q", "-b", "mine", "HEAD~1")
    made.git("merge", "-q", "--no-ff", "main", "-m", "Merge branch 'main' into mine", day=2)
    made.git("clone", "-q", "--depth", "1", made.path.as_uri(), str(tmp_path / "clone"))
    assert [caveat.partition(":")[0] for caveat in preview(made.path).caveats] == [
        "Unmarked changes may be an agent's, too",
        "A change with marks of several agents is in a row of its own.",
        "1 change merged the main line into itself, as people do before a push",
        "Not found",
    ]
    assert any(caveat.startswith("This is a shallow clone") for caveat in preview(tmp_path / "clone").caveats)
