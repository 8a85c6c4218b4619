"""The patterns that a scenario expects, each with its path in `expected_outcomes`."""

from collections.abc import Iterable
from typing import NamedTuple

from instruments.evals.scenario import (
    Expectations,
    Expected,
    FailureMode,
    Matcher,
    NextSteps,
    PatternSpec,
)


class ExpectedPattern(NamedTuple):
    """One pattern: its path in the scenario, its text, and how it is searched."""

    path: str
    text: str
    match_type: str
    mode: bool = False
    """Whether it names a failure class, whose words may be joined by any separator."""


Group = tuple[ExpectedPattern, ...]
"""A group of patterns: one of them must match."""


class ExpectedPatterns(NamedTuple):
    """Conditions on a text: a match of each required group, one of the optional group, none of the denied group."""

    required: tuple[Group, ...] = ()
    optional: Group = ()
    denied: Group = ()

    def patterns(self) -> Group:
        """Return all patterns in the order of the scenario's keys."""
        return tuple(pattern for group in (*self.required, self.optional, self.denied) for pattern in group)


def collect_patterns(expected: Expected | None, path: str) -> ExpectedPatterns:
    """Collect patterns: `patterns`, `exact` and each of `all_of` as required, `any_of` optional, `none_of` denied."""
    if expected is None:
        return ExpectedPatterns()
    single_groups = (_matcher_group(expected, path), _exact(expected.exact, f"{path}.exact"))
    required = (*single_groups, *_groups(expected.all_of, f"{path}.all_of"))
    return ExpectedPatterns(
        tuple(group for group in required if group),
        _joined_group(expected.any_of, f"{path}.any_of"),
        _joined_group(expected.none_of, f"{path}.none_of"),
    )


def hypothesis_patterns(
    expected: Expected | None, failure: FailureMode | None
) -> tuple[Group, Group, ExpectedPatterns]:
    """Return the failure classes of `hypotheses`, those of `failure_mode`, and the other patterns of `hypotheses`."""
    classes: Group = ()
    modes = _exact(None if failure is None else failure.exact, "failure_mode.exact")
    conditions = ExpectedPatterns()
    if expected is not None:
        path = "hypotheses"
        classes = (
            _matcher_group(expected, path)
            + _exact(expected.exact, f"{path}.exact")
            + _joined_group(expected.any_of, f"{path}.any_of")
        )
        conditions = ExpectedPatterns(
            _groups(expected.all_of, f"{path}.all_of"), (), _joined_group(expected.none_of, f"{path}.none_of")
        )
    return _as_modes(classes), tuple(mode._replace(match_type="word") for mode in _as_modes(modes)), conditions


def step_patterns(expected: NextSteps | None) -> tuple[Group, ExpectedPatterns]:
    """Return the command patterns, and the other patterns of the next steps."""
    if expected is None:
        return (), ExpectedPatterns()
    path = "next_steps"
    commands = tuple(
        ExpectedPattern(f"{path}.command_types[{at}]", command, "word")
        for at, command in enumerate(expected.command_types)
    )
    required = _groups(expected.must_include, f"{path}.must_include")
    return commands, ExpectedPatterns(required, (), _joined_group(expected.none_of, f"{path}.none_of"))


def match_types(outcomes: Expectations) -> set[str]:
    """Return the match types of all patterns."""
    classes, modes, hypotheses = hypothesis_patterns(outcomes.hypotheses, outcomes.failure_mode)
    commands, steps = step_patterns(outcomes.next_steps)
    parts = [collect_patterns(part, "") for part in (outcomes.root_cause, outcomes.proposed_fix)]
    patterns = [pattern for part in (*parts, hypotheses, steps) for pattern in part.patterns()]
    return {pattern.match_type for pattern in (*classes, *modes, *commands, *patterns)}


def _matcher_group(matcher: Expected | Matcher, path: str) -> Group:
    kind = matcher.match_type or "substring"
    return tuple(ExpectedPattern(f"{path}.patterns[{at}]", text, kind) for at, text in enumerate(matcher.patterns))


def _exact(exact: str | tuple[str, ...] | None, path: str) -> Group:
    if exact is None or isinstance(exact, str):
        return () if exact is None else (ExpectedPattern(path, exact, "exact"),)
    return tuple(ExpectedPattern(f"{path}[{at}]", text, "exact") for at, text in enumerate(exact))


def _spec_group(spec: PatternSpec, path: str) -> Group:
    return (ExpectedPattern(path, spec, "substring"),) if isinstance(spec, str) else _matcher_group(spec, path)


def _joined_group(specs: Iterable[PatternSpec], path: str) -> Group:
    return tuple(pattern for at, spec in enumerate(specs) for pattern in _spec_group(spec, f"{path}[{at}]"))


def _groups(specs: Iterable[PatternSpec], path: str) -> tuple[Group, ...]:
    return tuple(_spec_group(spec, f"{path}[{at}]") for at, spec in enumerate(specs))


def _as_modes(group: Group) -> Group:
    return tuple(pattern._replace(mode=True) for pattern in group)
