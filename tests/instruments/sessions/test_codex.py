"""Sessions of Codex: each sample gives the numbers of its README, and forms that no sample has are made here."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from instruments.sessions.codex import CodexReader
from instruments.sessions.json_lines import FileLines
from instruments.sessions.session import AgentSession
from tests.support.paths import SHARED

SAMPLES = SHARED / "sessions" / "codex"

needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared data")


def read(*files: Path) -> AgentSession:
    reader = CodexReader()
    for file in files:
        reader.read(file, FileLines())
    (session,) = reader.sessions.values()
    return session


def total(session: AgentSession) -> int:
    return session.tokens.input + session.tokens.cache_read + session.tokens.output


@needs_samples
def test_totals_that_come_twice_count_once() -> None:
    session = read(SAMPLES / "0.58.0-cli.jsonl")
    assert (len(session.answers), total(session)) == (39, 1_121_566)
    assert Counter(call.verdict for call in session.calls.values()) == {"ok": 36, "failed": 3}
    assert {(answer.model, answer.requested) for answer in session.answers.values()} == {(None, "gpt-5.1-codex")}


@needs_samples
def test_a_sub_agent_has_its_own_work_only() -> None:
    session = read(SAMPLES / "0.145.0-subagent-fork.jsonl")
    assert total(session) == 165_002
    assert {answer.requested for answer in session.answers.values()} == {"gpt-5.6-terra"}
    assert (session.subagents, session.prompts, len(session.calls)) == (1, 0, 5)


@needs_samples
def test_other_samples() -> None:
    resumed = read(SAMPLES / "0.142.5-desktop-resumed.jsonl")
    assert (resumed.id, resumed.prompts, len(resumed.answers)) == ("019f4514-5313-73c0-8197-b0eb2be99ed3", 2, 6)
    assert Counter(call.tool for call in resumed.calls.values()) == {
        "web_search": 9, "exec_command": 4, "apply_patch": 1,
    }  # fmt: skip
    aborted = read(SAMPLES / "0.146.0-compacted-aborted-excerpt.jsonl")
    assert (aborted.compactions, aborted.interruptions) == (1, 1)
    legacy = read(SAMPLES / "2025-09-legacy-first-120-lines.jsonl")
    assert (len(legacy.calls), len(legacy.answers), legacy.unknown) == (20, 0, {})
    assert [call.verdict for call in legacy.calls.values()].count(None) == 1


@needs_samples
def test_reading_a_file_twice_adds_nothing() -> None:
    file = SAMPLES / "0.58.0-cli.jsonl"
    once, twice = read(file), read(file, file)
    assert (len(twice.answers), len(twice.calls), total(twice)) == (len(once.answers), len(once.calls), total(once))


def written(tmp_path: Path, *lines: tuple[str, dict[str, Any]]) -> AgentSession:
    file = tmp_path / "rollout.jsonl"
    records = [("session_meta", {"id": "t", "cli_version": "0.1", "originator": "codex_exec"}), *lines]
    text = [
        json.dumps({"timestamp": f"2026-01-01T00:00:{second:02}.000Z", "type": kind, "payload": payload})
        for second, (kind, payload) in enumerate(records)
    ]
    file.write_text("\n".join([*text, ""]), encoding="utf-8")
    return read(file)


def ended(output: object) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("response_item", {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "gh pr create"}),
        ("response_item", {"type": "function_call_output", "call_id": "c", "output": output}),
    ]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"output": "x", "metadata": {"exit_code": 0}}', ("ok", None)),
        ('{"output": "x", "metadata": {"exit_code": 2}}', ("failed", None)),
        ("Process exited with code 1\n", ("failed", None)),
        ([{"type": "input_text", "text": "Script failed\nWall time"}], ("failed", None)),
        ("exec command rejected by user", ("denied", "unknown")),
        ("rejected: rm -f style commands are not permitted", ("denied", "rule")),
        ("approval required by policy, but AskForApproval is set to Never", ("denied", "program")),
        ("This was rejected due to unacceptable risk", ("denied", "model")),
        ("aborted by user after 3.1s", ("interrupted", "person")),
    ],
)
def test_how_a_call_ended(tmp_path: Path, output: object, expected: tuple[object, ...]) -> None:
    (call,) = written(tmp_path, *ended(output)).calls.values()
    assert (call.verdict, call.by) == expected


def test_commits_and_pull_requests_of_outputs(tmp_path: Path) -> None:
    session = written(tmp_path, *ended("[main 1a2b3c4] Say so\nhttps://github.com/o/r/pull/9\nexit"))
    assert (session.commits, session.pull_requests) == (["1a2b3c4"], ["https://github.com/o/r/pull/9"])


def counted(read_tokens: int, written_tokens: int) -> tuple[str, dict[str, Any]]:
    usage = {"input_tokens": read_tokens, "cached_input_tokens": 0, "output_tokens": written_tokens}
    return "event_msg", {"type": "token_count", "info": {"total_token_usage": usage}}


def test_a_total_that_falls_begins_again(tmp_path: Path) -> None:
    model = ("turn_context", {"model": "gpt-x"})
    session = written(tmp_path, model, counted(100, 10), counted(100, 10), counted(40, 0), counted(60, 5))
    assert [(one.tokens.input, one.tokens.output) for one in session.answers.values()] == [(100, 10), (20, 5)]
    assert session.is_headless


def test_a_patch_that_is_declined_and_a_model_that_changes(tmp_path: Path) -> None:
    session = written(
        tmp_path,
        ("turn_context", {"model": "a"}),
        *ended("done"),
        ("event_msg", {"type": "patch_apply_end", "call_id": "c", "status": "declined"}),
        ("turn_context", {"model": "b"}),
        ("event_msg", {"type": "telepathy"}),
    )
    (call,) = session.calls.values()
    assert (call.verdict, call.by, session.model_changes, session.unknown) == (
        "denied", "unknown", 1, {"telepathy": 1},
    )  # fmt: skip
