"""Read sessions of Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl.

A file has running totals of tokens, some of them twice: an answer is a growth of the total. It has the model that was
asked for, and not the one that answered. Files of sub-agents begin with copies of the parent's lines, stamped anew.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from events.call import CallVerdict, DeniedBy
from instruments.sessions.json_lines import FileLines, decode_document, read_lines
from instruments.sessions.session import (
    COMMIT,
    OTHER_TOOL,
    PULL_REQUEST,
    AgentSession,
    CallEnd,
    ReadFile,
    SessionAnswer,
    SessionCall,
    Tokens,
    words,
)

PROGRAM: Final = "codex"
COPIED_WITHIN: Final = timedelta(milliseconds=50)
"""Lines that are so near to the first one of a sub-agent's file are copies."""

TOOLS: Final = words(
    "apply_patch close_agent container.exec exec exec_command get_goal grep_files image_generation list_dir "
    "local_shell read_file request_user_input send_input shell shell_command spawn_agent update_goal update_plan "
    "view_image wait wait_agent web_search write_stdin"
)
"""The tools of the program itself."""

_HEADLESS: Final = ("codex_exec", "exec")
_CALLS: Final = frozenset(("function_call", "custom_tool_call", "local_shell_call", "web_search_call"))
_RESULTS: Final = frozenset(("function_call_output", "custom_tool_call_output"))
_ITEMS: Final = (
    _CALLS | _RESULTS | frozenset(("message", "reasoning", "compaction", "ghost_snapshot", "agent_message", "state"))
)
_EVENTS: Final = words(
    "user_message agent_message agent_reasoning agent_reasoning_raw_content token_count task_started task_complete "
    "turn_aborted patch_apply_end mcp_tool_call_end web_search_end context_compacted thread_rolled_back "
    "entered_review_mode exited_review_mode sub_agent_activity item_completed exec_command_end "
    "thread_settings_applied thread_name_updated view_image_tool_call image_generation_end"
)
_LINES: Final = frozenset(
    ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
     "inter_agent_communication", "inter_agent_communication_metadata")
)  # fmt: skip
_DENIALS: Final[Mapping[str, tuple[CallVerdict, DeniedBy]]] = {
    "exec command rejected by user": ("denied", "unknown"),  # a person, a hook, or a client that broke
    "patch rejected by user": ("denied", "unknown"),
    "user rejected MCP tool call": ("denied", "unknown"),
    "rejected: policy forbids": ("denied", "rule"),
    "rejected: rm -f style commands": ("denied", "rule"),
    "approval required by policy, but AskForApproval is set to Never": ("denied", "program"),
    "rejected due to unacceptable risk": ("denied", "model"),
    "aborted by user after": ("interrupted", "person"),
}
_TEXT_CHARS: Final = 2_000
"""Characters of an output in which a denial is looked for."""

_exit_code = re.compile(r"(?:Process exited with code|\"exit_code\":\s*) ?(-?\d+)")


class CodexReader:
    """Reads files of sessions, in any order; a sub-agent's work is counted for the session that began it."""

    def __init__(self) -> None:
        self.sessions: dict[str, AgentSession] = {}
        self._owners: dict[str, AgentSession] = {}

    def read(self, file: Path, counts: FileLines) -> None:
        """Read a file. Errors: OSError."""
        thread = _Thread(self.sessions, self._owners)
        with file.open("rb") as stream:
            for line in read_lines(stream, decode_document, counts):
                thread.add(line)
        if thread.session is not None:
            thread.session.files.append(ReadFile(file, counts))


