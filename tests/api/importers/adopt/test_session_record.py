"""Sessions in a ledger: what is recorded of files that grow, are copied, damaged, or recorded again."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.client.open_store import open_store
from api.importers.adopt import session_record
from api.importers.adopt.session_events import name_stream
from api.importers.adopt.session_record import record_sessions
from api.importers.adopt.sessions import RecordedSessions, read_sessions
from api.progress import no_progress
from api.service.ledger import open_for_reading
from api.service.sessions import SessionsQuery, get_sessions
from events.envelope import Event
from events.evidence import EvidenceStored
from events.registry import VOCABULARY
from events.session import SessionRecorded
from tallystick.shapes.sessions import ProgramSessions, SessionsAnswer
from tests.api.cli.command import done, tally
from tests.support.paths import SHARED

SAMPLES = SHARED / "sessions"
MADE = r"Commit [0-9a-f]+|Open pull request \d+|Final answer of a headless run|"
"""The texts of decisions that are made of sessions."""

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BEGAN = datetime(2026, 10, 31, 12, 0, tzinfo=UTC)

needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared data")


def line(session: str, minute: float, number: str, *blocks: dict[str, Any], kind: str = "assistant") -> str:
    """A line of Claude Code; the message of an assistant is the answer with this number."""
    message: dict[str, Any] = {"content": list(blocks)}
    if kind == "assistant":
        usage = {"input_tokens": 3, "output_tokens": 50, "cache_read_input_tokens": 100}
        message |= {"id": f"msg_{number}", "model": "claude-opus-4-5", "usage": usage}
    time = (BEGAN + timedelta(minutes=minute)).isoformat()
    return json.dumps(
        {"type": kind, "sessionId": session, "uuid": f"{kind}-{number}", "timestamp": time, "version": "2.1.3"}
        | {"cwd": "/home/jane/secret-project", "message": message}
    )


def turn(session: str, minute: float, number: str, error: str | None = None) -> list[str]:
    """An answer with a call of a tool, and the result of the call."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "ls /home/jane"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "is_error": error is not None, "content": error}
    return [line(session, minute, number, call), line(session, minute + 0.1, number, result, kind="user")]


def write(file: Path, lines: Sequence[str], tail: str = "") -> Path:
    file.write_text("".join(f"{line}\n" for line in lines) + tail, encoding="utf-8")
    return file


def record(ledger: Path, *paths: Path, now: datetime = NOW) -> RecordedSessions:
    async def run() -> RecordedSessions:
        async with open_store(ledger, None, None) as store:
            await record_sessions(found, store, now, no_progress)
            assert not found.preview.faults
            assert found.preview.recorded is not None
            return found.preview.recorded

    found = read_sessions(paths, now, no_progress)
    return asyncio.run(run())


def shown(ledger: Path, program: str | None = None) -> SessionsAnswer:
    async def run() -> SessionsAnswer:
        async with open_for_reading(ledger) as service:
            return await get_sessions(service, SessionsQuery(program=program))

    return asyncio.run(run())


def figures(ledger: Path) -> list[ProgramSessions]:
    return shown(ledger).programs


def events_in(ledger: Path) -> list[Event]:
    async def run() -> list[Event]:
        async with open_store(ledger, None, None, writable=False) as store:
            return [event async for page in store.pages(()) for event in VOCABULARY.events(page)]

    return asyncio.run(run())


def evidence_of(ledger: Path, session_id: str) -> list[bytes]:
    """The pieces of the only file of a session, as its last event names them."""

    async def run() -> list[bytes]:
        async with open_store(ledger, None, None, writable=False) as store:
            last = VOCABULARY.events(await store.streams([f"session/{session_id}"]))[-1].data
            assert isinstance(last, SessionRecorded)
            (file,) = last.files
            return [(await store.evidence(digest)).data for digest in file.evidence]

    return asyncio.run(run())


