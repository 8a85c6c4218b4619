"""Use case of sessions: what the recorded sessions of coding agents did."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from api.service.ledger import View
from api.service.operation import operation
from api.service.unknown_names import find_unknown_names
from api.text_format import pluralize
from ledger.threads import run_on_thread
from projections.sessions.program_sessions import describe_programs
from projections.sessions.session_index import SessionIndex
from projections.shared_params import Since
from tallystick.shapes.sessions import ProgramSessions, SessionsAnswer


class SessionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions are meant: those that went on at a time or later."""

    since: Since = None
    program: Annotated[str | None, Meta(description="One program, such as claude-code or codex.")] = None


@operation("/sessions", "sessions")
async def get_sessions(view: View, params: SessionsQuery) -> SessionsAnswer:
    """Return what the recorded sessions of coding agents did: answers, models, tokens, tools and denials."""
    projection, position = await view.at(SessionIndex)
    programs = await run_on_thread(describe_programs, projection.copy(), params.since)
    known = {one.program for one in programs}
    programs = [one for one in programs if params.program in (None, one.program)]
    return SessionsAnswer(
        programs=programs,
        coverage=describe_coverage(programs),
        caveats=list(list_caveats(programs)),
        as_of=await view.dated(position),
        unknown_names=tuple(find_unknown_names({"program": params.program}, {"program": known}) or ()),
    )


def describe_coverage(programs: Sequence[ProgramSessions]) -> str:
    """Return how many calls have a result, and how many known sessions a file if one has none."""
    calls, known = sum(one.calls for one in programs), sum(one.with_result for one in programs)
    lost = sum(one.missing_sessions for one in programs)
    files = sum(one.sessions for one in programs)
    of_files = f" {files:,} of {pluralize(files + lost, 'session')} have a file." if lost else ""
    missing = f"; {calls - known:,} {'is' if calls - known == 1 else 'are'} missing" if known < calls else ""
    return f"{known:,} of {pluralize(calls, 'call')} have a result{missing}.{of_files}"


def list_caveats(programs: Sequence[ProgramSessions]) -> Iterator[str]:
    """Yield what limits the figures of sessions."""
    if any(one.calls for one in programs):
        yield "Files do not have who allowed a call: a call with a result may have been allowed by nobody."
    if any(model.served is None for one in programs for model in one.models):
        yield "Where only a requested model is given, files do not have the one that answered."
    missing = sum(one.missing_subagents for one in programs)
    if missing:
        yield f"The files of {pluralize(missing, 'sub-agent')} are not there: their answers and calls are missing."
