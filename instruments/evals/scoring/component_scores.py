"""The points of each component of an analysis.

A pattern is found with a credit (`mention_credit.py`): 1 if the text claims it, less if it only considers or lists it,
0 if it denies it. A condition has the best credit of its alternatives, and several conditions together have the least.

*root cause*: 100 for rca.root_cause, 90 for decision.why, 80 for a hypothesis of confidence 80 or more, times the
credit of everything expected in that location, if it contains nothing of `none_of`. The best location counts. If
rca.root_cause only considers what is expected, no other location counts more. If one location claims it and another
one denies it, the points are halved.

*fix accuracy*, over rca.remediation, decision.next and verdict.next_steps. There are two conditions: all required
patterns match (`patterns`, `exact`, `all_of`), and one of the optional patterns matches (`any_of`). 100 if each
condition that the scenario states is met; 50 if it states both and only one is met; 30 for a fix that meets none, or
contains something of `none_of`; 0 without a fix. With a credit below 1 it is that part of the points, and not under 30.

*hypothesis quality*: 100 if a hypothesis names an expected failure class (one of `patterns`, `exact`, `any_of`, or
`failure_mode`), and contains all of `all_of` and nothing of `none_of`; 40 if none does; 0 without hypotheses. 45 with a
credit below 1, or if a hypothesis with no less confidence names another cause. The fields failure_mode,
rca.failure_mode and decision.label may name the class as well, if a hypothesis contains all of `all_of`. If
failure_mode or rca.failure_mode states another class than the scenario's `failure_mode`, the points are at most 40,
even if a hypothesis names the expected class. The class `unknown` is ignored.

*next steps*, over decision.next and verdict.next_steps: the percentage of `command_types` that occur as words (100 if
none is expected); at most 50 (and 50 if no command is expected) if something of `must_include` is missing or something
of `none_of` is present; 0 without steps.

Blank texts are ignored.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from instruments.evals.analysis import Analysis, Hypothesis
from instruments.evals.scenario import Expected, FailureMode, NextSteps
from instruments.evals.scoring import answer_texts, expected_patterns
from instruments.evals.scoring.answer_texts import TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPatterns, Group
from instruments.evals.scoring.mention_credit import CLAIMED, DENIED
from instruments.evals.scoring.pattern_search import (
    Found,
    PatternSearch,
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
DOUBTED_HYPOTHESIS_POINTS = 45.0
CONTRADICTED_FACTOR = 0.5

ROOT_CAUSE = "rca.root_cause"

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
    patterns = conditions.patterns()
    if not patterns:
        return None
    locations = _root_cause_locations(analysis)
    ceiling, best, best_location, unknown = CLAIMED, 0.0, None, set[float]()
    for points, location in locations:
        credit = _satisfies(search, conditions, location)
        if credit is None:
            unknown.add(points * ceiling)
            continue
        if points * min(credit, ceiling) > best:
            best, best_location = points * min(credit, ceiling), location
        # the locations descend by points: no later one can be better
        if credit == CLAIMED:
            break
        if location.name == ROOT_CAUSE and credit > DENIED:
            ceiling = credit
    denial = denial_in(search, conditions, [location for _, location in locations]) if best else None
    factor = CONTRADICTED_FACTOR if denial else 1.0
    possible = {round(best * factor, DIGITS)}
    possible |= {points for points in (round(one * factor, DIGITS) for one in unknown) if points > max(possible)}
    return ComponentScore(possible, patterns, best_location.name if best_location else None, denial)


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

    def points(contains_denied: float, *conditions_met: float) -> float:
        met = [credit for credit in conditions_met if credit > DENIED]
        if contains_denied or (conditions_met and not met):
            return WRONG_FIX_POINTS
        full = FULL_POINTS if len(met) == len(conditions_met) else HALF_POINTS
        return round(max(WRONG_FIX_POINTS, full * min(met, default=CLAIMED)), DIGITS)

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
    # without `all_of`, a class that a field states needs no hypothesis that contains it
    satisfied: list[Found] = [] if conditions.required else [CLAIMED]
    hypotheses: list[tuple[Hypothesis, TextLocation, Found]] = []
    stated_class = answer_texts.stated_class_location(analysis)
    for hypothesis, location in answer_texts.hypothesis_locations(analysis):
        satisfied.append(_satisfies(search, conditions, location))
        names_class = search.matches_any(any_class, location) if any_class else CLAIMED
        hypotheses.append((hypothesis, location, all_of([satisfied[-1], names_class])))
    best_location = next((location.name for _, location, found in hypotheses if found == CLAIMED), None)
    if modes:
        states_class: Found = CLAIMED if search.matches_name(modes, stated_class) else DENIED
    else:
        states_class = _names_class(search, hypothesis_classes, conditions, stated_class)
    label_names_class = _names_class(search, any_class, conditions, answer_texts.label_location(analysis))
    is_stated = all_of([any_of(satisfied), any_of([states_class, label_names_class])])
    is_named = any_of([*(found for _, _, found in hypotheses), is_stated])
    other_class = _other_class_note(search, modes, stated_class)
    rival = most_confident_note(hypotheses) if search.reads_language else None
    is_answered = bool(hypotheses or stated_class.items)

    def points(names_expected_class: float) -> float:
        if names_expected_class == DENIED or other_class:
            return WRONG_HYPOTHESIS_POINTS if names_expected_class or is_answered else 0.0
        return FULL_POINTS if names_expected_class == CLAIMED and not rival else DOUBTED_HYPOTHESIS_POINTS

    return ComponentScore(_possible_points(points, [is_named]), patterns, best_location, other_class or rival)


def score_next_steps(search: PatternSearch, analysis: Analysis, expected: NextSteps | None) -> ComponentScore | None:
    """Score the next steps; None if nothing is expected. The rules are at the beginning of this module."""
    commands, conditions = expected_patterns.step_patterns(expected)
    patterns, location = commands + conditions.patterns(), answer_texts.step_location(analysis)
    if not patterns or not location.items:
        return ComponentScore({0.0}, patterns) if patterns else None
    command_matches = [search.matches(command, location) for command in commands]
    percentage = FULL_POINTS
    if commands:
        percentage = round(100.0 * command_matches.count(CLAIMED) / len(commands), DIGITS)

    def points(is_satisfied: float) -> float:
        return percentage if is_satisfied else min(HALF_POINTS, percentage)

    is_satisfied = _satisfies(search, conditions, location)
    return ComponentScore(_possible_points(points, [is_satisfied]), patterns, location.name)


def _satisfies(search: PatternSearch, conditions: ExpectedPatterns, location: TextLocation) -> Found:
    """Return the credit of everything expected in a location; 0 with anything forbidden. Every pattern is searched."""
    required = [search.matches_any(group, location) for group in conditions.required]
    optional = [search.matches_any(conditions.optional, location)] if conditions.optional else []
    return all_of([*required, *optional, negate(search.matches_any(conditions.denied, location))])


def _possible_points(points: Callable[..., float], found: Sequence[Found]) -> set[float]:
    """Return the points for every combination of the values that unknown results may have."""
    possible_values = [(DENIED, CLAIMED) if credit is None else (credit,) for credit in found]
    return {points(*values) for values in product(*possible_values)}


def _names_class(search: PatternSearch, group: Group, conditions: ExpectedPatterns, location: TextLocation) -> Found:
    """Return the credit of a class in a location; 0 with anything forbidden."""
    return all_of([search.matches_any(group, location), negate(search.matches_any(conditions.denied, location))])


def _other_class_note(search: PatternSearch, modes: Group, stated_class: TextLocation) -> str | None:
    """Return a note if the analysis states another class than the expected one."""
    for item in stated_class.items if modes else ():
        if not search.matches_name(modes, stated_class._replace(items=(item,))):
            return f"{item.where} states another class, {item.text.strip()[:NOTE_CLASS_CHARS_MAX]}: 40 points at most"
    return None


def denial_in(search: PatternSearch, conditions: ExpectedPatterns, locations: Sequence[TextLocation]) -> str | None:
    """Return a note of the first location that denies an expected pattern and claims none; None if no location does."""
    groups = [group for group in (*conditions.required, conditions.optional) if group]
    for location in locations if search.reads_language else ():
        matches = [match for group in groups if (match := search.best_match(group, location))]
        if matches and all(match.credit.value == DENIED for match in matches):
            return f"contradicted: {matches[0].item.where} is {matches[0].credit.note}"
    return None


def most_confident_note(named: Sequence[tuple[Hypothesis, TextLocation, Found]]) -> str | None:
    """Return a note if a hypothesis as confident as those that name the class, or more, does not name it.

    `named` has each hypothesis with its location and the credit of the class in it. Each must state a confidence.
    """
    stated = [
        (one.confidence_0_100, location.name, found)
        for one, location, found in named
        if one.confidence_0_100 is not None
    ]
    naming = [confidence for confidence, _, found in stated if found is None or found > DENIED]
    if not naming or len(stated) < len(named):
        return None
    best = max(naming)
    rivals = [name for confidence, name, found in stated if found == DENIED and confidence >= best]
    if not rivals:
        return None
    return f"{rivals[0]} names another cause with no less confidence"
