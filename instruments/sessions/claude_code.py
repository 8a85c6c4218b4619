"""Read sessions of Claude Code: ~/.claude/projects/PROJECT/SESSION.jsonl, and files of sub-agents beside it.

The format is no promise of its makers. Unknown kinds of lines are counted, and fields of another type are left out. A
line has one part of an answer; all lines of an answer repeat its usage, of which the largest numbers count. Copies of a
sub-agent's messages in `progress` lines are no answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from events.call import ModelSwitch
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

PROGRAM: Final = "claude-code"
SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the program makes itself."""

KNOWN: Final = words(
    "user assistant system attachment progress queue-operation summary ai-title custom-title agent-name pr-link "
    "last-prompt mode permission-mode bridge-session atis-latch worktree-state agent-setting tag "
    "file-history-snapshot file-history-delta"
)
"""Kinds of lines."""

TOOLS: Final = words(
    "Agent AskUserQuestion Bash BashOutput Edit EnterPlanMode ExitPlanMode Glob Grep KillShell LS ListMcpResourcesTool "
    "MultiEdit NotebookEdit NotebookRead Read ReadMcpResourceTool SendMessage Skill SlashCommand StructuredOutput Task "
    "TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebFetch WebSearch "
    "Write"
)
"""The tools of the program itself."""

_NO_PROMPT: Final = (
    "<command-name>", "<command-message>", "<local-command-", "<bash-", "<task-notification>", "<teammate-message>",
    "[Request interrupted by user", "This session is being continued", "Caveat:",
)  # fmt: skip
"""What the program writes in the place of a prompt."""

_BY_PERSON: Final = "The user doesn't want to proceed with this tool use"
_BY_RULE: Final = re.compile(r"Permission to use .* has been denied", re.DOTALL)
_BY_HOOK: Final = re.compile(r"\bhook\b.*(blocked|denied|error)|^\w+:\w+ hook", re.IGNORECASE)
_sets_model = re.compile(r"Set model to")


class _Usage(msgspec.Struct):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    tool_use_id: str = ""
    is_error: bool | None = None
    text: Any = None
    content: Any = None
    input: Any = None


class _Message(msgspec.Struct):
    id: str = ""
    model: str | None = None
    content: str | list[_Block] | None = None
    usage: _Usage | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    subtype: str | None = None
    session_id: str = ""
    uuid: str = ""
    timestamp: str = ""
    version: str | None = None
    entrypoint: str | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False
    is_api_error_message: bool = False
    prompt_source: str | None = None
    tool_denial_kind: str | None = None
    message: _Message | None = None
    content: Any = None
    tool_use_result: Any = None
    pr_url: str | None = None
    compact_metadata: Any = None


_decode_line = msgspec.json.Decoder(_Line).decode


def _decode(line: bytes) -> _Line:
    """Decode a line; of one with a field of another type only what it is, and when. Errors: msgspec.DecodeError."""
    try:
        return _decode_line(line)
    except msgspec.ValidationError:
        found = decode_document(line)
        texts = {name: found[name] for name in ("type", "sessionId", "timestamp") if isinstance(found.get(name), str)}
        return msgspec.convert(texts, _Line)


