"""The criteria on which a judge gives verdicts: those of the scenario's `judge:`, or ones made of its expectations.

A default criterion exists for each component that applies. Its reference lists what the scenario expects, in words, and
its weight is that of the component.
"""

import msgspec

from instruments.evals.scenario import (
    Criterion,
    Expected,
    FailureMode,
    Matcher,
    NextSteps,
    PatternSpec,
    Scenario,
)
from instruments.stored_text import sha256_hex

QUESTIONS = {
    "root_cause": "Does the answer name the expected root cause as its own conclusion?",
    "fix_accuracy": "Does the answer propose a fix that removes the expected cause?",
    "hypothesis_quality": "Is the expected cause or failure mode among the hypotheses that the answer holds likely?",
    "next_steps": "Are the next steps of the answer useful for this incident, and do they contain what is expected?",
}
"""The question of each default criterion. They are a part of the prompt's digest."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def criteria_of(scenario: Scenario) -> tuple[Criterion, ...]:
    """Return the criteria of a scenario's rubric, or the default ones; there is at least one with a weight."""
    rubric = scenario.about.judge
    return rubric.criteria if rubric is not None else _default_criteria(scenario)


def rubric_digest(criteria: tuple[Criterion, ...]) -> str:
    """Return the SHA-256 of criteria and their weights."""
    return sha256_hex(_canonical(criteria).decode())


def shares(criteria: tuple[Criterion, ...]) -> dict[str, float]:
    """Return the share of each criterion in the total score; together they are 1."""
    total = sum(criterion.weight for criterion in criteria)
    return {criterion.name: criterion.weight / total for criterion in criteria}


def _default_criteria(scenario: Scenario) -> tuple[Criterion, ...]:
    expected, scoring = scenario.about.expected_outcomes, scenario.about.scoring
    mode = _mode_lines(expected.failure_mode)
    references = {
        "root_cause": _expected_lines(expected.root_cause),
        "fix_accuracy": _expected_lines(expected.proposed_fix),
        "hypothesis_quality": _expected_lines(expected.hypotheses) + mode,
        "next_steps": _step_lines(expected.next_steps),
    }
    if references["root_cause"]:
        references["root_cause"] += mode
    weights: dict[str, float] = {name: getattr(scoring, f"{name}_weight") for name in references}
    return tuple(
        Criterion(name=name, question=QUESTIONS[name], weight=weights[name], reference="\n".join(lines))
        for name, lines in references.items()
        if lines and weights[name] > 0
    )


def _expected_lines(expected: Expected | None) -> list[str]:
    if expected is None:
        return []
    lines = []
    if expected.patterns:
        lines.append(f"One of: {_alternatives(expected.patterns, expected.match_type)}")
    if expected.exact is not None:
        texts = (expected.exact,) if isinstance(expected.exact, str) else expected.exact
        lines.append(f"One of: {_alternatives(texts, 'exact')}")
    lines += [f"Required: {_spec_text(spec)}" for spec in expected.all_of]
    if expected.any_of:
        lines.append(f"One of: {'; or '.join(map(_spec_text, expected.any_of))}")
    lines += [f"Wrong: {_spec_text(spec)}" for spec in expected.none_of]
    return lines


def _mode_lines(mode: FailureMode | None) -> list[str]:
    if mode is None:
        return []
    texts = (mode.exact,) if isinstance(mode.exact, str) else mode.exact
    return [f"Failure mode: {_alternatives(texts, 'exact')}"]


def _step_lines(steps: NextSteps | None) -> list[str]:
    if steps is None:
        return []
    lines = [f"Commands: {', '.join(steps.command_types)}"] if steps.command_types else []
    lines += [f"Required: {_spec_text(spec)}" for spec in steps.must_include]
    return lines + [f"Wrong: {_spec_text(spec)}" for spec in steps.none_of]


def _spec_text(spec: PatternSpec) -> str:
    if isinstance(spec, Matcher):
        return _alternatives(spec.patterns, spec.match_type)
    return _alternatives((spec,), "substring")


def _alternatives(patterns: tuple[str, ...], match_type: str | None) -> str:
    kind = " (regular expression)" if match_type == "regex" else ""
    return " or ".join(f'"{pattern}"{kind}' for pattern in patterns)
