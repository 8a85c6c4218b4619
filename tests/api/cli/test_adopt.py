"""adopt: what people see of their repositories without a ledger."""

import json
from pathlib import Path

import pytest

from tests.api.cli.command import done, tally
from tests.instruments.git.made_repository import MadeRepository

pytestmark = pytest.mark.slow

CLAUDE = "Co-authored-by: Claude Opus 4.6 <noreply@anthropic.com>"


@pytest.fixture
def made(tmp_path: Path) -> MadeRepository:
    made = MadeRepository(tmp_path / "work" / "made")
    made.change({"a.py": "one two three four five"}, f"Begin\n\n{CLAUDE}", day=0)
    made.change({"a.py": "one two three four six"}, "Fix the end", day=3)
    made.change({"b.py": "seven eight"}, f"Add b\n\n{CLAUDE}", day=4)
    made.change({"c.py": "nine"}, day=20)
    return made


def test_a_preview_is_a_table_and_says_what_limits_it(made: MadeRepository, tmp_path: Path) -> None:
    ended = done(tmp_path / "none.db", "adopt", "git", made.path, COLUMNS="80")
    lines = ended.text.splitlines()
    assert lines[0] == f"{made.path}: 4 changes landed since 2026-01-01"
    assert lines[2].split() == ["claude", "2", "2", "0.500", "2", "0.095", "to", "0.905", "0", "1", "0", "-"]
    assert "claude: recognised by trailer 2; models: Claude Opus 4.6 2." in lines
    assert "Unmarked changes may be an agent's, too: most agents can leave no mark, and squashes drop them." in lines
    assert lines[-2].startswith("Seen through the newest change, 2026-01-21 00:00:00 UTC, ")
    assert not (tmp_path / "none.db").exists()


def test_the_same_as_json(made: MadeRepository, tmp_path: Path) -> None:
    (found,) = json.loads(done(tmp_path / "none.db", "adopt", "git", tmp_path / "work", "--json").out)["repositories"]
    figures = {agent["agent"]: agent for agent in found["agents"]}
    assert (found["path"], found["landed"], found["head"]) == (str(made.path), 4, made.git("rev-parse", "HEAD"))
    assert figures["claude"]["matured"]["fixed"]["count"] == 1
    assert figures["unmarked"]["pending"] == 1


def test_agents_whose_changes_are_young_have_no_rate(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made")
    for day in range(4):
        made.change({f"{day}.py": "one two"}, day=day)
    text = done(tmp_path / "none.db", "adopt", "git", made.path).text
    assert (
        "unmarked: No change has completed its 14 days: no rate yet. First due 2026-01-15. Of the 3 that are at least "
        "1 day old, 3 were kept for so long (1.000, 0.439 to 1.000). Failed so far: 0. Pending: 4."
    ) in text


def test_what_cannot_be_read_is_an_error_of_one_line(made: MadeRepository, tmp_path: Path) -> None:
    nowhere = tmp_path / "none.db"
    (tmp_path / "empty").mkdir()
    ended = tally(nowhere, "adopt", "git", tmp_path / "empty")
    assert (ended.code, "contains no git repository down to 4 levels." in ended.err) == (2, True)
    MadeRepository(tmp_path / "work" / "new")
    ended = tally(nowhere, "adopt", "git", tmp_path / "work")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "Name a repository with commits." in ended.err
    assert str(made.path) in ended.text
    assert tally(nowhere, "adopt", "git", tmp_path / "work" / "new").code == 2
    (tmp_path / "rules.toml").write_text("[agents.x]\naddress = 'a'\n", encoding="utf-8")
    ended = tally(nowhere, "adopt", "git", made.path, "--rules", tmp_path / "rules.toml")
    assert (ended.code, "[agents.NAME]" in ended.err) == (2, True)


def test_pull_requests_are_a_table_and_the_changes_that_they_landed(made: MadeRepository, tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    landed = {"author": {"login": "app/claude"}, "createdAt": "2026-01-01T00:00:00Z"}
    requests = [
        landed | {"mergedAt": "2026-01-21T00:00:00Z", "mergeCommit": {"oid": made.git("rev-parse", "HEAD")}},
        landed | {"closedAt": "2026-01-02T00:00:00Z", "statusCheckRollup": []},
        landed,
    ]
    file.write_text(json.dumps(requests), encoding="utf-8")
    text = done(tmp_path / "none.db", "adopt", "pulls", file, "--repository", made.path, COLUMNS="80").text
    lines = text.splitlines()
    assert lines[0] == "3 pull requests"
    assert lines[2].split()[:5] == ["claude", "3", "1", "1", "1"]
    assert "claude: recognised by author 3; checks none 1." in lines
    assert "claude: recognised by trailer 2, request 1; models: Claude Opus 4.6 2." in lines
    asked = json.loads(done(tmp_path / "none.db", "adopt", "pulls", file, "--json").out)
    assert (asked["requests"], asked["agents"][0]["pending"], asked["repositories"]) == (3, 1, [])
    ended = tally(tmp_path / "none.db", "adopt", "pulls", tmp_path / "none.json")
    assert (ended.code, "Name a file that exists." in ended.err) == (2, True)


def test_without_a_verb_repositories_and_sessions_are_shown(made: MadeRepository, tmp_path: Path) -> None:
    nowhere, session = tmp_path / "none.db", tmp_path / "session-1.json"
    session.write_text('{"sessionId": "s", "projectHash": "h", "messages": [{"id": "1", "type": "user"}]}', "utf-8")
    text = done(nowhere, "adopt", made.path, "--sessions", session).text
    assert text.startswith(f"{made.path}: 4 changes landed")
    assert "gemini-cli: 1 session" in text
    assert "codex mcp add tallystick" in text
    asked = json.loads(done(nowhere, "adopt", "--json", made.path, "--sessions", session).out)
    assert [len(asked["git"]["repositories"]), len(asked["sessions"]["programs"])] == [1, 1]
    (tmp_path / "empty").mkdir()
    ended = tally(nowhere, "adopt", tmp_path / "empty", "--sessions", session)
    assert (ended.code, "contains no git repository" in ended.err) == (2, True)


def test_a_hostile_history_prints_no_control_characters_and_not_everything(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "made\x1b[31m")
    for number in range(22):
        made.change({f"{number}.py": "one"}, f"Add\n\nAssisted-by: agent{number}:model\x1b[2J", day=number / 9)
    text = done(tmp_path / "none.db", "adopt", "git", made.path).text
    assert "\x1b" not in text
    assert text.count(": recognised by trailer 1") == 20
    assert "2 more agents: --json has all." in text
