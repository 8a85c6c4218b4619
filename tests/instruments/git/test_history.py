"""Histories of repositories that the tests make: the outcome of each change."""

import subprocess
from pathlib import Path

import pytest

from instruments.errors import SourceUnreadable
from instruments.git.history import History, read_history
from instruments.git.repository import Repository
from tests.instruments.git.made_repository import DAY_S, START_S, MadeRepository

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path) -> MadeRepository:
    return MadeRepository(tmp_path / "made")


def read(made: MadeRepository) -> History:
    return read_history(Repository(made.path), {})


def test_lines_end_with_the_change_that_removes_them(made: MadeRepository) -> None:
    made.change({"a.py": "one two three", "a.md": "four"}, day=0)
    made.change({"a.py": "one two", "b.py": "three five"}, "fix: split it", day=1)
    made.change({"b.py": "five six"}, "Change it", day=2)
    first, second, third = read(made).changes
    assert (first.born, second.born, third.born) == (3, 1, 1)  # a moved line keeps its origin
    assert [(ended.by, ended.lines) for ended in first.ended] == [(2, 1)]
    assert (second.is_fix, third.is_fix) == (True, False)
    assert [change.landed_s for change in (first, second, third)] == [START_S + day * DAY_S for day in range(3)]


def test_a_line_that_moves_to_another_kind_of_file_ends(made: MadeRepository) -> None:
    made.change({"a.py": "one two three"}, day=0)
    made.change({"a.py": "one", "a.md": "two three"}, day=1)
    assert [(ended.by, ended.lines) for ended in read(made).changes[0].ended] == [(1, 2)]


def test_a_merge_lands_all_that_it_brings(made: MadeRepository) -> None:
    made.change({"a.py": "one two"}, day=0)
    made.git("checkout", "-q", "-b", "side")
    made.change({"b.py": "three four"}, "Add b\n\nCo-authored-by: Claude <noreply@anthropic.com>", day=1)
    made.change({"b.py": "three five"}, "Fix b", day=2)
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "side", "-m", "Merge pull request #7 from ann/side", day=3)
    _, merge = read(made).changes
    assert (merge.commits, merge.born, merge.number, list(merge.agents)) == (3, 2, 7, ["claude"])
    assert merge.landed_s == START_S + 3 * DAY_S


def test_a_clock_that_runs_back_lands_no_change_before_an_earlier_one(made: MadeRepository) -> None:
    made.change({"a.py": "one"}, day=5)
    made.change({"a.py": "two"}, day=1)
    history = read(made)
    assert [change.landed_s for change in history.changes] == [START_S + 5 * DAY_S] * 2


def test_a_revert_is_known_by_what_it_says_and_by_what_it_does(made: MadeRepository) -> None:
    made.change({"a.py": "one two three"}, day=0)
    said = made.change({"a.py": "one two three four"}, day=1)
    made.git("revert", "--no-edit", said, day=2)
    made.change({"a.py": "one two three five six seven"}, day=3)
    made.change({"a.py": "one two three"}, "Simplify", day=4)
    reverted = {index: change.reverted for index, change in enumerate(read(made).changes) if change.reverted}
    assert {of: [(one.by, one.form) for one in by] for of, by in reverted.items()} == {
        1: [(2, "sha")], 3: [(4, "content")],
    }  # fmt: skip


def test_a_commit_that_is_taken_back_before_it_lands_is_no_reverted_change(made: MadeRepository) -> None:
    made.change({"a.py": "one"}, day=0)
    made.git("checkout", "-q", "-b", "side")
    made.git("revert", "--no-edit", made.change({"b.py": "two"}, day=1), day=2)
    made.change({"c.py": "three"}, day=2)
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "side", "-m", "Bring it", day=3)
    assert not any(change.reverted for change in read(made).changes)


def test_a_change_that_blame_ignores_takes_no_line(made: MadeRepository) -> None:
    made.change({"a.py": "one two three"}, day=0)
    formatted = made.change({"a.py": "ONE TWO THREE FOUR"}, "fix: format", day=1)
    made.change({".git-blame-ignore-revs": formatted}, day=2)
    first, ignored, _ = read(made).changes
    assert (first.born, first.ended, ignored.born, ignored.is_fix) == (3, (), 0, False)