class _Thread:
    """A file as it is read."""

    def __init__(self, sessions: dict[str, AgentSession], owners: dict[str, AgentSession]) -> None:
        self._sessions, self._owners = sessions, owners
        self.session: AgentSession | None = None
        self._thread = ""
        self._is_child = False
        self._began: datetime | None = None
        self._model: str | None = None
        self._version: str | None = None
        self._total: tuple[int, int, int] = (0, 0, 0)
        self._answers = 0
        self._opening: set[str] = set()

    def add(self, line: dict[str, Any]) -> None:
        """Add a line."""
        kind, payload = str(line.get("type") or line.get("record_type") or ""), line.get("payload")
        if self.session is None:
            self._begin(payload if isinstance(payload, dict) else line, line)
            if kind in {"session_meta", ""}:
                return
        session = self.session
        assert session is not None
        if not isinstance(payload, dict):  # before the autumn of 2025 lines had no envelope
            kind, payload = "response_item", line
        time = _text(line.get("timestamp"))
        is_copy = self._is_copy(time)
        if time and not is_copy:
            session.first_time = min(session.first_time or time, time)
            session.last_time = max(session.last_time, time)
        part = str(payload.get("type") or payload.get("record_type") or "")
        if kind == "turn_context":
            self._set_model(_text(payload.get("model")), session, is_copy=is_copy)
        elif kind == "compacted":
            session.compactions += not is_copy
        elif kind == "response_item":
            self._add_item(part, payload, time, session, is_copy=is_copy)
        elif kind == "event_msg":
            self._add_event(part, payload, time, session, is_copy=is_copy)
        elif kind not in _LINES:
            _count(session.unknown, kind)

    def _begin(self, meta: dict[str, Any], line: dict[str, Any]) -> None:
        """Take a file's own first line: later ones of its kind come from resumes and copied parents."""
        self._thread = _text(meta.get("id")) or "unknown"
        source = meta.get("source")
        self._is_child = (isinstance(source, dict) and "subagent" in source) or bool(
            meta.get("forked_from_id") or meta.get("parent_thread_id")
        )
        root = _text(meta.get("session_id")) or _text(meta.get("parent_thread_id")) or self._thread
        session = self.session = self._sessions.setdefault(root, AgentSession(program=PROGRAM, id=root))
        session.subagents += root != self._thread
        session.is_headless |= _text(meta.get("originator")) in _HEADLESS or source == "exec"
        version = _text(meta.get("cli_version"))
        self._version = version or None
        if version and version not in session.versions:
            session.versions.append(version)
        self._began = _moment(_text(line.get("timestamp")))
        if self._began is None or not self._is_child:
            time = _text(meta.get("timestamp"))
            session.first_time = min(session.first_time or time, time) if time else session.first_time

    def _is_copy(self, time: str) -> bool:
        """Return whether a line of a sub-agent's file is the parent's."""
        if not self._is_child or self._began is None:
            return False
        moment = _moment(time)
        return moment is not None and moment <= self._began + COPIED_WITHIN

    def _set_model(self, model: str, session: AgentSession, *, is_copy: bool) -> None:
        session.model_changes += not is_copy and self._model is not None and bool(model) and model != self._model
        self._model = (model or self._model) if not is_copy else self._model

    def _add_item(self, part: str, item: dict[str, Any], time: str, session: AgentSession, *, is_copy: bool) -> None:
        if part not in _ITEMS:
            _count(session.unknown, part)
        if is_copy:
            return
        name = _text(item.get("call_id")) or _text(item.get("id"))
        if part in _CALLS and name and name not in self._owners:
            self._owners[name] = session
            tool = _text(item.get("name")) or part.removesuffix("_call")
            session.calls[name] = SessionCall(name, tool if tool in TOOLS else OTHER_TOOL, time, requested=self._model)
            if part == "web_search_call":
                session.calls[name].verdict = "ok" if item.get("status") == "completed" else None
            if "gh pr create" in _joined(item.get("arguments") or item.get("input")):
                self._opening.add(name)
        elif part in _RESULTS and (call := self._owners.get(name, session).calls.get(name)) is not None:
            self._add_result(call, _joined(item.get("output")), session)

    def _add_result(self, call: SessionCall, output: str, session: AgentSession) -> None:
        if call.verdict is None:
            call.verdict, call.by, call.basis = _judge(output)
        session.note_commits(call, COMMIT.findall(output.replace("\\n", "\n")))
        session.note_requests(PULL_REQUEST.findall(output) if call.id in self._opening else (), call.time)

    def _add_event(self, part: str, event: dict[str, Any], time: str, session: AgentSession, *, is_copy: bool) -> None:
        if part == "token_count":
            self._add_tokens(event.get("info"), time, session, is_copy=is_copy)
        elif part not in _EVENTS:
            _count(session.unknown, part)
        elif is_copy:
            return
        elif part == "user_message":
            session.prompts += 1
        elif part == "turn_aborted":
            session.interruptions += event.get("reason") == "interrupted"
        elif part == "patch_apply_end" and event.get("status") == "declined":
            call = session.calls.get(_text(event.get("call_id")))
            if call is not None:
                call.verdict, call.by, call.basis = "denied", "unknown", "recorded"

    def _add_tokens(self, info: object, time: str, session: AgentSession, *, is_copy: bool) -> None:
        total = info.get("total_token_usage") if isinstance(info, dict) else None
        if not isinstance(total, dict):
            return
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        read, cached, written = (int(total.get(name) or 0) for name in names)
        before, self._total = self._total, (read, cached, written)
        if is_copy or (read, cached, written) == before:
            return
        if read + written < before[0] + before[2]:  # a compaction sets the total back to the window
            return
        grown = [max(0, now - old) for now, old in zip(self._total, before, strict=True)]
        self._answers += 1
        name = f"{self._thread}.{self._answers}"
        tokens = Tokens(input=max(0, grown[0] - grown[1]), output=grown[2], cache_read=grown[1])
        session.answers[name] = SessionAnswer(name, None, self._model, time, tokens, self._version)


def _judge(output: str) -> CallEnd:
    """Return how a call ended, by its output."""
    head = output[:_TEXT_CHARS]
    for text, (verdict, by) in _DENIALS.items():
        if text in head:
            return verdict, by, "recorded"
    if (code := _exit_code.search(output)) is not None:
        return ("ok" if code[1] == "0" else "failed"), None, None
    return ("failed" if head.startswith("Script failed") else "ok"), None, None


def _joined(value: object) -> str:
    """Return the text of arguments or an output: a text, or parts with texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return _text(value.get("content")) if isinstance(value, dict) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _count(unknown: dict[str, int], kind: str) -> None:
    unknown[kind] = unknown.get(kind, 0) + 1
