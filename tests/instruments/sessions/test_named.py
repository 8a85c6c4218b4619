"""Sessions that a list of prompts names."""

import json
from datetime import UTC, datetime
from pathlib import Path

from instruments.sessions.named import read_named_sessions


def test_the_last_prompt_of_each_session(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    lines = [
        {"display": "Do it", "timestamp": 1_760_000_000_000, "project": "/home/jane/x", "sessionId": "a"},
        {"display": "And this", "timestamp": 1_760_000_060_000, "sessionId": "a"},
        {"display": "Older versions name none", "timestamp": 1_700_000_000_000},
        {"session_id": "b", "ts": 1_760_000_000, "text": "Do it"},
        {"session_id": "c", "ts": "yesterday"},
        {"session_id": "d", "ts": 1e300},
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "{damaged\n", encoding="utf-8")
    began = datetime.fromtimestamp(0, UTC)
    assert read_named_sessions(file) == {
        "claude-code": {"a": datetime.fromtimestamp(1_760_000_060, UTC)},
        "codex": {"b": datetime.fromtimestamp(1_760_000_000, UTC), "c": began, "d": began},
    }
