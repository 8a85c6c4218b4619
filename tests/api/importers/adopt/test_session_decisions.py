"""The decisions of sessions in a ledger, and their outcomes from git."""

import asyncio
import json
from pathlib import Path

import pytest

from api.client.open_store import open_store
from api.importers.adopt.change_record import record_changes
from api.importers.adopt.git_changes import FoundRepositories, GitPreview
from api.importers.adopt.sessions import read_sessions
from api.progress import no_progress
from events.decision import DecisionRecorded, DecisionReviewed, DecisionTestStated
from tests.api.importers.adopt.test_change_record import CHANGES, history, read
from tests.api.importers.adopt.test_session_record import (
    BEGAN,
    NOW,
    SAMPLES,
    events_in,
    line,
    needs_samples,
    record,
    turn,
    write,
)  # fmt: skip


def commit(
    session: str, minute: float, number: str, sha: str, command: str = "git commit", more: str = ""
) -> list[str]:
    """An answer that commits, and the result, which shows the commit."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": more}
    shown = json.loads(line(session, minute + 0.1, number, result, kind="user"))
    shown["toolUseResult"] = {"stdout": f"[secret-branch {sha}] Secret title" if sha else ""}
    return [line(session, minute, number, call), json.dumps(shown)]


def decisions(ledger: Path) -> dict[str, DecisionRecorded]:
    found = [event.data for event in events_in(ledger)]
    return {one.decision_id or "": one for one in found if isinstance(one, DecisionRecorded)}


def stated_in(ledger: Path) -> dict[str, str | None]:
    return {
        one.data.decision_id: one.data.subject for one in events_in(ledger) if isinstance(one.data, DecisionTestStated)
    }


def test_a_commit_is_a_decision_of_the_model_that_made_it(tmp_path: Path) -> None:
    file, ledger = tmp_path / "s.jsonl", tmp_path / "t.db"
    lines = [*commit("s", 0, "1", "abc1234"), *commit("s", 1, "2", "def5678")]
    assert record(ledger, write(file, lines[:2])).decisions == 1
    assert record(ledger, write(file, lines)).decisions == 1
    assert record(ledger, file).decisions == 0
    assert list(decisions(ledger)) == ["cc-commit-abc1234", "cc-commit-def5678"]
    found = decisions(ledger)["cc-commit-abc1234"]
    assert (found.decision, found.category, found.tags) == ("Commit abc1234", "commit", ("adopted",))
    assert (found.confidence, found.cluster, found.reported_model) == (None, "cc-s", "claude-opus-4-5")
    assert stated_in(ledger) == {name: f"commit:{name[-7:]}" for name in decisions(ledger)}
    made = next(event for event in events_in(ledger) if isinstance(event.data, DecisionRecorded))
    assert (made.source, made.moment) == ("/agents/claude-code", BEGAN)


def test_a_request_stands_for_its_commits(tmp_path: Path) -> None:
    address = "https://github.com/secret/secret/pull/17"
    lines = [
        *commit("s", 0, "1", "abc1234"), *commit("s", 1, "2", "", command="gh pr create", more=address),
        *commit("s", 2, "3", "def5678"),
    ]  # fmt: skip
    ledger = tmp_path / "t.db"
    assert record(ledger, write(tmp_path / "s.jsonl", lines)).decisions == 1
    assert [(name, one.pr) for name, one in decisions(ledger).items()] == [("cc-s-pr-17", 17)]
    assert stated_in(ledger) == {"cc-s-pr-17": "commit:abc1234"}
    log = json.dumps([str(event) for event in events_in(ledger)])
    assert "secret" not in log.lower()


@pytest.mark.parametrize("source", ["sdk", "cli"])
def test_a_headless_run_decides_with_its_last_answer(tmp_path: Path, source: str) -> None:
    prompt = json.loads(line("s", 0, "0", {"type": "text", "text": "Do"}, kind="user")) | {"promptSource": source}
    ledger = tmp_path / "t.db"
    record(ledger, write(tmp_path / "s.jsonl", [json.dumps(prompt), *turn("s", 1, "1"), *turn("s", 2, "2")]))
    assert list(decisions(ledger)) == (["cc-answer-msg_2"] if source == "sdk" else [])
    assert stated_in(ledger) == {}


def test_outcomes_are_those_of_git(tmp_path: Path) -> None:
    """Change 3 repairs change 1, change 5 takes back change 2: of the session's four commits two were not kept."""
    ledger = tmp_path / "t.db"
    lines = [part for number in (1, 2, 7, 59) for part in commit("s", number, str(number), CHANGES[number].sha[-40:])]
    record(ledger, write(tmp_path / "s.jsonl", lines))

    async def resolve() -> None:
        async with open_store(ledger, None, None) as store:
            await record_changes(FoundRepositories([read(history(CHANGES))], GitPreview()), store, no_progress)
            assert len((await store.resolve(dry_run=False)).resolved) == 3
            assert (await store.resolve(dry_run=False)).states == {"overdue": 1}

    asyncio.run(resolve())
    outcomes = [event.data.outcome for event in events_in(ledger) if isinstance(event.data, DecisionReviewed)]
    assert sorted(outcomes) == ["failure", "failure", "success"]


@needs_samples
def test_decisions_of_the_samples(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    recorded = record(ledger, SAMPLES)
    found = decisions(ledger)
    assert recorded.decisions == len(found)
    assert {"cc-commit-f473b59", "cc-commit-1691d44"} <= set(found)
    assert sum(one.category == "pull_request" for one in found.values()) == 1
    sessions = read_sessions([SAMPLES], NOW, no_progress).sessions
    with_requests = [one for one in sessions if one.pull_requests]
    commits = {commit for one in sessions if not one.pull_requests for commit in one.commits}
    headless = [one for one in sessions if one.is_headless and one.answers and not one.made]
    assert len(found) == len(with_requests) + len(commits) + len(headless)
    assert all(one.confidence is None for one in found.values())
