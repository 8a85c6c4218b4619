"""What each component of an analysis comes to, in points.

*root cause*: 100 in rca.root_cause, 90 in decision.why, 80 in a hypothesis of confidence 80 or more, else 0. One of
these places counts where it says, by itself, all that is expected and nothing of `none_of`.

*fix accuracy*, over rca.remediation, decision.next and verdict.next_steps: 100 for all that is required (`patterns`,
`exact`, `all_of`) and one of what is optional (`any_of`), or for all that is expected where that is only one of both;
50 for one of both; 30 for a fix with neither, or one that says something of `none_of`; 0 for no fix.

*hypothesis quality*: 100 where a hypothesis names an expected class of failure (one of `patterns`, `exact`, `any_of`,
or `failure_mode`), says all of `all_of` and nothing of `none_of`; 40 where none does; 0 where there is none. An
analysis that states the class (failure_mode, rca.failure_mode) or calls its decision so (decision.label) names it too,
where a hypothesis says all of `all_of`. One that states another class than `failure_mode` expects has 40 at most, even
where it names the right one elsewhere: a label is free text and contradicts nothing, a stated class does. `unknown`
states none.

*next steps*, over decision.next and verdict.next_steps: the share of `command_types` that stand there as words, in
points (100 where none is expected); 50 at most where something of `must_include` is missing or something of `none_of`
is there, and exactly 50 then where no command is expected; 0 for no steps.

A blank text says nothing. Each pattern is looked for in every place up to the one that decides.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Expected, FailureMode, NextSteps
from instruments.evals.scoring import answer_texts, expected_patterns
from instruments.evals.scoring.answer_texts import TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPatterns, Group
from instruments.evals.scoring.matcher import PatternSearch, Truth, all_of, any_of, denied

DIGITS = 6
"""Decimals of points."""

SHOWN_CHARS = 100
"""Characters of a stated class that a note repeats."""


class ComponentScore(NamedTuple):
    """What one component came to."""

    points: set[float]
    """The points that are possible: one number, unless a pattern was cut off on which they hang."""
    patterns: Group
    location: str | None = None
    """The place that decided, where one did."""
    note: str | None = None
    """What should be known beside each pattern."""


def root_cause(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """None where nothing is expected, as with each of these."""
    wanted = expected_patterns.wishes(expected, "root_cause")
    patterns, possible = wanted.patterns(), set[float]()
    if not patterns:
        return None
    for points, location in answer_texts.root_causes(analysis):
        fits = _fits(search, wanted, location)
        if fits is not False:
            possible.add(points)
        if fits:
            return ComponentScore(possible, patterns, location.name)
    return ComponentScore(possible | {0.0}, patterns)


def fix_accuracy(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """See the module."""
    wanted = expected_patterns.wishes(expected, "proposed_fix")
    patterns, location = wanted.patterns(), answer_texts.fixes(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    required = all_of([search.any(group, location) for group in wanted.required])
    optional = search.any(wanted.optional, location)
    stated = [required] * bool(wanted.required) + [optional] * bool(wanted.optional)

    def points(*said: bool) -> float:
        present, against = said[:-1], said[-1]
        if against or not (any(present) or not present):
            return 30.0
        return 100.0 if all(present) else 50.0

    return ComponentScore(_possible(points, [*stated, search.any(wanted.denied, location)]), patterns, location.name)


def hypothesis_quality(
    search: PatternSearch, analysis: Analysis, expected: Expected | None, failure: FailureMode | None
) -> ComponentScore | None:
    """See the module."""
    named, classes, rest = expected_patterns.hypotheses(expected, failure)
    patterns = (*named, *classes, *rest.patterns())
    if not patterns:
        return None
    naming: list[Truth] = []
    supporting: list[Truth] = [] if rest.required else [True]
    decided: str | None = None
    places, stated, label = (
        answer_texts.hypotheses(analysis),
        answer_texts.stated(analysis),
        answer_texts.label(analysis),
    )
    for place in places:
        supports = _fits(search, rest, place)
        supporting.append(supports)
        naming.append(all_of([supports, search.any(named + classes, place) if named + classes else True]))
        decided = decided or (place.name if naming[-1] else None)
    states = search.spelt(classes, stated) if classes else _named(search, named, rest, stated)
    calls = _named(search, named + classes, rest, label)
    naming.append(all_of([any_of(supporting), any_of([states, calls])]))
    other = _other(search, classes, stated)
    present = bool(places or stated.items)

    def points(names: bool) -> float:
        if names and not other:
            return 100.0
        return 40.0 if names or present else 0.0

    return ComponentScore(_possible(points, [any_of(naming)]), patterns, decided, other)


def next_steps(search: PatternSearch, analysis: Analysis, expected: NextSteps | None) -> ComponentScore | None:
    """See the module."""
    commands, wanted = expected_patterns.steps(expected)
    patterns, location = commands + wanted.patterns(), answer_texts.steps(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    found = [search.holds(command, location) for command in commands]
    share = round(100.0 * found.count(True) / len(found), DIGITS) if found else 100.0
    fits = _fits(search, wanted, location)
    return ComponentScore(_possible(lambda good: share if good else min(50.0, share), [fits]), patterns, location.name)


def _fits(search: PatternSearch, wanted: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a place says all that is expected and nothing that is denied. Every pattern is looked for."""
    required = [search.any(group, location) for group in wanted.required]
    optional = [search.any(wanted.optional, location)] if wanted.optional else []
    return all_of([*required, *optional, denied(search.any(wanted.denied, location))])


def _possible(points: Callable[..., float], truths: Sequence[Truth]) -> set[float]:
    """The points for each answer that those which are not known could give."""
    answers = [(False, True) if truth is None else (truth,) for truth in truths]
    return {points(*said) for said in product(*answers)}


def _named(search: PatternSearch, group: Group, rest: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a text of its own names a class, and says nothing that is denied."""
    return all_of([search.any(group, location), denied(search.any(rest.denied, location))])


def _other(search: PatternSearch, classes: Group, stated: TextLocation) -> str | None:
    """That another class than the expected one is stated, in words."""
    for item in stated.items if classes else ():
        if not search.spelt(classes, stated._replace(items=(item,))):
            return f"{item.where} states another class, {item.text.strip()[:SHOWN_CHARS]}: 40 points at most"
    return None
