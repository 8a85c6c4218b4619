"""Read sessions that `opencode export` wrote: one JSON document with messages and their parts."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from instruments.sessions.json_lines import FileLines, read_document
from instruments.sessions.session import OTHER_TOOL, AgentSession, ReadFile, SessionAnswer, SessionCall, Tokens, words

PROGRAM: Final = "opencode"
TOOLS: Final = words(
    "apply_patch bash edit glob grep list lsp multiedit patch question read skill task todoread todowrite webfetch "
    "websearch write"
)
_REJECTED: Final = "rejected permission"


class OpencodeReader:
    """Reads exports of sessions."""

    def __init__(self) -> None:
        self.sessions: dict[str, AgentSession] = {}

    def read(self, file: Path, counts: FileLines) -> None:
        """Read a file. Errors: OSError, msgspec.DecodeError."""
        with file.open("rb") as stream:
            document = read_document(stream, counts)
        info = document.get("info")
        info = info if isinstance(info, dict) else {}
        name = str(info.get("id") or file.stem)
        session = self.sessions[name] = AgentSession(program=PROGRAM, id=name, files=[ReadFile(file, counts)])
        if isinstance(info.get("version"), str):
            session.versions.append(info["version"])
        for message in document.get("messages") or ():
            _add(message, session)


def _add(message: dict[str, Any], session: AgentSession) -> None:
    info = message.get("info") or {}
    time = _time((info.get("time") or {}).get("created"))
    if time:
        session.first_time = min(session.first_time or time, time)
        session.last_time = max(session.last_time, time)
    session.prompts += info.get("role") == "user"
    if info.get("role") == "assistant":
        name, used = str(info.get("id")), info.get("tokens") or {}
        cache = used.get("cache") or {}
        tokens = Tokens(
            int(used.get("input") or 0),
            int(used.get("output") or 0) + int(used.get("reasoning") or 0),
            int(cache.get("read") or 0),
            int(cache.get("write") or 0),
        )
        session.answers[name] = SessionAnswer(name, None, info.get("modelID"), time, tokens)
        session.api_errors += info.get("error") is not None
    for part in message.get("parts") or ():
        if part.get("type") == "tool":
            session.calls[str(part.get("callID"))] = _call(part, time)


def _call(part: dict[str, Any], time: str) -> SessionCall:
    tool, state = str(part.get("tool")), part.get("state") or {}
    call = SessionCall(str(part.get("callID")), tool if tool in TOOLS else OTHER_TOOL, time)
    if state.get("status") == "completed":
        call.verdict = "ok"
    elif state.get("status") == "error":
        call.verdict = "failed"
        if _REJECTED in str(state.get("error")):
            call.verdict, call.by, call.basis = "denied", "person", "recorded"
    return call


def _time(ms: object) -> str:
    if not isinstance(ms, int | float):
        return ""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
