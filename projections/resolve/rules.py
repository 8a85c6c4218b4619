"""The rules by which tests of decisions are resolved: pure functions of a test and of what was observed.

Where something happened that decides, that is the basis of the verdict; where nothing did until the end of the window,
it counts only if what was observed covers the window. An error of a test is never a failure of the decision.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from projections.resolve.change_rules import kept, lines_alive
from projections.resolve.evidence import Evidence
from projections.resolve.request_rules import checks_green, merged, merged_and_kept
from projections.resolve.states import RuleFinding, State, StatedTest
from projections.resolve.subject_rules import alert_silent, command_exit, http_status, junit_passed, no_event

DAY_S: Final = 86_400

Decide = Callable[[StatedTest, Evidence], RuleFinding]
ParamKind = Literal["text", "number", "names"]


class Rule(NamedTuple):
    """A rule: its function, what its subject begins with, its usual window, and its parameters."""

    name: str
    version: int
    decide: Decide
    subjects: tuple[str, ...]
    window_s: int
    params: Mapping[str, ParamKind]
    means: str


RULES: Final[Mapping[str, Rule]] = {
    rule.name: rule
    for rule in (
        Rule(
            "git.kept",
            1,
            kept,
            ("commit",),
            14 * DAY_S,
            {"fixes": "text"},
            "the change landed, and was neither reverted nor fixed (fixes=ignore: not reverted) in the window",
        ),
        Rule(
            "git.lines_alive",
            1,
            lines_alive,
            ("commit",),
            30 * DAY_S,
            {"percent": "number"},
            "so many percent (50) of the lines that the change gave birth to exist after 14, 30 or 90 days",
        ),
        Rule(
            "forge.merged",
            1,
            merged,
            ("pr", "commit"),
            14 * DAY_S,
            {},
            "the pull request was merged within the window after it was opened",
        ),
        Rule(
            "forge.merged_and_kept",
            1,
            merged_and_kept,
            ("pr", "commit"),
            14 * DAY_S,
            {"kept_days": "number", "fixes": "text"},
            "it was merged within the window, and then kept for kept_days (14)",
        ),
        Rule(
            "checks.green",
            1,
            checks_green,
            ("pr", "commit"),
            14 * DAY_S,
            {"names": "names"},
            "when the pull request ended, each named check (or every one) had succeeded",
        ),
        Rule(
            "junit.passed",
            1,
            junit_passed,
            ("junit",),
            DAY_S,
            {"ids": "names"},
            "in the last test run of the window, the named tests (or all) passed",
        ),
        Rule(
            "alert.silent",
            1,
            alert_silent,
            ("alert",),
            DAY_S,
            {"heartbeat": "text", "heartbeat_s": "number", "settle_s": "number", "source": "text"},
            "the alert did not fire in the window (or after settle_s of it), while the heartbeat (Watchdog) of its "
            "source was heard every heartbeat_s (600)",
        ),
        Rule(
            "command.exit",
            1,
            command_exit,
            ("command",),
            DAY_S,
            {"code": "number"},
            "the first run of the command after the window that is no error of its own exits with code (0)",
        ),
        Rule(
            "http.status",
            1,
            http_status,
            ("http",),
            DAY_S,
            {"status": "number", "percent": "number"},
            "of the samples in the window, percent (100) have the status (200), and none is missing for long",
        ),
        Rule(
            "no_event",
            1,
            no_event,
            ("",),
            14 * DAY_S,
            {"type": "text"},
            "no event of the type was observed of the subject, and its source was read through the window",
        ),
    )
}
"""The rules by their names."""

ALL_OF, ANY_OF = "all_of", "any_of"
PARTS_MAX: Final = 8

_FINAL: Final[frozenset[State]] = frozenset(("succeeded", "failed"))


def is_final(verdict: RuleFinding) -> bool:
    """Return whether a verdict is an outcome."""
    return verdict.state in _FINAL


def combine(rule: str, verdicts: list[RuleFinding]) -> RuleFinding:
    """Return the verdict of several tests together: one that decides all, otherwise the one that is furthest from it.

    `all_of` fails with the first that failed, and waits while one does; `any_of` succeeds with the first that did.
    """
    deciding: State = "failed" if rule == ALL_OF else "succeeded"
    other: State = "succeeded" if rule == ALL_OF else "failed"
    decided = [one for one in verdicts if one.state == deciding]
    if decided:
        found = min(decided, key=lambda one: one.due_s or 0)
    elif all(one.state == other for one in verdicts):
        found = max(verdicts, key=lambda one: one.due_s or 0)
    else:
        order: tuple[State, ...] = ("unresolvable", "overdue", "waiting", "failed_early", "running")
        found = next(one for state in order for one in verdicts if one.state == state)
    positions = [one.first_position for one in verdicts if one.first_position is not None]
    starts = [one.start_s for one in verdicts if one.start_s is not None]
    return RuleFinding(
        state=found.state,
        value=found.value,
        start_s=min(starts, default=None),
        due_s=found.due_s,
        basis=found.basis,
        evidence=tuple(name for one in (decided or verdicts) for name in one.evidence),
        first_position=min(positions, default=None),
    )
