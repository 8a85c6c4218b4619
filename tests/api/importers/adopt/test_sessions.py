"""Sessions that are found on a machine, and their figures."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.importers.adopt.sessions import read_sessions, recognise
from api.progress import no_progress
from ledger.errors import InvalidQuery
from tests.api.cli.command import done, tally
from tests.support.paths import SHARED

SAMPLES = SHARED / "sessions"
NOW = datetime(2026, 11, 1, tzinfo=UTC)

needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared data")


@needs_samples
def test_all_samples_together() -> None:
    preview = read_sessions([SAMPLES], NOW, no_progress).preview
    assert [(one.program, one.sessions, one.answers, one.calls) for one in preview.programs] == [
        ("codex", 5, 61, 89), ("gemini-cli", 2, 8, 5), ("opencode", 1, 5, 5), ("claude-code", 14, 256, 288),
    ]  # fmt: skip
    assert (preview.files, preview.lost, preview.faults, preview.unknown) == (29, 0, [], {})
    assert preview.coverage == "383 of 387 calls have a result; 4 are missing."
    claude = preview.programs[-1]
    assert [(one.by, one.basis, one.calls) for one in claude.denials] == [
        ("person", "recorded", 4), ("program", "inferred", 1), ("rule", "recorded", 1),
    ]  # fmt: skip
    assert (claude.tools[0].tool, claude.tools[0].calls, claude.tools[0].failed) == ("Bash", 95, 3)
    later = read_sessions([SAMPLES], NOW, no_progress, since=datetime(2026, 8, 1, tzinfo=UTC)).preview
    assert [(one.program, one.sessions) for one in later.programs] == [("codex", 1), ("claude-code", 3)]


@needs_samples
def test_usual_places_and_what_is_deleted_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    copies = {
        ".claude/projects/-work/a.jsonl": "claude-code/2.1.221-api-error.jsonl",
        ".claude/projects/-work/b.jsonl": "claude-code/2.1.29-model-command.jsonl",
        "elsewhere/sessions/2025/11/17/rollout-x.jsonl": "codex/0.58.0-cli.jsonl",
        ".gemini/tmp/h/chats/session-1.json": "other/gemini-cli-2026-01.json",
    }
    for place, sample in copies.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLES / sample, tmp_path / place)
    (tmp_path / ".claude" / "history.jsonl").write_text("{}\n", encoding="utf-8")
    old = (NOW - timedelta(days=25)).timestamp()
    os.utime(tmp_path / ".claude/projects/-work/a.jsonl", (old, old))
    os.utime(tmp_path / ".claude/projects/-work/b.jsonl", (NOW.timestamp(), NOW.timestamp()))
    preview = read_sessions([], NOW, no_progress).preview
    assert [(one.program, one.sessions) for one in preview.programs] == [
        ("codex", 1), ("gemini-cli", 1), ("claude-code", 2),
    ]  # fmt: skip
    assert preview.deleted_soon == 1
    assert "Claude Code deletes 1 file within 7 days (cleanupPeriodDays: 30)." in preview.caveats


def test_files_are_recognised_by_their_beginning(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    for text, program in (
        ('{"timestamp": "t", "type": "session_meta", "payload": {}}', "codex"),
        ('{"id": "i", "timestamp": "t", "instructions": null, "git": {}}', "codex"),
        ('{"type": "summary", "leafUuid": "u"}', "claude-code"),
        ('{"parentUuid": null, "sessionId": "s"}', "claude-code"),
        ('{"sessionId": "s", "projectHash": "h"}', "gemini-cli"),
        ('{"info": {"id": "ses"}, "messages": []}', "opencode"),
        ('{"name": "package"}', None),
    ):
        file.write_text(text, encoding="utf-8")
        assert recognise(file) == program
    with pytest.raises(InvalidQuery, match="is not a session of"):
        read_sessions([file], NOW, no_progress)
    with pytest.raises(InvalidQuery, match="is not there"):
        read_sessions([tmp_path / "none"], NOW, no_progress)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "session-1.json"
    broken.write_text('{"sessionId": "s", "projectHash": "h", ', encoding="utf-8")
    preview = read_sessions([tmp_path], NOW, no_progress).preview
    assert [fault.file for fault in preview.faults] == [str(broken)]
    assert preview.programs == []


@needs_samples
def test_the_command_shows_figures_and_no_text(tmp_path: Path) -> None:
    nowhere = tmp_path / "none.db"
    ended = done(nowhere, "adopt", "sessions", SAMPLES / "claude-code", COLUMNS="80")
    assert "claude-code: 14 sessions from 2025-09-29 to 2026-08-19" in ended.text
    assert "Denied by: person 4 (recorded), program 1 (inferred), rule 1 (recorded)." in ended.text
    asked = json.loads(done(nowhere, "adopt", "sessions", SAMPLES, "--json").out)
    assert [program["program"] for program in asked["programs"]] == ["codex", "gemini-cli", "opencode", "claude-code"]
    for private in ("/Users", "/home", "Fitcheck", "entire", "LICENSE", "mcp__"):
        assert private not in json.dumps(asked["programs"])
        assert private not in ended.text
    (tmp_path / "empty").mkdir()
    assert tally(nowhere, "adopt", "sessions", tmp_path / "empty").code == 2


def test_files_that_codex_has_compressed_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sessions" / "2026"
    folder.mkdir(parents=True)
    for name in ("a.jsonl.zst", "b.jsonl.zst", "b.jsonl"):  # one of them is there in plain, too
        (folder / name).write_bytes(b"")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "nobody")
    for paths in ([], [tmp_path]):
        preview = read_sessions(paths, NOW, no_progress).preview
        assert preview.compressed == 1
        assert "Not read: 1 compressed file. To read them: unzstd FILE.jsonl.zst" in preview.caveats