class ClaudeCodeReader:
    """Reads files of sessions, in any order; what several have is counted for one of them."""

    def __init__(self) -> None:
        self.sessions: dict[str, AgentSession] = {}
        """By id, in the order in which they were read."""
        self._lines: set[str] = set()
        self._owners: dict[str, AgentSession] = {}
        self._opening: set[str] = set()
        """Calls that open a pull request."""
        self._served = _ServedModels()

    def read(self, file: Path, counts: FileLines) -> None:
        """Read a file of a session or of a sub-agent. Errors: OSError."""
        self._served = _ServedModels()
        session, agent = None, file.stem.removeprefix("agent-") if file.stem.startswith("agent-") else None
        with file.open("rb") as stream:
            for line in read_lines(stream, _decode, counts):
                if line.session_id:
                    found = self.sessions.setdefault(line.session_id, AgentSession(program=PROGRAM, id=line.session_id))
                    if agent is not None and session is None:
                        found.subagents += 1
                        found.named_subagents[agent] = True
                    session = found
                if session is not None:  # lines before the first one of a session are states of the program
                    self._add(line, session)
        if session is not None:
            session.files.append(ReadFile(file, counts))

    def _add(self, line: _Line, session: AgentSession) -> None:
        if line.timestamp:
            session.first_time = min(session.first_time or line.timestamp, line.timestamp)
            session.last_time = max(session.last_time, line.timestamp)
        if line.version is not None and line.version not in session.versions:
            session.versions.append(line.version)
        if line.type not in KNOWN:
            session.unknown[line.type] = session.unknown.get(line.type, 0) + 1
        if line.uuid:
            if line.uuid in self._lines:  # a fork copies lines with their ids
                return
            self._lines.add(line.uuid)
        if line.type == "assistant" and line.message is not None:
            self._add_answer(line, line.message, session)
        elif line.type == "user" and line.message is not None:
            self._add_user(line, line.message, session)
        elif line.type == "system":
            self._add_system(line, session)
        elif line.type == "pr-link":
            session.note_requests(PULL_REQUEST.findall(line.pr_url or ""), line.timestamp)

    def _add_system(self, line: _Line, session: AgentSession) -> None:
        session.compactions += line.subtype == "compact_boundary"
        session.api_errors += line.subtype == "api_error"
        if line.subtype == "model_refusal_fallback":
            self._served.expect("announced")
        if isinstance(line.content, str) and _sets_model.search(line.content) is not None:
            self._set_model(session)

    def _add_answer(self, line: _Line, message: _Message, session: AgentSession) -> None:
        if message.model == SYNTHETIC:
            session.api_errors += line.is_api_error_message
            return
        switch = None if line.is_sidechain else self._served.note(message.id, message.model, line.version)
        answer = session.answers.get(message.id)
        if answer is None and message.id:
            owner = self._owners.setdefault(message.id, session)
            answer = owner.answers.get(message.id)
            if answer is None:
                answer = SessionAnswer(message.id, message.model, None, line.timestamp, Tokens(), line.version, switch)
                owner.answers[message.id] = answer
        if answer is not None and message.usage is not None:
            _raise(answer.tokens, message.usage)
        for block in message.content if isinstance(message.content, list) else ():
            if block.type == "tool_use" and block.id and block.id not in self._owners:
                self._owners[block.id] = session
                tool = block.name if block.name in TOOLS else OTHER_TOOL
                session.calls[block.id] = SessionCall(block.id, tool, line.timestamp, model=message.model)
                if "gh pr create" in _command(block.input):
                    self._opening.add(block.id)

    def _add_user(self, line: _Line, message: _Message, session: AgentSession) -> None:
        session.is_headless |= line.prompt_source == "sdk"
        has_result = False
        for block in message.content if isinstance(message.content, list) else ():
            if block.type == "tool_result":
                has_result = True
                self._add_result(line, block, session)
        text = _text(message.content)
        if text.startswith("[Request interrupted by user"):
            session.interruptions += 1
        if text.startswith("<local-command-stdout>") and _sets_model.search(text) is not None:
            self._set_model(session)
        is_ours = line.is_meta or line.is_compact_summary or line.is_visible_in_transcript_only or line.is_sidechain
        session.prompts += not (has_result or is_ours or text.startswith(_NO_PROMPT))

    def _set_model(self, session: AgentSession) -> None:
        session.model_changes += 1
        self._served.expect("announced")

    def _add_result(self, line: _Line, block: _Block, session: AgentSession) -> None:
        owner = self._owners.get(block.tool_use_id, session)
        call = owner.calls.get(block.tool_use_id)
        if call is None:
            return
        text = _text(block.content)
        if block.is_error:
            call.verdict, call.by, call.basis = _judge(line.tool_denial_kind, text, is_headless=session.is_headless)
        else:
            call.verdict = "ok"
            if call.tool == "ExitPlanMode":  # a plan that was approved may be carried out by another model
                self._served.expect("explained")
        owner.note_commits(call, _commits(line.tool_use_result))
        owner.note_requests(PULL_REQUEST.findall(text) if call.id in self._opening else (), call.time)
        agent = line.tool_use_result.get("agentId") if isinstance(line.tool_use_result, dict) else None
        if isinstance(agent, str):
            owner.named_subagents.setdefault(agent, False)


class _ServedModels:
    """The models that answered in a file, one after another."""

    def __init__(self) -> None:
        self._answer = ""
        self._model: str | None = None
        self._version: str | None = None
        self._expected: ModelSwitch | None = None

    def expect(self, reason: ModelSwitch) -> None:
        """Note why another model may answer next."""
        self._expected = reason

    def note(self, answer: str, model: str | None, version: str | None) -> ModelSwitch | None:
        """Note a line of an answer; if another model answered than before, return why."""
        if answer == self._answer or model is None:
            return None
        reason: ModelSwitch = "unexplained" if version == self._version else "explained"
        before, expected = self._model, self._expected
        self._answer, self._model, self._version, self._expected = answer, model, version, None
        return None if before in (None, model) else expected or reason


def _judge(kind: str | None, text: str, *, is_headless: bool) -> CallEnd:
    """Return how a call with an error ended: who denied it, and whether that is written or follows from the text."""
    if text.startswith(_BY_PERSON):
        return "denied", "program" if is_headless else "person", "recorded"
    if kind == "permission-rule":
        return "denied", "rule", "recorded"
    if kind == "automode-blocked":
        return "denied", "model", "recorded"
    if kind == "interrupted":
        return "interrupted", "unknown", "recorded"
    if kind is not None:  # also user-rejected, which the program writes where it refuses a path by itself
        return "denied", "program", "inferred"
    if _BY_RULE.match(text) is not None:
        return "denied", "rule", "inferred"
    if _BY_HOOK.search(text) is not None:
        return "denied", "hook", "inferred"
    return "failed", None, None


def _raise(tokens: Tokens, usage: _Usage) -> None:
    """Take the largest of each number: the first line of an answer often has too little."""
    tokens.input = max(tokens.input, usage.input_tokens or 0)
    tokens.output = max(tokens.output, usage.output_tokens or 0)
    tokens.cache_read = max(tokens.cache_read, usage.cache_read_input_tokens or 0)
    tokens.cache_write = max(tokens.cache_write, usage.cache_creation_input_tokens or 0)


def _text(content: object) -> str:
    """Return the text of a content: a text, or blocks of which the first with a text counts."""
    if isinstance(content, str):
        return content
    for block in content if isinstance(content, list) else ():
        text = block.text if isinstance(block, _Block) else block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            return text
    return ""


def _command(arguments: object) -> str:
    """Return the command of a call of a shell."""
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else ""


def _commits(result: object) -> Iterator[str]:
    """Yield the ids of commits that the result of a command shows."""
    if not isinstance(result, dict):
        return
    operation = result.get("gitOperation")
    commit = operation.get("commit") if isinstance(operation, dict) else None
    if isinstance(commit, dict) and isinstance(commit.get("sha"), str):
        yield commit["sha"]
    elif isinstance(result.get("stdout"), str):
        yield from COMMIT.findall(result["stdout"])
