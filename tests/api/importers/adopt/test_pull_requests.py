"""Lists of pull requests: joined with the repository that they landed in."""

import json
from pathlib import Path

import pytest

from api.importers.adopt.git_changes import GitOptions
from api.importers.adopt.pull_requests import preview_requests
from api.parameters import parse_instant
from api.progress import no_progress
from ledger.errors import InvalidQuery
from tests.instruments.git.made_repository import MadeRepository


def listed(tmp_path: Path, *requests: dict[str, object]) -> Path:
    file = tmp_path / "pulls.json"
    file.write_text(json.dumps(requests), encoding="utf-8")
    return file


def request(number: int, login: str, *, merged: str | None, sha: str | None = None) -> dict[str, object]:
    return {
        "number": number, "author": {"login": login}, "createdAt": "2026-01-01T00:00:00Z", "mergedAt": merged,
        "mergeCommit": None if sha is None else {"oid": sha},
    }  # fmt: skip


@pytest.mark.slow
def test_a_request_marks_the_change_that_it_landed(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made")
    first = made.change({"a.py": "one"}, "By its id", day=0)
    made.change({"b.py": "two"}, "By its number (#8)", day=1)
    made.change({"c.py": "three"}, "Of an open request (#9)", day=2)
    file = listed(
        tmp_path,
        request(7, "app/claude", merged="2026-01-01T00:00:00Z", sha=first),
        request(8, "Copilot", merged="2026-01-02T00:00:00Z"),
        request(9, "Copilot", merged=None),
    )
    found = preview_requests([file], GitOptions(), no_progress, repository=made.path).preview
    (repository,) = found.repositories
    assert {figures.agent: figures.recognised_by for figures in repository.agents} == {
        "claude": {"request": 1}, "copilot": {"request": 1}, "unmarked": {},
    }  # fmt: skip
    assert {figures.agent: (figures.merged, figures.pending) for figures in found.agents} == {
        "claude": (1, 0), "copilot": (1, 1),
    }  # fmt: skip


def test_figures_are_of_the_time_and_the_agent_that_are_asked(tmp_path: Path) -> None:
    file = listed(tmp_path, request(1, "app/claude", merged=None), request(2, "ann", merged="2026-01-03T00:00:00Z"))
    found = preview_requests([file], GitOptions(agent="claude"), no_progress).preview
    assert [figures.agent for figures in found.agents] == ["claude"]
    late = GitOptions(since=parse_instant("since", "2026-01-02"))
    assert preview_requests([file], late, no_progress).preview.requests == 0
    with pytest.raises(InvalidQuery, match="nothing here has a mark of 'codex'"):
        preview_requests([file], GitOptions(agent="codex"), no_progress)


def test_a_time_before_what_the_list_has_is_refused_and_so_is_an_empty_list(tmp_path: Path) -> None:
    file = listed(tmp_path, request(1, "ann", merged="2026-01-03T00:00:00Z"))
    with pytest.raises(InvalidQuery, match="the lists have a later time, 2026-01-03T00:00:00Z"):
        preview_requests([file], GitOptions(), no_progress, seen_through=parse_instant("seen_through", "2026-01-02"))
    with pytest.raises(InvalidQuery, match="no pull request"):
        preview_requests([listed(tmp_path)], GitOptions(), no_progress)
