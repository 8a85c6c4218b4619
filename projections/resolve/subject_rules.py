"""Rules about other subjects: runs of tests and commands, alerts, samples of an address, and what must not happen."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import structs

from projections.changes.recorded_requests import check_digest
from projections.resolve.evidence import Evidence, SubjectObservation
from projections.resolve.states import RuleFinding, StatedTest
from projections.resolve.window import cover, unresolvable

TESTED: Final = "junit.tested"
FIRED, RESOLVED, POLLED = "alert.fired", "alert.resolved", "alert.polled"
RAN: Final = "command.ran"
SAMPLED: Final = "http.sampled"

HEARTBEAT, HEARTBEAT_S = "Watchdog", 600
"""The alert that always fires. After so long without it, it is not known whether another one is silent."""

MAIN: Final = "main"
"""The name of a source of alerts, unless another one is stated."""

ERROR_CODES: Final = frozenset((126, 127))
"""Exit codes by which a shell says that a command could not be run."""

GAPS_MIN: Final = 4
"""Samples must be so near to each other that this many fill the window."""


def _start(test: StatedTest) -> int:
    return test.stated_s if test.start_s is None else test.start_s


def _is_over(test: StatedTest, evidence: Evidence) -> bool:
    """Return whether the window is over, and the time for late evidence."""
    return evidence.now_s >= test.due_s + test.grace_s


def _within(test: StatedTest, evidence: Evidence, event_type: str) -> list[SubjectObservation]:
    """Return what was observed of the subject in the window, oldest first."""
    observed = evidence.of(test.subject or "", _start(test), test.due_s)
    return [one for one in observed if one.event_type == event_type]


def _verdict(
    test: StatedTest, evidence: Evidence, *, through_s: int, failed_s: int | None, value: str,
    deciding: SubjectObservation | None, seen: list[SubjectObservation],
) -> RuleFinding:  # fmt: skip
    return cover(
        test,
        evidence.now_s,
        start_s=_start(test),
        due_s=test.due_s,
        through_s=through_s,
        failed_s=failed_s,
        value=value,
        evidence=() if deciding is None else (deciding.id,),
        first_position=min((one.position for one in seen), default=None),
    )


def junit_passed(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether tests passed in the last run of the window. A run without tests is no evidence."""
    seen = _within(test, evidence, TESTED)
    if not _is_over(test, evidence) or not seen:
        return _verdict(test, evidence, through_s=0, failed_s=None, value="", deciding=None, seen=seen)
    last = seen[-1]
    names = {check_digest(name) for name in test.names("ids")}
    passed, failed = (_names(last, name) for name in ("passed", "failed"))
    if names:
        wrong, missing = names & failed, names - failed - passed
    else:
        wrong, missing = failed, set[str]() if passed or failed else {"any"}
    if missing and not wrong:
        return unresolvable("a named test has no result in the last run", last.position)
    return _verdict(
        test, evidence, through_s=test.due_s, failed_s=last.at_s if wrong else None,
        value=f"{len(wrong):,} failed, {len(names) or len(passed) + len(failed):,} tested", deciding=last, seen=seen,
    )  # fmt: skip


def _names(one: SubjectObservation, name: str) -> set[str]:
    value = one.facts.get(name, ())
    return set(value) if isinstance(value, tuple) else set()