def test_a_shallow_clone_has_no_lines_of_changes_that_it_lacks(made: MadeRepository, tmp_path: Path) -> None:
    made.change({"a.py": "one two three"}, day=0)
    made.change({"a.py": "one two three four"}, day=1)
    made.change({"a.py": "two three four five"}, day=2)
    made.git("clone", "-q", "--depth", "2", made.path.as_uri(), str(tmp_path / "clone"))
    history = read_history(Repository(tmp_path / "clone"), {})
    assert history.is_shallow
    assert [(change.born, change.ended) for change in history.changes] == [(0, ()), (1, ())]


def test_a_partial_clone_is_refused(made: MadeRepository, tmp_path: Path) -> None:
    made.change({"a.py": "one two three"}, day=0)
    made.change({"a.py": "four"}, day=1)
    made.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    made.git("clone", "-q", "--no-checkout", "--filter=blob:none", made.path.as_uri(), str(clone))
    with pytest.raises(SourceUnreadable) as caught:
        read_history(Repository(clone), {})
    assert "partial clone" in caught.value.advice


def test_merges_of_the_main_line_into_itself_are_counted(made: MadeRepository) -> None:
    made.change({"a.py": "one"}, day=0)
    made.git("checkout", "-q", "-b", "mine")
    made.change({"b.py": "two"}, day=1)
    made.git("checkout", "-q", "main")
    made.change({"c.py": "three"}, day=2)
    made.git("checkout", "-q", "mine")
    made.git("merge", "-q", "--no-ff", "main", "-m", "Merge branch 'main' into mine", day=3)
    history = read(made)
    assert (history.main_merged, [change.commits for change in history.changes]) == (1, [1, 1, 2])


@pytest.mark.parametrize("path", ["empty", "none"])
def test_a_folder_without_commits_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / path).mkdir()
    if path == "empty":
        MadeRepository(tmp_path / path)
    with pytest.raises(SourceUnreadable) as caught:
        read_history(Repository(tmp_path / path), {})
    assert caught.value.advice in {
        "Name a repository with commits.", "Name a folder that a git repository contains.",
    }  # fmt: skip


def test_nothing_that_a_repository_configures_runs(made: MadeRepository, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    made.change({"a.py": "one two", ".gitattributes": "*.py diff=mine filter=mine"}, day=0)
    made.change({"a.py": "one three"}, day=1)
    for name in (
        "diff.mine.command", "diff.mine.textconv", "diff.external", "filter.mine.clean", "filter.mine.smudge",
        "core.fsmonitor", "core.pager", "pager.log", "gpg.program", "core.sshCommand", "core.alternateRefsCommand",
    ):  # fmt: skip
        made.git("config", name, str(program))
    made.git("config", "log.showSignature", "true")
    for hook in ("post-index-change", "reference-transaction"):
        (made.path / ".git" / "hooks" / hook).write_bytes(program.read_bytes())
        (made.path / ".git" / "hooks" / hook).chmod(0o755)
    ran.unlink(missing_ok=True)
    before = snapshot(made.path)
    history = read(made)
    assert [change.born for change in history.changes] == [2, 1]
    assert not ran.exists()
    assert snapshot(made.path) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_odd_files_are_read_as_they_are(made: MadeRepository) -> None:
    (made.path / "sub").mkdir()
    MadeRepository(made.path / "sub").change({"x.py": "inner"}, day=0)
    made.change({'a b\t"ü.py': "one two", "huge.js": "x" * 3_000_000, "c.py": "three"}, day=0)
    (made.path / "link.py").symlink_to("/etc/passwd")
    (made.path / "binary.py").write_bytes(bytes(range(256)) * 10)
    made.change({'a b\t"ü.py': "one four"}, "Add a link \x1b[31m and bytes", day=1)
    made.git("mv", 'a b\t"ü.py', "renamed.py")
    made.change({}, day=2)
    first, second, third = read(made).changes
    assert (first.born, second.born, third.born) == (4, 2, 0)
    assert [(ended.by, ended.lines) for ended in first.ended] == [(1, 1)]


def test_a_repository_is_found_by_a_link_and_in_a_work_tree(made: MadeRepository, tmp_path: Path) -> None:
    made.change({"a.py": "one two"}, day=0)
    made.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert len(read_history(Repository(tmp_path / "tree"), {}).changes) == 1
    subprocess.run(["git", "clone", "-q", "--bare", str(made.path), str(tmp_path / "bare")], check=True)
    assert len(read_history(Repository(tmp_path / "bare"), {}).changes) == 1
