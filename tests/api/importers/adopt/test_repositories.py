"""Which git repositories are found under folders."""

from pathlib import Path

import pytest

from api.importers.adopt.repositories import DEPTH_MAX, find_repositories
from ledger.errors import InvalidQuery


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    return path


def test_repositories_below_a_folder_are_found_by_name(tmp_path: Path) -> None:
    expected = [repository(tmp_path / "a"), repository(tmp_path / "b" / "c")]
    repository(tmp_path / "a" / "inside")  # what a repository contains is part of it
    for hidden in (".cache/x", "node_modules/y", "e/f/g/h/i"):
        repository(tmp_path / hidden)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert list(find_repositories([tmp_path, tmp_path / "a"])) == expected


def test_a_folder_inside_a_repository_names_it(tmp_path: Path) -> None:
    expected = repository(tmp_path / "a")
    (expected / "src" / "deep").mkdir(parents=True)
    assert list(find_repositories([expected / "src" / "deep", expected])) == [expected]


def test_a_work_tree_and_a_bare_repository_are_found(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    for name in ("objects", "refs"):
        (tmp_path / "bare.git" / name).mkdir(parents=True)
    (tmp_path / "bare.git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert list(find_repositories([tmp_path])) == [tmp_path / "bare.git", tmp_path / "tree"]


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidQuery, match=f"no git repository down to {DEPTH_MAX} levels"):
        list(find_repositories([tmp_path]))
    with pytest.raises(InvalidQuery, match="is not a folder"):
        list(find_repositories([tmp_path / "none"]))