def test_recorded_twice_is_recorded_once(tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", [*turn("s", 0, "1"), *turn("s", 1, "2", "no such file")])
    ledger = tmp_path / "t.db"
    first = record(ledger, file)
    assert (first.sessions, first.answers, first.calls, first.evidence_bytes) == (1, 2, 2, file.stat().st_size)
    count = len(events_in(ledger))
    assert record(ledger, file) == RecordedSessions(unchanged=1)
    assert len(events_in(ledger)) == count
    (program,) = figures(ledger)
    assert program == read_sessions([file], NOW, no_progress).preview.programs[0]
    assert [(tool.tool, tool.calls, tool.failed) for tool in program.tools] == [("Bash", 2, 1)]
    assert evidence_of(ledger, "cc-s") == [file.read_bytes()]


def test_a_file_that_has_grown_adds_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_record, "PIECE_BYTES", 700)
    lines = [part for number in range(6) for part in turn("s", 4 * number, str(number))]
    file, ledger = tmp_path / "s.jsonl", tmp_path / "t.db"
    write(file, lines[:7], tail=lines[7][:40])  # the call of the fourth answer has no result yet
    first = record(ledger, file, now=BEGAN + timedelta(minutes=13))
    assert (first.answers, first.calls, first.unfinished) == (1, 3, 4)  # answers of the last ten minutes may change
    kept = evidence_of(ledger, "cc-s")
    write(file, lines)
    second = record(ledger, file, now=BEGAN + timedelta(minutes=21))
    assert (second.sessions, second.answers, second.calls, second.there, second.unfinished) == (1, 2, 3, 4, 3)
    third = record(ledger, file)  # nothing was written for an hour: nothing changes any more
    assert (third.answers, third.calls, third.unfinished, third.evidence_bytes) == (3, 0, 0, 0)
    pieces = evidence_of(ledger, "cc-s")
    assert pieces[: len(kept)] == kept
    assert b"".join(pieces) == file.read_bytes()
    record(tmp_path / "whole.db", file)
    assert figures(ledger) == figures(tmp_path / "whole.db")
    write(file, lines[2:])  # it does not begin as before: all of it is kept
    assert record(ledger, file).sessions == 1
    assert b"".join(evidence_of(ledger, "cc-s")) == file.read_bytes()


def test_many_small_pieces_are_kept_again_in_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_record, "ITEMS_MAX", 3)
    lines = [part for number in range(5) for part in turn("s", number, str(number))]
    file, ledger = tmp_path / "s.jsonl", tmp_path / "t.db"
    found = []
    for number in range(1, 6):
        record(ledger, write(file, lines[: 2 * number]))
        found.append(len(evidence_of(ledger, "cc-s")))
    assert found == [1, 2, 3, 1, 2]
    assert b"".join(evidence_of(ledger, "cc-s")) == file.read_bytes()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_fork_counts_once_in_any_order(tmp_path: Path, order: tuple[int, int]) -> None:
    begin = [*turn("parent", 0, "1"), *turn("parent", 1, "2")]
    copied = [part.replace('"sessionId": "parent"', '"sessionId": "fork"') for part in begin]
    files = [
        write(tmp_path / "parent.jsonl", [*begin, *turn("parent", 2, "3")]),
        write(tmp_path / "fork.jsonl", [*copied, *turn("fork", 3, "4")]),
    ]
    ledger = tmp_path / "t.db"
    for place in order:
        record(ledger, files[place])
    (program,) = figures(ledger)
    assert (program.sessions, program.answers, program.calls) == (2, 4, 4)
    assert program.tokens.output == 200


def test_erased_evidence_stays_erased_and_leaves_every_figure(tmp_path: Path) -> None:
    file, ledger = write(tmp_path / "s.jsonl", turn("s", 0, "1")), tmp_path / "t.db"
    record(ledger, file)
    before = figures(ledger)
    digest = next(event.data.digest for event in events_in(ledger) if isinstance(event.data, EvidenceStored))
    done(ledger, "evidence", "erase", digest, "--reason", "it names a person", "--yes")
    assert not list(tmp_path.rglob(f"*{digest}*"))
    assert record(ledger, file) == RecordedSessions(unchanged=1)
    write(file, [*turn("s", 0, "1"), *turn("s", 1, "2")])
    assert record(ledger, file).answers == 1
    assert figures(ledger)[0].answers == 2
    assert before[0].answers == 1
    assert tally(ledger, "evidence", "get", digest).code == 1


