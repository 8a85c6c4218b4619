"""The events of a session: its answers and calls, and what its files show besides."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from events.call import CallRecorded
from events.envelope import timestamp
from events.limits import ITEMS_MAX, LABEL_CHARS_MAX, STREAM_ID_CHARS_MAX
from events.observation import ObservationScanned
from events.payload import STREAM_ID_PATTERN
from events.session import SessionFile, SessionRecorded
from instruments.sessions.session import AgentSession, SessionAnswer, SessionCall
from projections.sessions.program_sessions import moment_of
from projections.sessions.session_index import SESSIONS

READER: Final = 1
"""The version of what reads sessions: increase it if the same file gives other events."""

SHORT_NAMES: Final = {"claude-code": "cc", "codex": "cx", "gemini-cli": "gm", "opencode": "oc"}
"""What ids begin with, by program."""

CHANGING: Final = timedelta(minutes=10)
"""An answer that is so near to a session's last line may still be written."""

QUIET: Final = timedelta(hours=1)
"""Of a session without a line for so long nothing changes any more."""

_BEGIN: Final = datetime.fromtimestamp(0, UTC)
_stream_id = re.compile(STREAM_ID_PATTERN)


class SessionEvents(NamedTuple):
    """What is recorded of a session: its calls with their times, how many may still change, and whether it is over."""

    session_id: str
    calls: list[tuple[CallRecorded, datetime | None]]
    unfinished: int
    is_over: bool


def session_events(session: AgentSession, now: datetime | None = None) -> SessionEvents:
    """Return the answers and calls of a session that do not change any more; without `now`, all of them."""
    session_id, newest = name_stream(session.program, session.id), moment_of(session.last_time)
    is_quiet = newest is None or now is None or newest + QUIET <= now
    calls = list[tuple[CallRecorded, datetime | None]]()
    unfinished = 0
    for answer in session.answers.values():
        time = moment_of(answer.time)
        if is_quiet or newest is None or (time is not None and time + CHANGING <= newest):
            calls.append((_of_answer(answer, session, session_id), time))
        else:
            unfinished += 1
    for call in session.calls.values():
        if is_quiet or call.verdict is not None:
            calls.append((_of_call(call, session, session_id), moment_of(call.time)))
        else:
            unfinished += 1
    return SessionEvents(session_id, calls, unfinished, is_quiet)


def _of_answer(answer: SessionAnswer, session: AgentSession, session_id: str) -> CallRecorded:
    tokens = answer.tokens
    return CallRecorded(
        call_id=name_stream(session.program, answer.id),
        operation="chat",
        agent=session.program,
        agent_version=label_of(answer.version),
        model=label_of(answer.requested),
        reported_model=label_of(answer.model),
        conversation_id=session_id,
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        switch=answer.switch,
    )


def _of_call(call: SessionCall, session: AgentSession, session_id: str) -> CallRecorded:
    return CallRecorded(
        call_id=name_stream(session.program, call.id),
        operation="execute_tool",
        agent=session.program,
        tool=call.tool,
        conversation_id=session_id,
        error=None if call.verdict in (None, "ok") else call.verdict,
        verdict=call.verdict,
        denied_by=call.by,
        basis=call.basis,
    )


def describe_session(session: AgentSession, unfinished: int, files: Iterable[SessionFile]) -> SessionRecorded:
    """Return what the files of a session show besides its calls."""
    return SessionRecorded(
        session_id=name_stream(session.program, session.id),
        program=session.program,
        reader=READER,
        versions=tuple(_labels(session.versions)),
        first_time=_time(session.first_time),
        last_time=_time(session.last_time),
        headless=session.is_headless,
        prompts=session.prompts,
        interruptions=session.interruptions,
        compactions=session.compactions,
        api_errors=session.api_errors,
        model_changes=session.model_changes,
        subagents=session.subagents,
        missing_subagents=session.missing_subagents,
        pull_requests=len(session.pull_requests),
        commits=tuple(_labels(session.commits)),
        unknown_lines=sum(session.unknown.values()),
        unfinished=unfinished,
        files=tuple(files),
    )


def scan_sessions(
    sessions: Iterable[AgentSession], named: Mapping[str, Mapping[str, datetime]], since: datetime | None
) -> Iterator[ObservationScanned]:
    """Yield for each program how many sessions have a file, and how many its list of prompts names that have none."""
    here: dict[str, dict[str, datetime | None]] = {program: {} for program in named}
    for session in sessions:
        here.setdefault(session.program, {})[session.id] = moment_of(session.last_time)
    for program, files in here.items():
        prompts = named.get(program, {})
        gone = sum(name not in files and (since is None or time >= since) for name, time in prompts.items())
        times = {**{name: time for name, time in files.items() if time is not None}, **prompts}
        newest, through = max(times.items(), key=lambda item: item[1], default=("none", _BEGIN))
        head = name_stream(program, newest)
        stated = "\n".join(map(str, (program, head, through, len(files), gone)))
        yield ObservationScanned(
            scan_id=sha256(stated.encode()).hexdigest()[:32],
            source=program,
            scope=SESSIONS,
            through=timestamp(through),
            head=head,
            reader=READER,
            subjects=len(files),
            gone=gone,
        )


def name_stream(program: str, name: str) -> str:
    """Return the id of a stream, given the id that the program made: a digest of it where that does not fit."""
    found = f"{SHORT_NAMES[program]}-{name}"
    if len(found) <= STREAM_ID_CHARS_MAX and _stream_id.fullmatch(found) is not None:
        return found
    return f"{SHORT_NAMES[program]}-{sha256(name.encode()).hexdigest()[:40]}"


def _time(text: str) -> str | None:
    return None if moment_of(text) is None else text


def label_of(text: str | None) -> str | None:
    """Return a text as a label; None if it is empty."""
    return text[:LABEL_CHARS_MAX] or None if text is not None else None


def _labels(texts: Iterable[str]) -> Iterator[str]:
    """Yield at most ITEMS_MAX texts, each as a label."""
    for text in list(dict.fromkeys(texts))[:ITEMS_MAX]:
        if text:
            yield text[:LABEL_CHARS_MAX]
