"""The figures of sessions by program."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import exp

import numpy as np

from projections.sessions.session_index import ModelUse, SessionIndex, SessionState, ToolUse
from projections.stats.clustered_share import share_of_clusters
from projections.stats.gap_martingale import LOG_E_VALUE_MAX
from projections.stats.mix_change import find_mix_changes
from tallystick.shapes.sessions import (
    Denials,
    MixChange,
    ModelAnswers,
    ModelSwitches,
    ProgramSessions,
    ServedOnDay,
    TokenCounts,
    ToolCalls,
)


def describe_programs(index: SessionIndex, since: datetime | None = None) -> list[ProgramSessions]:
    """Return the figures of each program, over its sessions that went on at a time or later."""
    missing = index.missing()
    programs: dict[str, list[SessionState]] = {program: [] for program, sessions in missing.items() if sessions}
    for session in index.sessions():
        last = None if session.shown is None else moment_of(session.shown.last_time)
        if since is None or (last is not None and last >= since):
            programs.setdefault(session.program, []).append(session)
    days: dict[str, list[ServedOnDay]] = {}
    oldest = "" if since is None else f"{since.astimezone(UTC):%Y-%m-%d}"
    for (program, version, day, requested, served), answers in index.days().items():
        if day >= oldest:
            row = ServedOnDay(day=day, version=version, served=served, requested=requested, answers=answers)
            days.setdefault(program, []).append(row)
    return [
        _describe(program, some, days.get(program, []), missing.get(program, 0)) for program, some in programs.items()
    ]


def _describe(program: str, sessions: Sequence[SessionState], days: list[ServedOnDay], missing: int) -> ProgramSessions:
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
        missing_sessions=missing,
        headless=sum(one.headless for one in shown),
        subagents=sum(one.subagents for one in shown),
        missing_subagents=sum(one.missing_subagents for one in shown),
        first=min(first, default=None),
        last=max(last, default=None),
        prompts=sum(one.prompts for one in shown),
        answers=sum(use.answers for use in uses),
        tokens=_token_counts(uses),
        models=_models(sessions),
        days=sorted(days, key=lambda one: (one.day, one.version or "", one.served or "", one.requested or "")),
        mix_changes=_mix_changes(sessions),
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


def _models(sessions: Sequence[SessionState]) -> list[ModelAnswers]:
    by_names: dict[tuple[str | None, str | None], list[ModelUse]] = {}
    number: dict[tuple[str | None, str | None], Counter[int]] = {}
    for place, session in enumerate(sessions):
        for use in session.models:
            names = use.served, use.requested
            by_names.setdefault(names, []).append(use)
            number.setdefault(names, Counter())[place] += use.answers
    of_session = np.array([sum(use.answers for use in session.models) for session in sessions], np.float64)
    found = []
    for (served, requested), some in by_names.items():
        answers = np.array([number[served, requested][place] for place in range(len(sessions))], np.float64)
        found.append(
            ModelAnswers(
                served=served,
                requested=requested,
                answers=int(answers.sum()),
                share=float(answers.sum() / of_session.sum()),
                interval=share_of_clusters(answers, of_session),
                sessions=int((answers > 0).sum()),
                switches=_switches(some),
                tokens=_token_counts(some),
            )
        )
    return sorted(found, key=lambda one: (-one.answers, str((one.served, one.requested))))


def _switches(uses: Iterable[ModelUse]) -> ModelSwitches:
    some = list(uses)
    return ModelSwitches(
        announced=sum(use.announced for use in some),
        explained=sum(use.explained for use in some),
        unexplained=sum(use.unexplained for use in some),
    )


def _mix_changes(sessions: Sequence[SessionState]) -> list[MixChange]:
    """Return when the model changed that answers most of a session, over sessions in the order in which they began."""
    units = sorted(
        (one.shown.first_time, served)
        for one in sessions
        if one.shown is not None and one.shown.first_time is not None and (served := _most_served(one)) is not None
    )
    names = {name: number for number, name in enumerate(sorted({name for _, name in units}))}
    changes = find_mix_changes(np.array([names[name] for _, name in units], np.intp))
    firsts = [change.first for change in changes]
    stretches = [units[start:end] for start, end in zip([0, *firsts], [*firsts, len(units)], strict=True)]
    return [
        MixChange(
            first=units[change.first][0],
            alarm=units[change.alarm][0],
            before=dict(Counter(name for _, name in before).most_common()),
            since=dict(Counter(name for _, name in after).most_common()),
            e_value=round(exp(min(change.log_gain, LOG_E_VALUE_MAX)), 1),
        )
        for change, before, after in zip(changes, stretches[:-1], stretches[1:], strict=True)
    ]


def _most_served(session: SessionState) -> str | None:
    answers = Counter[str]()
    for use in session.models:
        if use.served is not None:
            answers[use.served] += use.answers
    return min(answers, key=lambda name: (-answers[name], name), default=None)


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
