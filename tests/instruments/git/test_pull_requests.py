"""Lists of pull requests, as forges give them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from instruments.errors import SourceUnreadable
from instruments.git.agents import OwnRule
from instruments.git.pull_requests import (
    Checks,
    ForgeCheck,
    PullRequest,
    check_results,
    combine_checks,
    read_pull_requests,
)

GH = {
    "number": 7, "state": "MERGED", "author": {"is_bot": True, "login": "app/copilot-swe-agent"},
    "headRefName": "copilot/fix-7", "createdAt": "2026-01-01T00:00:00Z", "closedAt": "2026-01-02T00:00:00Z",
    "mergedAt": "2026-01-02T00:00:00Z", "updatedAt": "2026-01-05T00:00:00Z", "mergeCommit": {"oid": "a" * 40},
    "reviewDecision": "APPROVED",
    "statusCheckRollup": [
        {"__typename": "CheckRun", "name": "test", "workflowName": "CI", "status": "COMPLETED",
         "conclusion": "SUCCESS", "startedAt": "2026-01-01T01:00:00Z", "completedAt": "2026-01-01T02:00:00Z"}
    ],
}  # fmt: skip
REST = {
    "number": 8, "state": "closed", "user": {"login": "claude[bot]", "type": "Bot"}, "head": {"ref": "claude/x"},
    "created_at": "2026-01-01T00:00:00Z", "closed_at": "2026-01-03T00:00:00Z", "merged_at": None,
    "updated_at": "2026-01-03T00:00:00Z", "merge_commit_sha": "b" * 40,
}  # fmt: skip
GITLAB = {
    "id": 900, "iid": 9, "state": "merged", "author": {"username": "ann"}, "source_branch": "codex/y",
    "created_at": "2026-01-01T01:00:00.000+01:00", "merged_at": "2026-01-01T02:00:00.000+01:00", "closed_at": None,
    "updated_at": "2026-01-01T02:00:00.000+01:00", "sha": "c" * 40, "merge_commit_sha": None,
    "squash_commit_sha": "d" * 40,
}  # fmt: skip
DAY_S = 86_400
BEGIN_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def read(tmp_path: Path, text: str, rules: dict[str, OwnRule] | None = None) -> list[PullRequest]:
    file = tmp_path / "pulls.json"
    file.write_text(text, encoding="utf-8")
    return list(read_pull_requests(file, rules or {}))


def test_a_list_of_gh(tmp_path: Path) -> None:
    (found,) = read(tmp_path, json.dumps([GH]))
    assert (found.number, found.merge_sha, found.review, found.result) == (7, "a" * 40, "approved", "green")
    assert (found.created_s, found.merged_s, found.closed_s) == (BEGIN_S, BEGIN_S + DAY_S, None)
    assert found.seen_s == BEGIN_S + 4 * DAY_S
    assert [(mark.agent, mark.rule) for mark in found.marks] == [("copilot", "author"), ("copilot", "branch")]


def test_a_list_of_githubs_rest_interface(tmp_path: Path) -> None:
    (found,) = read(tmp_path, json.dumps([REST]))
    assert (found.number, found.merged_s, found.closed_s) == (8, None, BEGIN_S + 2 * DAY_S)
    assert found.merge_sha is None  # a trial merge is no evidence
    assert (found.review, found.checks) == (None, None)
    assert [(mark.agent, mark.rule) for mark in found.marks] == [("claude", "author"), ("claude", "branch")]


def test_a_list_of_gitlab(tmp_path: Path) -> None:
    (found,) = read(tmp_path, json.dumps([GITLAB]))
    assert (found.number, found.merge_sha, found.created_s, found.merged_s) == (9, "d" * 40, BEGIN_S, BEGIN_S + 3_600)
    assert [(mark.agent, mark.rule) for mark in found.marks] == [("codex", "branch")]


@pytest.mark.parametrize("text", [f"[{json.dumps(GH)}][{json.dumps(REST)}]", f"{json.dumps(GH)}\n{json.dumps(REST)}\n"])
def test_pages_and_lines_are_read_too(tmp_path: Path, text: str) -> None:
    assert [found.number for found in read(tmp_path, text)] == [7, 8]


def test_what_a_list_lacks_is_unknown_and_an_empty_review_is_none(tmp_path: Path) -> None:
    bare = {"number": 1, "createdAt": GH["createdAt"], "reviewDecision": ""}
    (found,) = read(tmp_path, json.dumps([bare]))
    assert (found.review, found.checks, found.marks, found.merged_s, found.closed_s) == ("none", None, (), None, None)


def test_the_owners_rules_hold_for_accounts_and_branches(tmp_path: Path) -> None:
    rules = {"ours": OwnRule(addresses=("ann",)), "theirs": OwnRule(branches=("bot/",))}
    item = {"createdAt": GH["createdAt"], "author": {"login": "ann"}, "headRefName": "bot/1"}
    (found,) = read(tmp_path, json.dumps([item]), rules)
    assert [mark.agent for mark in found.marks] == ["ours", "theirs"]
    (robot,) = read(tmp_path, json.dumps([item | {"author": {"login": "app/dependabot"}}]))
    assert [mark.agent for mark in robot.marks] == ["robot"]


def check(name: str, conclusion: str, hour: int) -> ForgeCheck:
    return ForgeCheck(name=name, conclusion=conclusion, completed=datetime(2026, 1, 1, hour, tzinfo=UTC))


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([], "none"),
        ([check("a", "SUCCESS", 1), check("b", "SUCCESS", 2)], "green"),
        ([check("a", "SUCCESS", 1), check("b", "SKIPPED", 1)], "none"),
        ([check("a", "SUCCESS", 1), check("b", "NEUTRAL", 1)], "none"),
        ([check("a", "SUCCESS", 1), check("b", "CANCELLED", 1)], "none"),
        ([check("a", "SUCCESS", 1), check("b", "", 1)], "none"),
        ([check("a", "SUCCESS", 1), check("b", "FAILURE", 1)], "red"),
        ([check("a", "TIMED_OUT", 1), check("b", "SKIPPED", 1)], "red"),
        ([check("a", "SUCCESS", 2), check("a", "FAILURE", 1)], "flaky"),
        ([check("a", "FAILURE", 2), check("a", "SUCCESS", 1)], "red"),
        ([check("a", "SUCCESS", 1), check("a", "FAILURE", 13)], "green"),  # after the merge
        ([ForgeCheck(context="ci/x", state="SUCCESS", started=datetime(2026, 1, 1, 1, tzinfo=UTC))], "green"),
        ([ForgeCheck(context="ci/x", state="PENDING")], "none"),
    ],
)
def test_checks(checks: list[ForgeCheck], expected: Checks) -> None:
    found = check_results(checks, datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert combine_checks(found.values()) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"number": 1}]', "request 1: Object missing required field `createdAt`"),
        ('[{"createdAt": "yesterday"}]', "request 1: Invalid RFC3339 encoded datetime - at `$.createdAt`"),
        (json.dumps([GH, 5]), "request 2: Expected `object`, got `int`"),
        ("[1, 2", "is not a list of requests"),
        ("a,b\n1,2\n", "it lacks agent, created_at, closed_at, merged_at"),
        ("agent,created_at,closed_at,merged_at\nx,2026,,\n", "line 2: created_at '2026' is not a time"),
        ("agent,created_at,closed_at,merged_at\nx,,,\n", "line 2: created_at is empty"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SourceUnreadable) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.advice
