"""Answers that need no agent, against which every agent has to stand: nothing at all, and the same cause each time.

`most_frequent` guesses the cause that most scenarios of a suite have: their `failure_type`, or the failure mode that
they expect. It says all that is expected where that is the cause: every pattern of those scenarios as words, those of
a regex without its signs, and nothing that one of them denies. It is scored as any answer is.
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
from instruments.evals.scoring.matcher import PatternSearch
from instruments.evals.scoring.word_match import squeezed

TEXT_CHARS_MAX = 32_768
"""Characters of each part of the answer; patterns beyond them are left out."""

_signs = re.compile(
    r"\\(?P<literal>\W)|\\.|\(\?#[^)]*\)|\(\?[a-zA-Z0-9-]+\)|\(\?(?:P?<\w+>|[a-zA-Z0-9-]*:|<?[=!]|[>|])|\{[\d,]*\}|[\^$.|?*+()\[\]]",
    re.DOTALL,
)
"""What of a regex stands for something else than itself, and the escapes of what does."""


def answer(kind: Baseline, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """The analysis that a baseline gives to every one of these scenarios, whatever their order."""
    match kind:
        case "empty":
            return {}
        case "most_frequent":
            return _most_frequent(scenarios)
        case _:
            assert_never(kind)


def cause(scenario: Scenario) -> str | None:
    """What failed, in a word, as the scenario says; None where it does not."""
    said = scenario.about.failure_type or next(iter(_modes(scenario)), "")
    return said.strip() or None


def _most_frequent(scenarios: Sequence[Scenario]) -> dict[str, Any]:
    causes = [(scenario, found) for scenario in scenarios if (found := cause(scenario)) is not None]
    if not causes:
        return {}
    chosen = _commonest(squeezed(found) for _, found in causes)
    alike = sorted((scenario for scenario, found in causes if squeezed(found) == chosen), key=lambda one: one.id)
    name = min(found for _, found in causes if squeezed(found) == chosen)
    modes = [mode for scenario in alike for mode in _modes(scenario)[:1]]
    mode = _commonest(modes) if modes else name
    denied = _denied(alike)
    root = _texts(
        [_said(expected_patterns.wishes(one.about.expected_outcomes.root_cause, "root_cause")) for one in alike], denied
    )
    fix = _texts(
        [_said(expected_patterns.wishes(one.about.expected_outcomes.proposed_fix, "fix")) for one in alike], denied
    )
    named = _texts([_hypotheses(one) for one in alike], denied)
    steps = _texts([_steps(one) for one in alike], denied)
    return {
        "failure_mode": mode,
        "rca": {"root_cause": "; ".join(root) or name, "remediation": fix},
        "decision": {"label": name, "why": root or [name], "next": steps},
        "hypotheses": [{"title": "; ".join(named) or name, "why": named, "confidence_0_100": 100}],
    }


def _commonest(names: Iterable[str]) -> str:
    """What is there most often, the first in the alphabet of several."""
    return min(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))[0]


def _modes(scenario: Scenario) -> tuple[str, ...]:
    expected = scenario.about.expected_outcomes.failure_mode
    if expected is None:
        return ()
    return (expected.exact,) if isinstance(expected.exact, str) else expected.exact


def _said(wanted: expected_patterns.ExpectedPatterns) -> Group:
    """All but what is denied."""
    return wanted._replace(denied=()).patterns()


def _hypotheses(scenario: Scenario) -> Group:
    expected = scenario.about.expected_outcomes
    named, _, rest = expected_patterns.hypotheses(expected.hypotheses, expected.failure_mode)
    return named + _said(rest)


def _steps(scenario: Scenario) -> Group:
    commands, rest = expected_patterns.steps(scenario.about.expected_outcomes.next_steps)
    return commands + _said(rest)


def _denied(scenarios: Sequence[Scenario]) -> Group:
    """Whatever one of these scenarios denies anywhere."""
    found: dict[tuple[str, str], ExpectedPattern] = {}
    for scenario in scenarios:
        expected = scenario.about.expected_outcomes
        parts = [expected.root_cause, expected.proposed_fix, expected.hypotheses]
        groups = [expected_patterns.wishes(part, "denied").denied for part in parts] + [
            expected_patterns.steps(expected.next_steps)[1].denied
        ]
        for pattern in (pattern for group in groups for pattern in group):
            found.setdefault((pattern.text, pattern.match_type), pattern)
    return tuple(found.values())


def _texts(groups: Iterable[Group], denied: Group) -> list[str]:
    """The patterns as words, each once; without those that say something denied, alone or together."""
    search, room, chosen = PatternSearch(), TEXT_CHARS_MAX, list[str]()
    for text in dict.fromkeys(words(pattern) for group in groups for pattern in group):
        if text and len(text) < room and not search.any(denied, _place([text])):
            chosen.append(text)
            room -= len(text) + 2
    while search.any(denied, _place(chosen)) or search.any(denied, _place(["; ".join(chosen)])):
        chosen = chosen[: len(chosen) // 2]
    return chosen


def _place(texts: Sequence[str]) -> TextLocation:
    joined = (AnswerText("", "\n".join(texts)),) if len(texts) > 1 else ()
    return TextLocation("baseline", tuple(AnswerText("", text) for text in texts if text), joined)


def words(pattern: ExpectedPattern) -> str:
    """What a pattern looks for, as words: a regex with a space for each of its signs."""
    if pattern.match_type != "regex":
        return pattern.text
    return " ".join(_signs.sub(lambda sign: sign["literal"] or " ", pattern.text).split())