def alert_silent(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether an alert did not fire in the window, or after settle_s of it, while its source was heard.

    The source is heard while an alert fires that always does: its heartbeat. It must be heard until heartbeat_s after
    the window: what began at the end of the window has come by then.
    """
    start_s, gap_s = _start(test), test.number("heartbeat_s", HEARTBEAT_S)
    begin_s, source = start_s + test.number("settle_s", 0), f"alertmanager:{test.text('source', MAIN)}"
    last_s, subject = test.due_s + 2 * gap_s, test.subject or ""
    polls = [one for one in evidence.of(source, start_s + 1, last_s) if one.event_type == POLLED]
    own = _incidents(evidence.of(subject))
    fired = [
        (max(begin_s, since_s), one)
        for since_s, one in _sightings(own, polls, subject)
        if since_s <= test.due_s and one.at_s > begin_s
    ]
    heartbeat = f"alert:{test.text('heartbeat', HEARTBEAT)}"
    heard = evidence.of(heartbeat, start_s + 1, last_s)
    beats = [one for _, one in _sightings(heard, polls, heartbeat) if one.event_type != RESOLVED]
    through_s = start_s
    for one in beats:
        if one.at_s - through_s > gap_s:
            break
        through_s = one.at_s
    is_heard = through_s >= test.due_s + gap_s and _is_over(test, evidence)
    after = next((poll for poll in polls if poll.at_s > test.due_s), None)
    if not fired and (_may_fire(own, evidence, source, subject, begin_s, test.due_s) or _lists(after, subject)):
        is_heard = False  # when it began, or ended, is not known
    seen = [one for _, one in fired] + beats
    found = _verdict(
        test, evidence,
        through_s=test.due_s if is_heard else min(through_s, test.due_s - 1),
        failed_s=fired[0][0] if fired else None,
        value="fired" if fired else "silent",
        deciding=next(iter(seen), None),
        seen=[one for one in seen if one.at_s <= test.due_s],
    )  # fmt: skip
    if found.state in ("running", "overdue") and not beats:
        return structs.replace(found, value=f"{heartbeat} was not seen to fire: its source is not heard")
    return found


def _incidents(observed: Sequence[SubjectObservation]) -> list[SubjectObservation]:
    """Return what was seen of an alert. Of an incident that ended it is the end: word that it fires may come later."""
    ended = {_incident(one) for one in observed if one.event_type == RESOLVED}

    def is_open(one: SubjectObservation) -> bool:
        return one.event_type == FIRED and ("since" not in one.facts or _incident(one) not in ended)

    return [one for one in observed if one.event_type == RESOLVED or is_open(one)]


def _incident(one: SubjectObservation) -> tuple[object, int]:
    return one.facts.get("fingerprint"), _since(one)


def _lists(poll: SubjectObservation | None, subject: str) -> bool:
    """Return whether an alert is among what fired in a poll, which is in one or several lists."""
    name = subject.partition(":")[2]
    return poll is not None and any(
        key.startswith("firing") and isinstance(names, tuple) and name in names for key, names in poll.facts.items()
    )


def _sightings(
    own: Sequence[SubjectObservation], polls: Sequence[SubjectObservation], subject: str
) -> list[tuple[int, SubjectObservation]]:
    """Return since when and when an alert was seen to fire, oldest first: it fired all the time between the two."""
    found = [(min(_since(one), one.at_s), one) for one in own if one.event_type in (FIRED, RESOLVED)]
    found += [(poll.at_s, poll) for poll in polls if _lists(poll, subject)]
    return sorted(found, key=lambda pair: (pair[1].at_s, pair[1].position))


def _since(one: SubjectObservation) -> int:
    since = one.facts.get("since")
    return since if isinstance(since, int) else one.at_s


def _may_fire(
    own: Sequence[SubjectObservation], evidence: Evidence, source: str, subject: str, begin_s: int, due_s: int
) -> bool:
    """Return whether an alert fired before the window, and was not seen to end: by `alert.resolved`, or a poll.

    Only a source that says when an alert begins (`since`) says when it ends.
    """
    before = [poll for poll in evidence.of(source, 0, begin_s) if poll.event_type == POLLED][-1:]
    last = {one.facts.get("fingerprint"): one for one in own if one.at_s <= begin_s}
    firing = [one.at_s for one in last.values() if one.event_type == FIRED and "since" in one.facts]
    firing += [poll.at_s for poll in before if _lists(poll, subject)]
    return any(
        all(poll.event_type != POLLED or _lists(poll, subject) for poll in evidence.of(source, at_s + 1, due_s))
        for at_s in firing
    )


def command_exit(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether a command exits as it should: in its first run after the window that says anything."""
    expected, errors = test.number("code", 0), 0
    runs = [one for one in evidence.of(test.subject or "", test.due_s) if one.event_type == RAN]
    for one in runs:
        code = one.facts.get("exit")
        if not isinstance(code, int) or code in ERROR_CODES:
            errors += 1
            continue
        return _verdict(
            test, evidence, through_s=test.due_s, failed_s=None if code == expected else one.at_s,
            value=f"exit code {code}", deciding=one, seen=[one],
        )  # fmt: skip
    return _verdict(
        test, evidence, through_s=0, failed_s=None, value=f"{errors} runs with errors of their own", deciding=None,
        seen=[],
    )  # fmt: skip


def http_status(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether enough samples of an address have the expected status."""
    seen = _within(test, evidence, SAMPLED)
    answered = [one for one in seen if isinstance(one.facts.get("status"), int)]
    good = [one for one in answered if one.facts.get("status") == test.number("status", 200)]
    if not _is_over(test, evidence):
        return _verdict(test, evidence, through_s=0, failed_s=None, value="", deciding=None, seen=seen)
    times = [_start(test), *(one.at_s for one in answered), test.due_s]
    if any(GAPS_MIN * (later - earlier) > test.window_s for earlier, later in pairwise(times)):
        return unresolvable(f"{len(answered):,} of {len(seen):,} samples have an answer: too few, or too far apart")
    bad = [one for one in answered if one not in good]
    is_good = 100 * len(good) >= test.number("percent", 100) * len(answered)
    return _verdict(
        test, evidence, through_s=test.due_s, failed_s=None if is_good else bad[0].at_s,
        value=f"{len(good):,} of {len(answered):,} samples", deciding=answered[-1] if is_good else bad[0], seen=seen,
    )  # fmt: skip


def no_event(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether something was not observed of a subject whose source was read through the window."""
    seen = _within(test, evidence, test.text("type", ""))
    return _verdict(
        test, evidence, through_s=evidence.through(test.subject or ""), failed_s=seen[0].at_s if seen else None,
        value="observed" if seen else "not observed", deciding=seen[0] if seen else None, seen=seen,
    )  # fmt: skip
