"""Baseline answers to compare agents with: an empty answer, and always the suite's most common cause.

`most_frequent` guesses the most common cause of a suite: the `failure_type` of its scenarios, or the failure mode that
they expect. Its answer contains everything that these scenarios expect: each pattern as words, without the signs of a
regex, and without texts that one of them forbids. It is scored like any answer.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from events.evaluation import Baseline
from instruments.evals.scenario import Scenario
from instruments.evals.scoring import expected_patterns
from instruments.evals.scoring.answer_texts import AnswerText, TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPattern, Group
from instruments.evals.scoring.pattern_search import PatternSearch
from instruments.evals.scoring.word_match import normalize_name

TEXT_CHARS_MAX = 32_768
"""Characters of each part of the answer; patterns beyond are left out."""

_signs = re.compile(
    r"\\(?P<literal>\W)|\\.|\(\?#[^)]*\)|\(\?[a-zA-Z0-9-]+\)|\(\?(?:P?<\w+>|[a-zA-Z0-9-]*:|<?[=!]|[>|])|\{[\d,]*\}|[\^$.|?*+()\[\]]",
    re.DOTALL,
)
"""The special signs of a regex, and escaped characters."""


def baseline_answer(kind: Baseline, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """Return the analysis that a baseline gives for each of these scenarios; their order has no effect."""
    match kind:
        case "empty":
            return {}
        case "most_frequent":
            return _most_frequent(scenarios)
        case _:
            assert_never(kind)


def stated_cause(scenario: Scenario) -> str | None:
    """Return the name of the cause that a scenario states; None if it states none."""
    cause = scenario.about.failure_type or next(iter(_modes(scenario)), "")
    return cause.strip() or None


def _most_frequent(scenarios: Sequence[Scenario]) -> dict[str, Any]:
    causes = [(scenario, cause) for scenario in scenarios if (cause := stated_cause(scenario)) is not None]
    if not causes:
        return {}
    chosen = _most_common(normalize_name(cause) for _, cause in causes)
    matching = sorted(
        (scenario for scenario, cause in causes if normalize_name(cause) == chosen), key=lambda scenario: scenario.id
    )
    name = min(cause for _, cause in causes if normalize_name(cause) == chosen)
    modes = [mode for scenario in matching for mode in _modes(scenario)[:1]]
    mode = _most_common(modes) if modes else name
    denied = _denied_patterns(matching)
    outcomes = [scenario.about.expected_outcomes for scenario in matching]
    root_groups = [expected_patterns.collect_patterns(expected.root_cause, "root_cause") for expected in outcomes]
    fix_groups = [expected_patterns.collect_patterns(expected.proposed_fix, "fix") for expected in outcomes]
    root = _texts(map(_allowed_patterns, root_groups), denied)
    fix = _texts(map(_allowed_patterns, fix_groups), denied)
    hypotheses = _texts([_hypotheses(scenario) for scenario in matching], denied)
    steps = _texts([_steps(scenario) for scenario in matching], denied)
    return {
        "failure_mode": mode,
        "rca": {"root_cause": "; ".join(root) or name, "remediation": fix},
        "decision": {"label": name, "why": root or [name], "next": steps},
        "hypotheses": [{"title": "; ".join(hypotheses) or name, "why": hypotheses, "confidence_0_100": 100}],
    }


def _most_common(names: Iterable[str]) -> str:
    """Return the most common name; of several, the first in alphabetical order."""
    return min(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))[0]


def _modes(scenario: Scenario) -> tuple[str, ...]:
    expected = scenario.about.expected_outcomes.failure_mode
    if expected is None:
        return ()
    return (expected.exact,) if isinstance(expected.exact, str) else expected.exact


def _allowed_patterns(patterns: expected_patterns.ExpectedPatterns) -> Group:
    """Return all patterns except the forbidden ones."""
    return patterns._replace(denied=()).patterns()


def _hypotheses(scenario: Scenario) -> Group:
    expected = scenario.about.expected_outcomes
    classes, _, conditions = expected_patterns.hypothesis_patterns(expected.hypotheses, expected.failure_mode)
    return classes + _allowed_patterns(conditions)


def _steps(scenario: Scenario) -> Group:
    commands, conditions = expected_patterns.step_patterns(scenario.about.expected_outcomes.next_steps)
    return commands + _allowed_patterns(conditions)


def _denied_patterns(scenarios: Sequence[Scenario]) -> Group:
    """Return the patterns that any of these scenarios forbids anywhere."""
    denied: dict[tuple[str, str], ExpectedPattern] = {}
    for scenario in scenarios:
        expected = scenario.about.expected_outcomes
        parts = [expected.root_cause, expected.proposed_fix, expected.hypotheses]
        groups = [expected_patterns.collect_patterns(part, "denied").denied for part in parts] + [
            expected_patterns.step_patterns(expected.next_steps)[1].denied
        ]
        for pattern in (pattern for group in groups for pattern in group):
            denied.setdefault((pattern.text, pattern.match_type), pattern)
    return tuple(denied.values())


def _texts(groups: Iterable[Group], denied: Group) -> list[str]:
    """Return the patterns as words, each once; leave out texts that match a forbidden pattern, alone or joined."""
    search, remaining_chars, chosen = PatternSearch(), TEXT_CHARS_MAX, list[str]()
    for text in dict.fromkeys(pattern_words(pattern) for group in groups for pattern in group):
        if text and len(text) < remaining_chars and not search.matches_any(denied, _location([text])):
            chosen.append(text)
            remaining_chars -= len(text) + 2
    # joined, texts may match what none of them matches alone; to find out which ones would take many searches
    while search.matches_any(denied, _location(chosen)) or search.matches_any(denied, _location(["; ".join(chosen)])):
        chosen = chosen[: len(chosen) // 2]
    return chosen


def _location(texts: Sequence[str]) -> TextLocation:
    joined = (AnswerText("", "\n".join(texts)),) if len(texts) > 1 else ()
    return TextLocation("baseline", tuple(AnswerText("", text) for text in texts if text), joined)


def pattern_words(pattern: ExpectedPattern) -> str:
    """Return a pattern as words; each special sign of a regex becomes a space."""
    if pattern.match_type != "regex":
        return pattern.text
    return " ".join(_signs.sub(lambda sign: sign["literal"] or " ", pattern.text).split())
