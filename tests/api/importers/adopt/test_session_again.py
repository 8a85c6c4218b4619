"""Recorded sessions, read again from their evidence: by a better reader, after erasures, and when files are gone."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from api.client.open_store import open_store
from api.importers.adopt.session_again import record_again
from api.importers.adopt.sessions import RecordedSessions, SessionsPreview, read_sessions
from api.progress import no_progress
from events.session import SessionRecorded
from instruments.sessions import claude_code
from tests.api.cli.command import done, tally
from tests.api.importers.adopt.test_session_record import (
    BEGAN,
    NOW,
    SAMPLES,
    events_in,
    figures,
    needs_samples,
    record,
    turn,
    write,
)

BEGIN = [*turn("parent", 0, "1"), *turn("parent", 1, "2")]
COPIED = [part.replace('"sessionId": "parent"', '"sessionId": "fork"') for part in BEGIN]


def again(ledger: Path, now: datetime = NOW) -> SessionsPreview:
    async def run() -> SessionsPreview:
        async with open_store(ledger, None, None) as store:
            return await record_again(store, now, no_progress)

    return asyncio.run(run())


def last_of(ledger: Path, session_id: str) -> SessionRecorded:
    sessions = [event.data for event in events_in(ledger) if isinstance(event.data, SessionRecorded)]
    return [session for session in sessions if session.session_id == session_id][-1]


@needs_samples
def test_samples_read_again_are_as_they_were(tmp_path: Path) -> None:
    """Also the files of sub-agents, whose names readers use, and documents that are no lines."""
    ledger = tmp_path / "t.db"
    record(ledger, SAMPLES)
    count = len(events_in(ledger))
    seen = again(ledger)
    assert seen.recorded == RecordedSessions(unchanged=22)
    assert seen.programs == read_sessions([SAMPLES], NOW, no_progress).preview.programs
    assert len(events_in(ledger)) == count


def test_a_better_reader_revises_what_it_reads_in_another_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, ledger = write(tmp_path / "s.jsonl", turn("s", 0, "1")), tmp_path / "t.db"
    with monkeypatch.context() as worse:
        worse.setattr(claude_code, "KNOWN", frozenset(["user"]))
        record(ledger, file)
    file.unlink()
    assert last_of(ledger, "cc-s").unknown_lines == 1
    assert again(ledger).recorded == RecordedSessions(sessions=1, there=2)
    assert last_of(ledger, "cc-s").unknown_lines == 0
    assert again(ledger).recorded == RecordedSessions(unchanged=1)
    assert figures(ledger)[0].answers == 1


def test_calls_that_are_read_in_another_way_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, ledger = write(tmp_path / "s.jsonl", turn("s", 0, "1", "no such file")), tmp_path / "t.db"
    record(ledger, file)
    monkeypatch.setattr(claude_code, "KNOWN", frozenset())  # so that the session differs, too
    monkeypatch.setattr(claude_code, "TOOLS", frozenset())
    seen = again(ledger).recorded
    assert seen is not None
    assert (seen.sessions, seen.calls, seen.differing) == (1, 0, 1)
    assert [tool.tool for tool in figures(ledger)[0].tools] == ["Bash"]


def test_what_was_unfinished_is_recorded_though_its_file_is_gone(tmp_path: Path) -> None:
    file, ledger = write(tmp_path / "s.jsonl", turn("s", 0, "1")), tmp_path / "t.db"
    assert record(ledger, file, now=BEGAN + timedelta(minutes=1)).unfinished == 1
    file.unlink()
    assert again(ledger).recorded == RecordedSessions(sessions=1, answers=1, there=1)
    assert figures(ledger)[0].answers == 1


def test_an_erased_session_and_what_copied_it_stay_as_they_are(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    for name, lines in (
        ("parent", BEGIN),
        ("fork", [*COPIED, *turn("fork", 3, "3")]),
        ("other", turn("other", 0, "9")),
    ):
        record(ledger, write(tmp_path / f"{name}.jsonl", lines))
    (digest,) = last_of(ledger, "cc-parent").files[0].evidence
    done(ledger, "evidence", "erase", digest, "--reason", "it names a person", "--yes")
    before = figures(ledger)
    assert again(ledger).recorded == RecordedSessions(unchanged=1, erased=1)
    assert figures(ledger) == before


def test_the_command_reads_again_what_is_recorded_and_nothing_else(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", write(tmp_path / "s.jsonl", turn("s", 0, "1"))
    ended = tally(ledger, "adopt", "sessions", "--again", file)
    assert (ended.code, "it reads all that is recorded" in ended.err) == (2, True)
    record(ledger, file)
    ended = done(ledger, "adopt", "sessions", "--again")
    assert "Recorded: 0 sessions, 0 answers, 0 calls, 0.0 MB of evidence; 1 session unchanged." in ended.text
