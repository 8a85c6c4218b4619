"""What a scenario looks for, pattern by pattern, each under its path in `expected_outcomes`."""

from collections.abc import Iterable
from typing import NamedTuple

from events.evaluation import MatchType
from instruments.evals.scenario import Expected, FailureMode, Matcher, NextSteps, Wanted


class ExpectedPattern(NamedTuple):
    """One pattern: where it stands in the scenario, and how it is looked for."""

    path: str
    text: str
    match_type: MatchType
    mode: bool = False
    """Whether it names a class of failure, whose words may be joined by anything."""


Group = tuple[ExpectedPattern, ...]
"""Patterns of which one is enough."""


class ExpectedPatterns(NamedTuple):
    """What a text must say: something of each required group, something of the optional one, nothing denied."""

    required: tuple[Group, ...] = ()
    optional: Group = ()
    denied: Group = ()

    def patterns(self) -> Group:
        """Every pattern, in the order of the scenario's keys."""
        return tuple(pattern for group in (*self.required, self.optional, self.denied) for pattern in group)


def wishes(expected: Expected | None, path: str) -> ExpectedPatterns:
    """`patterns`, `exact` and each of `all_of` are required, `any_of` is optional, `none_of` denied."""
    if expected is None:
        return ExpectedPatterns()
    alone = (_listed(expected, path), _exact(expected.exact, f"{path}.exact"))
    required = (*alone, *_each(expected.all_of, f"{path}.all_of"))
    return ExpectedPatterns(
        tuple(group for group in required if group),
        _flat(expected.any_of, f"{path}.any_of"),
        _flat(expected.none_of, f"{path}.none_of"),
    )


def hypotheses(expected: Expected | None, failure: FailureMode | None) -> tuple[Group, Group, ExpectedPatterns]:
    """The classes of failure that a hypothesis can name, those of `failure_mode`, and what else it must say."""
    named: Group = ()
    classes = _exact(None if failure is None else failure.exact, "failure_mode.exact")
    rest = ExpectedPatterns()
    if expected is not None:
        path = "hypotheses"
        named = (
            _listed(expected, path) + _exact(expected.exact, f"{path}.exact") + _flat(expected.any_of, f"{path}.any_of")
        )
        rest = ExpectedPatterns(
            _each(expected.all_of, f"{path}.all_of"), (), _flat(expected.none_of, f"{path}.none_of")
        )
    return _as_modes(named), tuple(one._replace(match_type="word") for one in _as_modes(classes)), rest


def steps(expected: NextSteps | None) -> tuple[Group, ExpectedPatterns]:
    """The commands, and what else the next steps must and must not say."""
    if expected is None:
        return (), ExpectedPatterns()
    path = "next_steps"
    commands = tuple(
        ExpectedPattern(f"{path}.command_types[{at}]", command, "word")
        for at, command in enumerate(expected.command_types)
    )
    required = _each(expected.must_include, f"{path}.must_include")
    return commands, ExpectedPatterns(required, (), _flat(expected.none_of, f"{path}.none_of"))


def _listed(matcher: Expected | Matcher, path: str) -> Group:
    kind: MatchType = matcher.match_type or "substring"
    return tuple(ExpectedPattern(f"{path}.patterns[{at}]", text, kind) for at, text in enumerate(matcher.patterns))


def _exact(exact: str | tuple[str, ...] | None, path: str) -> Group:
    if exact is None or isinstance(exact, str):
        return () if exact is None else (ExpectedPattern(path, exact, "exact"),)
    return tuple(ExpectedPattern(f"{path}[{at}]", text, "exact") for at, text in enumerate(exact))


def _wanted(wanted: Wanted, path: str) -> Group:
    return (ExpectedPattern(path, wanted, "substring"),) if isinstance(wanted, str) else _listed(wanted, path)


def _flat(wanted: Iterable[Wanted], path: str) -> Group:
    return tuple(pattern for at, one in enumerate(wanted) for pattern in _wanted(one, f"{path}[{at}]"))


def _each(wanted: Iterable[Wanted], path: str) -> tuple[Group, ...]:
    return tuple(_wanted(one, f"{path}[{at}]") for at, one in enumerate(wanted))


def _as_modes(group: Group) -> Group:
    return tuple(pattern._replace(mode=True) for pattern in group)
