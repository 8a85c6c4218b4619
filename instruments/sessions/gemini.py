"""Read sessions of Gemini CLI: ~/.gemini/tmp/PROJECT/chats/session-*.json, since version 0.40 as JSON lines.

A line replaces a message with the same id, `$set` sets fields of the session, perhaps all messages, and `$rewindTo`
takes back what came after a message.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from events.call import CallVerdict
from instruments.sessions.json_lines import FileLines, decode_document, read_document, read_lines
from instruments.sessions.session import OTHER_TOOL, AgentSession, ReadFile, SessionAnswer, SessionCall, Tokens, words

PROGRAM: Final = "gemini-cli"
TOOLS: Final = words(
    "activate_skill ask_user edit enter_plan_mode exit_plan_mode glob google_web_search grep_search list_directory "
    "read_file read_many_files replace run_shell_command save_memory search_file_content web_fetch write_file "
    "write_todos"
)
_STATUS: Final[dict[str, CallVerdict]] = {"success": "ok", "error": "failed", "cancelled": "interrupted"}
_KNOWN: Final = frozenset(("user", "gemini", "info", "error", "warning"))


class GeminiReader:
    """Reads files of sessions; a file that was resumed is read as it is now."""

    def __init__(self) -> None:
        self.sessions: dict[str, AgentSession] = {}

    def read(self, file: Path, counts: FileLines) -> None:
        """Read a file. Errors: OSError."""
        head: dict[str, Any] = {}
        messages: dict[str, dict[str, Any]] = {}
        with file.open("rb") as stream:
            if file.suffix == ".json":
                records: Iterable[dict[str, Any]] = [read_document(stream, counts)]
            else:
                records = read_lines(stream, decode_document, counts)
            for record in records:
                _apply(record, head, messages)
        name = str(head.get("sessionId") or file.stem)
        session = self.sessions[name] = AgentSession(program=PROGRAM, id=name, files=[ReadFile(file, counts)])
        for message in messages.values():
            _add(message, session)


def _apply(record: dict[str, Any], head: dict[str, Any], messages: dict[str, dict[str, Any]]) -> None:
    """Apply a line to a session and its messages."""
    if isinstance(changed := record.get("$set"), dict):
        record = changed
    if isinstance(target := record.get("$rewindTo"), str):
        for name in list(messages)[list(messages).index(target) + 1 :] if target in messages else ():
            del messages[name]
    elif "type" in record and "id" in record:
        messages[str(record["id"])] = record
    else:
        head.update({name: value for name, value in record.items() if name != "messages"})
        if isinstance(given := record.get("messages"), list):
            messages.clear()
            messages.update({str(one["id"]): one for one in given if isinstance(one, dict) and "id" in one})


def _add(message: dict[str, Any], session: AgentSession) -> None:
    kind, time = str(message.get("type")), str(message.get("timestamp") or "")
    if time:
        session.first_time = min(session.first_time or time, time)
        session.last_time = max(session.last_time, time)
    session.prompts += kind == "user"
    session.api_errors += kind == "error"
    if kind not in _KNOWN:
        session.unknown[kind] = session.unknown.get(kind, 0) + 1
    if kind != "gemini":
        return
    name, model = str(message["id"]), message.get("model")
    found = message.get("tokens")
    used = {key: int(value or 0) for key, value in found.items()} if isinstance(found, dict) else {}
    tokens = Tokens(
        input=max(0, used.get("input", 0) - used.get("cached", 0)),
        output=used.get("output", 0) + used.get("thoughts", 0),
        cache_read=used.get("cached", 0),
    )
    session.answers[name] = SessionAnswer(name, model if isinstance(model, str) else None, None, time, tokens)
    for call in message.get("toolCalls") or ():
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            tool, verdict = str(call.get("name")), _STATUS.get(str(call.get("status")))
            made = session.calls[call["id"]] = SessionCall(
                call["id"], tool if tool in TOOLS else OTHER_TOOL, time, verdict
            )
            if verdict == "interrupted":
                made.by, made.basis = "unknown", "recorded"
