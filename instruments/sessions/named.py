"""Sessions that a program's list of prompts names: history.jsonl, which Claude Code and Codex never shorten."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from instruments.sessions.json_lines import FileLines, decode_document, read_lines

HISTORY: Final = "history.jsonl"

_ID_FIELDS: Final[Mapping[str, str]] = {"claude-code": "sessionId", "codex": "session_id"}
_TIME_FIELDS: Final[Mapping[str, tuple[str, float]]] = {"claude-code": ("timestamp", 1e3), "codex": ("ts", 1.0)}
"""The field with the time of a prompt, and how many of its unit are a second."""


def read_named_sessions(file: Path) -> dict[str, dict[str, datetime]]:
    """Return by program the sessions that a file names, each with the time of its last prompt. Errors: OSError."""
    found: dict[str, dict[str, datetime]] = {}
    with file.open("rb") as stream:
        for line in read_lines(stream, decode_document, FileLines()):
            for program, field in _ID_FIELDS.items():
                name = line.get(field)
                if isinstance(name, str):
                    sessions = found.setdefault(program, {})
                    time = _time(line, *_TIME_FIELDS[program])
                    sessions[name] = max(time, sessions.get(name, time))
    return found


def _time(line: Mapping[str, Any], field: str, per_second: float) -> datetime:
    value = line.get(field)
    try:
        return datetime.fromtimestamp(value / per_second, UTC) if isinstance(value, int | float) else _NEVER
    except (OverflowError, ValueError, OSError):
        return _NEVER


_NEVER: Final = datetime.fromtimestamp(0, UTC)
