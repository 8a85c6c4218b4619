"""Sessions of Claude Code: each sample gives the numbers of its README, and forms that no sample has are made here."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from instruments.sessions.claude_code import ClaudeCodeReader
from instruments.sessions.json_lines import FileLines
from instruments.sessions.session import AgentSession, SessionCall
from tests.support.paths import SHARED

SAMPLES = SHARED / "sessions" / "claude-code"
FORK = SAMPLES / "2.1.12-fork"
GROWING = SAMPLES / "2.1.235-growing"

needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared data")


def read(*files: Path) -> tuple[dict[str, AgentSession], FileLines]:
    reader, counts = ClaudeCodeReader(), FileLines()
    for file in files:
        reader.read(file, counts)
    return reader.sessions, counts


def only(*files: Path) -> AgentSession:
    (session,) = read(*files)[0].values()
    return session


def figures(sessions: Sequence[AgentSession]) -> tuple[object, ...]:
    """What must not depend on how often or in which order files were read."""
    calls = [call for session in sessions for call in session.calls.values()]
    return (
        sorted(name for session in sessions for name in session.answers),
        sorted((call.id, str(call.verdict), str(call.by)) for call in calls),
        sum(session.prompts for session in sessions),
        sum(session.interruptions for session in sessions),
        [sum(getattr(session.tokens, name) for session in sessions) for name in ("input", "output", "cache_read")],
        sorted(commit for session in sessions for commit in session.commits),
    )


@needs_samples
@pytest.mark.parametrize(
    ("name", "lines", "answers", "calls", "errors", "tokens"),
    [
        ("1.0.128-plan-then-cheaper-model", 46, 18, 17, 1, (64, 759, 371268, 23631)),
        ("2.0.76-rejected-with-reason", 14, 4, 3, 1, (34, 744, 122052, 41434)),
        ("2.0.76-compaction", 54, 12, 10, 0, (102, 2038, 654807, 649094)),
        ("2.1.17-rejected-and-interrupted", 101, 18, 15, 2, (152, 42, 563052, 60069)),
        ("2.1.29-model-command", 53, 8, 5, 1, (70, 26, 329215, 118843)),
        ("2.1.37-pr-link", 231, 56, 59, 3, (60, 1875, 4575511, 172411)),
        ("2.1.114-subagents/ef958aa1-0e93-49f0-bb71-150f63befcd1", 180, 17, 40, 0, (1308, 22901, 728660, 102189)),
        ("2.1.177-resumed-in-2.1.201", 154, 11, 17, 1, (27574, 6920, 461892, 103630)),
        ("2.1.216-sdk-user-rejected", 35, 6, 10, 2, (11, 3110, 182308, 8407)),
        ("2.1.221-api-error", 13, 1, 1, 1, (6, 143, 26207, 9315)),
        ("2.1.235-permission-rule", 61, 9, 10, 1, (18, 2106, 468664, 28784)),
        ("2.1.235-growing/late", 158, 24, 18, 0, (48, 17396, 1446626, 44782)),
    ],
)
def test_samples_give_the_numbers_of_their_readme(
    name: str, lines: int, answers: int, calls: int, errors: int, tokens: tuple[int, ...]
) -> None:
    sessions, counts = read(SAMPLES / f"{name}.jsonl")
    (session,) = sessions.values()
    total = session.tokens
    assert (counts.lines, len(session.answers), len(session.calls)) == (lines, answers, calls)
    assert sum(call.verdict not in {"ok", None} for call in session.calls.values()) == errors
    assert (total.input, total.output, total.cache_read, total.cache_write) == tokens
    assert (counts.lost, counts.repaired, session.unknown) == (0, 0, {})


@needs_samples
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2.0.76-rejected-with-reason", ("Write", "denied", "person", "recorded")),
        ("2.1.17-rejected-and-interrupted", ("Edit", "denied", "person", "recorded")),
        ("2.1.177-resumed-in-2.1.201", ("Bash", "denied", "person", "recorded")),
        ("2.1.216-sdk-user-rejected", ("Bash", "denied", "program", "inferred")),
        ("2.1.235-permission-rule", ("Bash", "denied", "rule", "recorded")),
    ],
)
def test_samples_show_who_denied_a_call(name: str, expected: tuple[str, ...]) -> None:
    session = only(SAMPLES / f"{name}.jsonl")
    denied = [call for call in session.calls.values() if call.verdict == "denied"]
    assert [(call.tool, call.verdict, call.by, call.basis) for call in denied] == [expected]


@needs_samples
def test_samples_show_models_pull_requests_commits_and_errors() -> None:
    session = only(SAMPLES / "1.0.128-plan-then-cheaper-model.jsonl")
    assert Counter(answer.model for answer in session.answers.values()) == {
        "claude-opus-4-1-20250805": 8, "claude-sonnet-4-20250514": 10,
    }  # fmt: skip
    assert only(SAMPLES / "2.1.29-model-command.jsonl").model_changes == 1
    assert only(SAMPLES / "2.1.37-pr-link.jsonl").pull_requests == ["https://github.com/entireio/cli/pull/185"]
    assert only(GROWING / "late.jsonl").commits == ["f473b59", "1691d44"]
    session = only(SAMPLES / "2.1.221-api-error.jsonl")
    assert (session.api_errors, session.is_headless) == (1, True)
    assert only(SAMPLES / "2.0.76-compaction.jsonl").compactions == 1
    assert only(SAMPLES / "2.1.17-rejected-and-interrupted.jsonl").interruptions == 1
    assert only(SAMPLES / "2.1.177-resumed-in-2.1.201.jsonl").versions == ["2.1.177", "2.1.201"]


@needs_samples
def test_sub_agents_count_for_their_session() -> None:
    folder = SAMPLES / "2.1.114-subagents"
    files = sorted(folder.glob("**/subagents/*.jsonl"))
    session = only(*files)
    errors = sum(call.verdict == "failed" for call in session.calls.values())
    assert (len(session.answers), len(session.calls), errors, session.subagents) == (66, 77, 3, 6)
    main = sorted(folder.glob("*.jsonl"))
    whole = only(*main, *files)
    assert (len(whole.answers), len(whole.calls), whole.missing_subagents) == (83, 117, 0)
    assert only(*main, *files[1:]).missing_subagents == 1


@needs_samples
def test_a_fork_is_counted_once_in_any_order() -> None:
    parent, child = FORK / "parent.jsonl", FORK / "child-first-60-lines.jsonl"
    one, other = ([*read(*order)[0].values()] for order in ((parent, child), (child, parent)))
    assert figures(one) == figures(other)
    assert sum(len(session.answers) for session in one) == 6
    assert len(only(parent).answers) == 1
    assert [call.verdict for call in only(parent).calls.values()] == [None]


@needs_samples
def test_half_a_file_and_then_the_whole_is_the_whole() -> None:
    early, late = GROWING / "early.jsonl", GROWING / "late.jsonl"
    assert figures([only(early, late)]) == figures([only(late)]) == figures([only(late, early, late)])


@needs_samples
@pytest.mark.parametrize("damage", ["joined", "cut", "zeros", "end"])
def test_damage_loses_only_what_is_damaged(tmp_path: Path, damage: str) -> None:
    lines = (SAMPLES / "2.1.37-pr-link.jsonl").read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"tool_use"' in line)
    if damage == "joined":
        lines[place] = lines[place].rstrip(b"\n")
    elif damage == "zeros":
        lines[place] = lines[place][:30] + b"\0" * 900 + lines[place][30:]
    elif damage == "cut":
        lines[place] = lines[place][:200]
    else:
        lines[-1] = lines[-1][:-1]
    file = tmp_path / "damaged.jsonl"
    file.write_bytes(b"".join(lines))
    sessions, counts = read(file)
    (session,) = sessions.values()
    lost = damage == "cut"
    assert (counts.lost, counts.repaired, counts.unfinished) == (lost, damage in {"joined", "zeros"}, damage == "end")
    assert len(session.calls) == 59 - lost


def written(tmp_path: Path, *lines: dict[str, Any]) -> AgentSession:
    """The session of some lines."""
    file = tmp_path / "made.jsonl"
    common = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z", "version": "2.1.0"}
    file.write_text("".join(f"{json.dumps(common | line)}\n" for line in lines), encoding="utf-8")
    return only(file)


def called(name: str = "Bash", **arguments: object) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": arguments}
    return {"type": "assistant", "message": {"id": "m1", "model": "claude-x", "content": [block]}}


def ended(text: object, *, error: bool | None = True, **more: object) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": error}
    return {"type": "user", "message": {"content": [block]}, **more}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ended("fine", error=None), ("ok", None, None)),
        (ended("Exit code 1"), ("failed", None, None)),
        (ended([{"type": "text", "text": "<tool_use_error>No such file"}]), ("failed", None, None)),
        (ended("The user doesn't want to proceed with this tool use. And so on"), ("denied", "person", "recorded")),
        (ended("Permission to use Bash with\nmany lines has been denied."), ("denied", "rule", "inferred")),
        (ended("No.", toolDenialKind="permission-rule"), ("denied", "rule", "recorded")),
        (ended("No.", toolDenialKind="automode-blocked"), ("denied", "model", "recorded")),
        (ended("Gone.", toolDenialKind="interrupted"), ("interrupted", "unknown", "recorded")),
        (ended("find in '/' was blocked.", toolDenialKind="user-rejected"), ("denied", "program", "inferred")),
        (ended("PreToolUse:Bash hook error: no"), ("denied", "hook", "inferred")),
    ],
)
def test_how_a_call_ended(tmp_path: Path, result: dict[str, Any], expected: tuple[object, ...]) -> None:
    (call,) = written(tmp_path, called(), result).calls.values()
    assert (call.verdict, call.by, call.basis) == expected


def test_nobody_denied_a_call_where_nobody_was(tmp_path: Path) -> None:
    prompt = {"type": "user", "promptSource": "sdk", "message": {"content": "Do it"}}
    said = ended("The user doesn't want to proceed with this tool use.")
    (call,) = written(tmp_path, prompt, called(), said).calls.values()
    assert (call.verdict, call.by) == ("denied", "program")


def test_names_of_tools_that_users_define_are_not_kept(tmp_path: Path) -> None:
    assert [*written(tmp_path, called("mcp__secret_server__drop")).calls.values()] == [
        SessionCall("t1", "other", "2026-01-01T00:00:00.000Z", model="claude-x")
    ]


def test_a_pull_request_is_known_by_the_command_that_opens_it(tmp_path: Path) -> None:
    address = "https://github.com/o/r/pull/7"
    opened = written(tmp_path, called(command="gh pr create --fill"), ended(f"See {address}", error=False))
    assert opened.pull_requests == [address]
    assert written(tmp_path, called(command="cat notes"), ended(address, error=False)).pull_requests == []


def test_an_answer_has_the_largest_of_its_numbers(tmp_path: Path) -> None:
    def line(output: int | None, model: str = "claude-x") -> dict[str, Any]:
        usage = {"input_tokens": 3, "output_tokens": output}
        return {"type": "assistant", "message": {"id": "m1", "model": model, "content": [], "usage": usage}}

    session = written(tmp_path, line(1), line(90), line(None), line(5, "<synthetic>"))
    assert [(answer.model, answer.tokens.output) for answer in session.answers.values()] == [("claude-x", 90)]


MODEL_SET = {"type": "user", "message": {"content": "<local-command-stdout>Set model to b</local-command-stdout>"}}
REFUSED = {"type": "system", "subtype": "model_refusal_fallback", "originalModel": "a", "fallbackModel": "b"}
PLAN = {"type": "assistant", "message": {"id": "m1", "model": "a", "content": [
    {"type": "tool_use", "id": "t1", "name": "ExitPlanMode", "input": {}},
]}}  # fmt: skip
APPROVED = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Go"}]}}


@pytest.mark.parametrize(
    ("between", "second", "expected"),
    [
        ([], {}, "unexplained"),
        ([MODEL_SET], {}, "announced"),
        ([REFUSED], {}, "announced"),
        ([APPROVED], {}, "explained"),
        ([], {"version": "2.0.1"}, "explained"),
        ([], {"isSidechain": True}, None),
        ([MODEL_SET, {"type": "assistant", "message": {"id": "m2", "model": "a"}}], {}, "unexplained"),
        ([APPROVED, PLAN], {}, "explained"),  # a later line of the same answer
    ],
)
def test_why_another_model_answered(
    tmp_path: Path, between: list[dict[str, Any]], second: dict[str, Any], expected: str | None
) -> None:
    first = {**PLAN, "version": "2.0.0"}
    last = {"type": "assistant", "version": "2.0.0", "message": {"id": "m9", "model": "b"}, **second}
    session = written(tmp_path, first, *({"version": "2.0.0", **line} for line in between), last)
    assert [answer.switch for answer in session.answers.values()][:-1] == [None] * (len(session.answers) - 1)
    assert session.answers["m9"].switch == expected


@pytest.mark.parametrize(
    ("line", "prompts"),
    [
        ({"message": {"content": "Do it"}}, 1),
        ({"message": {"content": [{"type": "text", "text": "Do it"}]}}, 1),
        ({"message": {"content": "Do it"}, "isMeta": True}, 0),
        ({"message": {"content": "Do it"}, "isSidechain": True}, 0),
        ({"message": {"content": "Do it"}, "isCompactSummary": True}, 0),
        ({"message": {"content": "<command-name>/clear</command-name>"}}, 0),
        ({"message": {"content": "<task-notification>done"}}, 0),
        ({"message": {"content": "[Request interrupted by user]"}}, 0),
    ],
)
def test_what_is_a_prompt(tmp_path: Path, line: dict[str, Any], prompts: int) -> None:
    assert written(tmp_path, {"type": "user", **line}).prompts == prompts


def test_unknown_lines_and_fields_are_counted_and_no_error(tmp_path: Path) -> None:
    session = written(
        tmp_path,
        {"type": "hologram", "depth": 3},
        {"type": "user", "message": 7, "uuid": ["x"]},
        {"type": "user", "message": {"content": "Do it"}, "newField": {"a": 1}},
    )
    assert (session.unknown, session.prompts) == ({"hologram": 1}, 1)
