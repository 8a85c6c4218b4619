"""The points of each component of an analysis.

*root cause*: 100 for rca.root_cause, 90 for decision.why, 80 for a hypothesis of confidence 80 or more. The best
location that contains, by itself, everything expected and nothing of `none_of` gives its points; 0 if none does.

*fix accuracy*, over rca.remediation, decision.next and verdict.next_steps. There are two conditions: all required
patterns match (`patterns`, `exact`, `all_of`), and one of the optional patterns matches (`any_of`). 100 if each
condition that the scenario states is met; 50 if it states both and only one is met; 30 for a fix that meets none, or
contains something of `none_of`; 0 without a fix.

*hypothesis quality*: 100 if a hypothesis names an expected failure class (one of `patterns`, `exact`, `any_of`, or
`failure_mode`), and contains all of `all_of` and nothing of `none_of`; 40 if none does; 0 without hypotheses. The
fields failure_mode, rca.failure_mode and decision.label may name the class as well, if a hypothesis contains all of
`all_of`. If failure_mode or rca.failure_mode states another class than the scenario's `failure_mode`, the points are
at most 40, even if a hypothesis names the expected class. The class `unknown` is ignored.

*next steps*, over decision.next and verdict.next_steps: the percentage of `command_types` that occur as words (100 if
none is expected); at most 50 (and 50 if no command is expected) if something of `must_include` is missing or something
of `none_of` is present; 0 without steps.

Blank texts are ignored. Each pattern is searched in every location up to the one that gives the points.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from instruments.evals.analysis import Analysis
from instruments.evals.scenario import Expected, FailureMode, NextSteps
from instruments.evals.scoring import answer_texts, expected_patterns
from instruments.evals.scoring.answer_texts import TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPatterns, Group
from instruments.evals.scoring.pattern_search import (
    PatternSearch,
    Truth,
    all_of,
    any_of,
    negate,
)

DIGITS = 6
"""Decimals of points."""

FULL_POINTS = 100.0
HALF_POINTS = 50.0
ROOT_CAUSE_POINTS = 100.0
REASONS_POINTS = 90.0
HYPOTHESIS_POINTS = 80.0
WRONG_FIX_POINTS = 30.0
WRONG_HYPOTHESIS_POINTS = 40.0

ROOT_CAUSE_CONFIDENCE_MIN = 80.0
"""The confidence in percent from which a hypothesis counts as a root cause."""

NOTE_CLASS_CHARS_MAX = 100
"""Characters of a stated class that a note quotes."""


class ComponentScore(NamedTuple):
    """The score of one component."""

    points: set[float]
    """The possible points: several numbers if they depend on a search that was cut off."""
    patterns: Group
    location: str | None = None
    """The location that gave the points; None if no single location did."""
    note: str | None = None
    """A note for the findings of all patterns."""


def score_root_cause(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """Score the root cause; None if nothing is expected. The rules are at the beginning of this module."""
    conditions = expected_patterns.collect_patterns(expected, "root_cause")
    patterns, possible = conditions.patterns(), set[float]()
    if not patterns:
        return None
    for points, location in _root_cause_locations(analysis):
        is_satisfied = _satisfies(search, conditions, location)
        if is_satisfied is not False:
            possible.add(points)
        if is_satisfied:
            return ComponentScore(possible, patterns, location.name)
    return ComponentScore(possible | {0.0}, patterns)


def _root_cause_locations(analysis: Analysis) -> list[tuple[float, TextLocation]]:
    """Return the locations that may state the root cause, each with its points, the best first."""
    locations = [
        (ROOT_CAUSE_POINTS, answer_texts.root_cause_location(analysis)),
        (REASONS_POINTS, answer_texts.reasons_location(analysis)),
    ]
    for at, hypothesis in enumerate(analysis.hypotheses or ()):
        if (hypothesis.confidence_0_100 or 0.0) >= ROOT_CAUSE_CONFIDENCE_MIN:
            locations.append((HYPOTHESIS_POINTS, answer_texts.hypothesis_location(at, hypothesis)))
    return [(points, location) for points, location in locations if location.items]


def score_fix_accuracy(search: PatternSearch, analysis: Analysis, expected: Expected | None) -> ComponentScore | None:
    """Score the fix; None if nothing is expected. The rules are at the beginning of this module."""
    conditions = expected_patterns.collect_patterns(expected, "proposed_fix")
    patterns, location = conditions.patterns(), answer_texts.fix_location(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    required = all_of([search.matches_any(group, location) for group in conditions.required])
    optional = search.matches_any(conditions.optional, location)
    stated_conditions = [required] * bool(conditions.required) + [optional] * bool(conditions.optional)
    denied = search.matches_any(conditions.denied, location)

    def points(contains_denied: bool, *conditions_met: bool) -> float:
        if contains_denied or (conditions_met and not any(conditions_met)):
            return WRONG_FIX_POINTS
        return FULL_POINTS if all(conditions_met) else HALF_POINTS

    return ComponentScore(_possible_points(points, [denied, *stated_conditions]), patterns, location.name)


def score_hypothesis_quality(
    search: PatternSearch, analysis: Analysis, expected: Expected | None, failure: FailureMode | None
) -> ComponentScore | None:
    """Score the hypotheses; None if nothing is expected. The rules are at the beginning of this module."""
    hypothesis_classes, modes, conditions = expected_patterns.hypothesis_patterns(expected, failure)
    patterns = (*hypothesis_classes, *modes, *conditions.patterns())
    if not patterns:
        return None
    any_class = hypothesis_classes + modes
    names_class: list[Truth] = []
    satisfied: list[Truth] = [] if conditions.required else [True]
    best_location: str | None = None
    hypotheses = answer_texts.hypothesis_locations(analysis)
    stated_class = answer_texts.stated_class_location(analysis)
    label = answer_texts.label_location(analysis)
    for hypothesis in hypotheses:
        satisfied.append(_satisfies(search, conditions, hypothesis))
        names_class.append(all_of([satisfied[-1], search.matches_any(any_class, hypothesis) if any_class else True]))
        best_location = best_location or (hypothesis.name if names_class[-1] else None)
    if modes:
        states_class: Truth = search.matches_name(modes, stated_class)
    else:
        states_class = _names_class(search, hypothesis_classes, conditions, stated_class)
    label_names_class = _names_class(search, any_class, conditions, label)
    names_class.append(all_of([any_of(satisfied), any_of([states_class, label_names_class])]))
    other_class = _other_class_note(search, modes, stated_class)
    is_answered = bool(hypotheses or stated_class.items)

    def points(names_expected_class: bool) -> float:
        if names_expected_class and not other_class:
            return FULL_POINTS
        return WRONG_HYPOTHESIS_POINTS if names_expected_class or is_answered else 0.0

    return ComponentScore(_possible_points(points, [any_of(names_class)]), patterns, best_location, other_class)


def score_next_steps(search: PatternSearch, analysis: Analysis, expected: NextSteps | None) -> ComponentScore | None:
    """Score the next steps; None if nothing is expected. The rules are at the beginning of this module."""
    commands, conditions = expected_patterns.step_patterns(expected)
    patterns, location = commands + conditions.patterns(), answer_texts.step_location(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    command_matches = [search.matches(command, location) for command in commands]
    percentage = FULL_POINTS
    if commands:
        percentage = round(100.0 * command_matches.count(True) / len(commands), DIGITS)

    def points(is_satisfied: bool) -> float:
        return percentage if is_satisfied else min(HALF_POINTS, percentage)

    is_satisfied = _satisfies(search, conditions, location)
    return ComponentScore(_possible_points(points, [is_satisfied]), patterns, location.name)


def _satisfies(search: PatternSearch, conditions: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a location contains everything expected and nothing forbidden. Every pattern is searched."""
    required = [search.matches_any(group, location) for group in conditions.required]
    optional = [search.matches_any(conditions.optional, location)] if conditions.optional else []
    return all_of([*required, *optional, negate(search.matches_any(conditions.denied, location))])


def _possible_points(points: Callable[..., float], truths: Sequence[Truth]) -> set[float]:
    """Return the points for every combination of the values that unknown results may have."""
    possible_values = [(False, True) if truth is None else (truth,) for truth in truths]
    return {points(*values) for values in product(*possible_values)}


def _names_class(search: PatternSearch, group: Group, conditions: ExpectedPatterns, location: TextLocation) -> Truth:
    """Whether a location names a class, and contains nothing forbidden."""
    return all_of([search.matches_any(group, location), negate(search.matches_any(conditions.denied, location))])


def _other_class_note(search: PatternSearch, modes: Group, stated_class: TextLocation) -> str | None:
    """Return a note if the analysis states another class than the expected one."""
    for item in stated_class.items if modes else ():
        if not search.matches_name(modes, stated_class._replace(items=(item,))):
            return f"{item.where} states another class, {item.text.strip()[:NOTE_CLASS_CHARS_MAX]}: 40 points at most"
    return None
