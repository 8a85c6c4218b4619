"""Sessions of Gemini CLI and opencode."""

import json
from pathlib import Path

import pytest

from instruments.sessions.gemini import GeminiReader
from instruments.sessions.json_lines import FileLines
from instruments.sessions.opencode import OpencodeReader
from instruments.sessions.session import AgentSession, Tokens
from tests.support.paths import SHARED

SAMPLES = SHARED / "sessions" / "other"

needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared data")


def gemini(file: Path) -> AgentSession:
    reader = GeminiReader()
    reader.read(file, FileLines())
    (session,) = reader.sessions.values()
    return session


@needs_samples
@pytest.mark.parametrize(
    ("name", "answers", "calls", "tokens"),
    [
        ("gemini-cli-2026-01.json", 6, 4, Tokens(12_424, 773, 50_471)),
        ("gemini-cli-0.40-fixture.jsonl", 2, 1, Tokens(12_422, 228, 11_502)),
    ],
)
def test_samples_of_gemini(name: str, answers: int, calls: int, tokens: Tokens) -> None:
    session = gemini(SAMPLES / name)
    assert (len(session.answers), len(session.calls), session.prompts, session.tokens) == (answers, calls, 1, tokens)
    assert {call.verdict for call in session.calls.values()} == {"ok"}


def test_a_session_of_gemini_that_was_resumed_and_taken_back(tmp_path: Path) -> None:
    answer = {"type": "gemini", "model": "m", "tokens": {"input": 5, "output": 1}}
    cancelled = {"id": "c", "name": "my_server_tool", "status": "cancelled"}
    lines = [
        {"sessionId": "s", "projectHash": "h"},
        {"id": "1", "type": "user"},
        {"id": "2", **answer},
        {"id": "3", **answer},
        {"$rewindTo": "1"},
        {"id": "4", **answer, "toolCalls": [cancelled]},
        {
            "id": "4",
            **answer,
            "tokens": {"input": 9, "cached": 4, "output": 2, "thoughts": 3},
            "toolCalls": [cancelled],
        },
    ]
    file = tmp_path / "session-1.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    session = gemini(file)
    assert session.tokens == Tokens(5, 5, 4)
    (call,) = session.calls.values()
    assert (call.tool, call.verdict, call.by) == ("other", "interrupted", "unknown")
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"$set": {"messages": [{"id": "9", "type": "user"}]}}) + "\n")
    session = gemini(file)
    assert (session.prompts, session.answers, session.calls) == (1, {}, {})


@needs_samples
def test_an_export_of_opencode() -> None:
    reader = OpencodeReader()
    reader.read(SAMPLES / "opencode-1.18.5-export.json", FileLines())
    (session,) = reader.sessions.values()
    assert session.tokens == Tokens(4_040, 1_144, 61_120)
    assert [call.tool for call in session.calls.values()] == ["glob", "read", "read", "edit", "read"]
    assert {(answer.model, answer.requested) for answer in session.answers.values()} == {(None, "mimo-v2.5-free")}
