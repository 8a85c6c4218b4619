"""The figures of sessions by program."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from projections.sessions.session_index import ModelUse, SessionState, ToolUse
from tallystick.shapes.sessions import Denials, ModelAnswers, ProgramSessions, TokenCounts, ToolCalls


def describe_programs(sessions: Iterable[SessionState], since: datetime | None = None) -> list[ProgramSessions]:
    """Return the figures of each program, over its sessions that went on at a time or later."""
    programs: dict[str, list[SessionState]] = {}
    for session in sessions:
        last = None if session.shown is None else moment_of(session.shown.last_time)
        if since is None or (last is not None and last >= since):
            programs.setdefault(session.program, []).append(session)
    return [_describe(program, some) for program, some in programs.items()]


def _describe(program: str, sessions: Sequence[SessionState]) -> ProgramSessions:
    shown = [session.shown for session in sessions if session.shown is not None]
    uses = [use for session in sessions for use in session.models]
    calls = [use for session in sessions for use in session.tools]
    denied = Counter[tuple[str, str]]()
    for use in calls:
        if use.verdict == "denied":
            denied[use.denied_by or "unknown", use.basis or "inferred"] += use.calls
    first = [moment for one in shown if (moment := moment_of(one.first_time)) is not None]
    last = [moment for one in shown if (moment := moment_of(one.last_time)) is not None]
    return ProgramSessions(
        program=program,
        versions=sorted({version for one in shown for version in one.versions}),
        sessions=len(sessions),
        headless=sum(one.headless for one in shown),
        subagents=sum(one.subagents for one in shown),
        missing_subagents=sum(one.missing_subagents for one in shown),
        first=min(first, default=None),
        last=max(last, default=None),
        prompts=sum(one.prompts for one in shown),
        answers=sum(use.answers for use in uses),
        tokens=_token_counts(uses),
        models=_models(uses),
        calls=sum(use.calls for use in calls),
        with_result=sum(use.calls for use in calls if use.verdict is not None),
        tools=_tools(calls),
        denials=[Denials(by=by, basis=basis, calls=n) for (by, basis), n in denied.most_common()],
        interruptions=sum(one.interruptions for one in shown),
        compactions=sum(one.compactions for one in shown),
        api_errors=sum(one.api_errors for one in shown),
        model_changes=sum(one.model_changes for one in shown),
        pull_requests=sum(one.pull_requests for one in shown),
        commits=len({commit for one in shown for commit in one.commits}),
    )


def moment_of(text: str | None) -> datetime | None:
    """Return the moment of a time in a file of a session; None if it is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _token_counts(uses: Sequence[ModelUse]) -> TokenCounts:
    return TokenCounts(
        input=sum(use.input for use in uses),
        cache_read=sum(use.cache_read for use in uses),
        cache_write=sum(use.cache_write for use in uses),
        output=sum(use.output for use in uses),
    )


def _models(uses: Iterable[ModelUse]) -> list[ModelAnswers]:
    by_names: dict[tuple[str | None, str | None], list[ModelUse]] = {}
    for use in uses:
        by_names.setdefault((use.served, use.requested), []).append(use)
    found = [
        ModelAnswers(
            served=served, requested=requested, answers=sum(use.answers for use in some), tokens=_token_counts(some)
        )
        for (served, requested), some in by_names.items()
    ]
    return sorted(found, key=lambda one: (-one.answers, str((one.served, one.requested))))


def _tools(calls: Iterable[ToolUse]) -> list[ToolCalls]:
    verdicts: dict[str, Counter[str | None]] = {}
    for use in calls:
        verdicts.setdefault(use.tool, Counter())[use.verdict] += use.calls
    return [
        ToolCalls(
            tool=tool,
            calls=counts.total(),
            failed=counts["failed"],
            denied=counts["denied"],
            interrupted=counts["interrupted"],
            without_result=counts[None],
        )
        for tool, counts in sorted(verdicts.items(), key=lambda item: (-item[1].total(), item[0]))
    ]
