"""The points of each component of an analysis.

*root cause*: 100 for rca.root_cause, 90 for decision.why, 80 for a hypothesis of confidence 80 or more, else 0. A
location counts if it alone contains everything expected and nothing of `none_of`.

*fix accuracy*, over rca.remediation, decision.next and verdict.next_steps: 100 if both the required patterns
(`patterns`, `exact`, `all_of`) and one of the optional ones (`any_of`) match, as far as they are expected; 50 if only
one of both does; 30 for a fix with neither, or with something of `none_of`; 0 without a fix.

*hypothesis quality*: 100 if a hypothesis names an expected failure class (one of `patterns`, `exact`, `any_of`, or
`failure_mode`), and contains all of `all_of` and nothing of `none_of`; 40 if none does; 0 without hypotheses. The class
may also be stated by the analysis (failure_mode, rca.failure_mode) or by the decision's label (decision.label), if a
hypothesis contains all of `all_of`. An analysis that states another class than `failure_mode` expects gets at most 40,
even if it names the right one elsewhere: a stated class contradicts, a label is free text and does not. `unknown`
states no class.

*next steps*, over decision.next and verdict.next_steps: the percentage of `command_types` found as words (100 if none
is expected); at most 50 if something of `must_include` is missing or something of `none_of` is present, and then
exactly 50 if no command is expected; 0 without steps.

Blank texts do not count. Each pattern is searched in every location up to the one that decides.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Expected, FailureMode, NextSteps
from instruments.evals.scoring import answer_texts, expected_patterns
from instruments.evals.scoring.answer_texts import TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPatterns, Group
from instruments.evals.scoring.matcher import (
    PatternSearch,
    Truth,
    all_of,
    any_of,
    negate,
)

DIGITS = 6
"""Decimals of points."""

SHOWN_CHARS = 100
"""Characters of a stated class in a note."""


class ComponentScore(NamedTuple):
    """The score of one component."""

    points: set[float]
    """The possible points: one number, or several if they depend on a search that was cut off."""
    patterns: Group
    location: str | None = None
    """The location that decided, if one did."""
    note: str | None = None
    """A note for the findings of all patterns."""


def score_root_cause(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """Score the root cause; None if nothing is expected. The rules are at the beginning of this module."""
    conditions = expected_patterns.collect_patterns(expected, "root_cause")
    patterns, possible = conditions.patterns(), set[float]()
    if not patterns:
        return None
    for points, location in answer_texts.root_cause_locations(analysis):
        fits = _satisfies(search, conditions, location)
        if fits is not False:
            possible.add(points)
        if fits:
            return ComponentScore(possible, patterns, location.name)
    return ComponentScore(possible | {0.0}, patterns)


def score_fix_accuracy(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """Score the component; None if nothing is expected. The rules are at the beginning of this module."""
    conditions = expected_patterns.collect_patterns(expected, "proposed_fix")
    patterns, location = conditions.patterns(), answer_texts.fix_location(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    required = all_of([search.matches_any(group, location) for group in conditions.required])
    optional = search.matches_any(conditions.optional, location)
    stated = [required] * bool(conditions.required) + [optional] * bool(conditions.optional)

    def points(*truth_values: bool) -> float:
        has_answer, against = truth_values[:-1], truth_values[-1]
        if against or not (any(has_answer) or not has_answer):
            return 30.0
        return 100.0 if all(has_answer) else 50.0

    return ComponentScore(
        _possible_points(points, [*stated, search.matches_any(conditions.denied, location)]), patterns, location.name
    )


def score_hypothesis_quality(
    search: PatternSearch, analysis: Analysis, expected: Expected | None, failure: FailureMode | None
) -> ComponentScore | None:
    """Score the component; None if nothing is expected. The rules are at the beginning of this module."""
    named, classes, rest = expected_patterns.hypothesis_patterns(expected, failure)
    patterns = (*named, *classes, *rest.patterns())
    if not patterns:
        return None
    names_class: list[Truth] = []
    supporting: list[Truth] = [] if rest.required else [True]
    decided: str | None = None
    places, stated, label = (
        answer_texts.hypothesis_locations(analysis),
        answer_texts.stated_class_location(analysis),
        answer_texts.label_location(analysis),
    )
    for place in places:
        supports = _satisfies(search, rest, place)
        supporting.append(supports)
        names_class.append(all_of([supports, search.matches_any(named + classes, place) if named + classes else True]))
        decided = decided or (place.name if names_class[-1] else None)
    states_class = search.matches_name(classes, stated) if classes else _names_class(search, named, rest, stated)
    label_names_class = _names_class(search, named + classes, rest, label)
    names_class.append(all_of([any_of(supporting), any_of([states_class, label_names_class])]))
    other_class = _other_class_note(search, classes, stated)
    has_answer = bool(places or stated.items)

    def points(names: bool) -> float:
        if names and not other_class:
            return 100.0
        return 40.0 if names or has_answer else 0.0

    return ComponentScore(_possible_points(points, [any_of(names_class)]), patterns, decided, other_class)


def score_next_steps(search: PatternSearch, analysis: Analysis, expected: NextSteps | None) -> ComponentScore | None:
    """Score the component; None if nothing is expected. The rules are at the beginning of this module."""
    commands, conditions = expected_patterns.step_patterns(expected)
    patterns, location = commands + conditions.patterns(), answer_texts.step_location(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    found = [search.matches(command, location) for command in commands]
    share = round(100.0 * found.count(True) / len(found), DIGITS) if found else 100.0
    fits = _satisfies(search, conditions, location)
    return ComponentScore(
        _possible_points(lambda good: share if good else min(50.0, share), [fits]), patterns, location.name
    )


def _satisfies(search: PatternSearch, conditions: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a location contains everything expected and nothing forbidden. Every pattern is searched."""
    required = [search.matches_any(group, location) for group in conditions.required]
    optional = [search.matches_any(conditions.optional, location)] if conditions.optional else []
    return all_of([*required, *optional, negate(search.matches_any(conditions.denied, location))])


def _possible_points(points: Callable[..., float], truths: Sequence[Truth]) -> set[float]:
    """Return the points for every combination of values that unknown results could have."""
    answers = [(False, True) if truth is None else (truth,) for truth in truths]
    return {points(*truth_values) for truth_values in product(*answers)}


def _names_class(search: PatternSearch, group: Group, rest: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a location names a class, and contains nothing forbidden."""
    return all_of([search.matches_any(group, location), negate(search.matches_any(rest.denied, location))])


def _other_class_note(search: PatternSearch, classes: Group, stated: TextLocation) -> str | None:
    """Return a note if the analysis states another class than the expected one."""
    for item in stated.items if classes else ():
        if not search.matches_name(classes, stated._replace(items=(item,))):
            return f"{item.where} states another class, {item.text.strip()[:SHOWN_CHARS]}: 40 points at most"
    return None