def test_sessions_that_have_no_file_any_more_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, ledger = tmp_path / "home", tmp_path / "t.db"
    (home / ".claude" / "projects" / "-work").mkdir(parents=True)
    (home / ".codex").mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    write(home / ".claude" / "projects" / "-work" / "s.jsonl", turn("s", 0, "1"))
    prompts = [{"sessionId": name, "timestamp": BEGAN.timestamp() * 1e3, "display": "secret"} for name in ("s", "gone")]
    write(home / ".claude" / "history.jsonl", [json.dumps(prompt) for prompt in prompts])
    write(home / ".codex" / "history.jsonl", [json.dumps({"session_id": "t", "ts": 1_760_000_000, "text": "secret"})])
    record(ledger)
    recorded = shown(ledger)
    assert {one.program: (one.sessions, one.missing_sessions) for one in recorded.programs} == {
        "codex": (0, 1), "claude-code": (1, 1),
    }  # fmt: skip
    assert recorded.coverage == "1 of 1 call have a result. 1 of 3 sessions have a file."
    assert recorded.coverage == read_sessions([], NOW, no_progress).preview.coverage
    assert not any(b"secret" in event for event in map(msgspec.json.encode, events_in(ledger)))
    count = len(events_in(ledger))
    record(ledger)
    record(ledger, home / ".claude")  # a part of all places says nothing of the whole
    assert len(events_in(ledger)) == count
    late = read_sessions([], NOW, no_progress, since=BEGAN + timedelta(days=1)).preview
    assert [(one.program, one.missing_sessions) for one in late.programs] == []


def test_secrets_are_named_and_not_in_the_log(tmp_path: Path) -> None:
    token = "ghp_" + "aB3" * 12
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"GITHUB_TOKEN={token}"}
    lines = [*turn("s", 0, "1"), line("s", 1, "2", result, kind="user")]
    file, ledger = write(tmp_path / "s.jsonl", lines), tmp_path / "t.db"
    ended = done(ledger, "adopt", "sessions", "--record", file)
    assert f"warning: token of GitHub (1) in {file}. Replace it where it is used." in ended.err
    assert token not in ended.text
    assert not any(token.encode() in event for event in map(msgspec.json.encode, events_in(ledger)))
    (piece,) = evidence_of(ledger, "cc-s")
    assert token.encode() in piece
    write(file, [*lines, *turn("s", 2, "3")])
    assert record(ledger, file).secrets == []  # what is new has none


def test_ids_that_do_not_fit_are_digests() -> None:
    assert name_stream("claude-code", "msg_01A") == "cc-msg_01A"
    for name in ("a b", "x" * 64, "thread:1"):
        found = name_stream("codex", name)
        assert (found[:3], len(found)) == ("cx-", 43)


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from texts_in(key)
            yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)


@needs_samples
def test_samples_in_a_ledger_show_what_the_preview_shows(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    recorded = record(ledger, SAMPLES)
    assert (recorded.sessions, recorded.answers, recorded.calls) == (22, 330, 387)
    preview = read_sessions([SAMPLES], NOW, no_progress).preview
    answer = shown(ledger)
    assert answer.programs == preview.programs
    assert answer.coverage == preview.coverage == "383 of 387 calls have a result; 4 are missing."
    assert [one.program for one in shown(ledger, "codex").programs] == ["codex"]
    assert record(ledger, SAMPLES) == RecordedSessions(unchanged=22)


@needs_samples
def test_no_event_has_a_text_path_or_name_of_a_sample(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    record(ledger, SAMPLES)
    events = events_in(ledger)
    for event in events:
        data = msgspec.to_builtins(event.data)
        data.pop("media_type", None)
        assert re.fullmatch(MADE, data.pop("decision", ""))
        for text in texts_in(data):
            assert not set(text) & set(" /\\@"), text
    log = b"".join(msgspec.json.encode(event) for event in events).decode()
    for private in ("Users", "home", "Fitcheck", "entire", "LICENSE", "mcp__", "main", "master", "github"):
        assert private not in log


def test_the_commands_record_and_show(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "sessions"
    folder.mkdir()
    write(folder / "s.jsonl", turn("s", 0, "1"))
    assert "There is no ledger" in tally(ledger, "sessions").err
    ended = done(ledger, "adopt", "sessions", folder, "--record", COLUMNS="80")
    assert "Recorded: 1 session, 1 answer, 1 call, 0.0 MB of evidence." in ended.text
    assert json.loads(done(ledger, "adopt", "sessions", folder, "--record", "--json").out)["recorded"]["unchanged"] == 1
    assert "claude-code: 1 session from 2026-10-31 to 2026-10-31" in done(ledger, "sessions", COLUMNS="80").text
    misspelt = tally(ledger, "sessions", "--program", "claude-cod")
    assert (misspelt.code, "There is no program 'claude-cod'.\nDid you mean 'claude-code'?" in misspelt.err) == (
        1,
        True,
    )
