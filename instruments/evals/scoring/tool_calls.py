"""The points of the tools that an agent called, in its recorded trace.

Each condition that the scenario states has a share, 0 to 1:

*required*: the share of the expected calls that occur. *any_of*: 1 if one of them occurs, otherwise 0. *order*: the
longest common subsequence of the expected order and the calls, as a share of the expected order; other calls may be
between. *max_calls*: 1 up to that number of calls, above it the number divided by the calls.

The points are 100 times the least share: the condition that is met least counts. With any call that is `forbidden` they
are 0. A call that failed is a call.

A call matches a pattern if the name of its tool does, and its arguments do. Text arguments are compared as they are,
others as JSON. An argument that the call does not have matches nothing.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from events.evaluation import Component, PatternFinding
from instruments.evals.scenario import PASS_POINTS, ToolExpectations, ToolSpec
from instruments.evals.trace.steps import AgentStep, RecordedTrace
from instruments.stored_text import text_of

TOOLS = "tools"
"""The name of the component."""

NOT_RECORDED = (
    "tools: the agent recorded no trace, so its calls cannot be checked. Let it write its steps as `trace` into its "
    "answer, or its OpenTelemetry spans into the file that TALLYSTICK_TRACE_FILE names"
)
DIGITS = 6
TEXT_CHARS_MAX = 200
"""Characters of a call that a finding quotes."""

_INDEX_DIGITS = 7  # no list is so long, and `int` refuses thousands of digits

NumberedCall = tuple[int, AgentStep]
"""A call, and the number of its step from 1."""


def explain_missing(trace: RecordedTrace | None) -> str | None:
    """Return why calls cannot be checked, in words; None if they can."""
    if trace is None:
        return NOT_RECORDED
    return None if trace.problem is None else f"tools: the trace cannot be read: {trace.problem}"


def score_tools(expected: ToolExpectations, calls: Sequence[NumberedCall]) -> Component:
    """Return the component, without its weight. The rules are at the beginning of this module."""
    findings: list[PatternFinding] = []

    def find_each(name: str, specs: Sequence[ToolSpec]) -> int:
        """Add a finding for each of the patterns; return how many occur."""
        found = [next((call for call in calls if matches(spec, call[1])), None) for spec in specs]
        findings.extend(_finding(name, at, spec, found[at]) for at, spec in enumerate(specs))
        return sum(call is not None for call in found)

    shares: list[float] = []
    required = find_each("required", expected.required)
    if expected.required:
        shares.append(required / len(expected.required))
    alternatives = find_each("any_of", expected.any_of)
    if expected.any_of:
        shares.append(float(alternatives > 0))
    forbidden = find_each("forbidden", expected.forbidden)
    if expected.order:
        chosen = align(expected.order, calls, lambda spec, call: matches(spec, call[1]))
        findings += [_finding("order", at, spec, chosen.get(at)) for at, spec in enumerate(expected.order)]
        shares.append(len(chosen) / len(expected.order))
    if expected.max_calls is not None:
        findings.append(_calls_finding(expected.max_calls, calls))
        shares.append(min(1.0, expected.max_calls / max(1, len(calls))))
    points = 0.0 if forbidden else round(100.0 * min(shares, default=0.0), DIGITS)
    return Component(
        name=TOOLS,
        applicable=True,
        score=points,
        mark=PASS_POINTS[TOOLS],
        passed=points >= PASS_POINTS[TOOLS],
        findings=tuple(findings),
    )


def align(order: Sequence[Any], calls: Sequence[Any], is_match: Callable[[Any, Any], bool]) -> dict[int, Any]:
    """Return a longest common subsequence: for each place of the order that is in it, the call; the earliest calls."""
    matching = [[is_match(spec, call) for call in calls] for spec in order]
    lengths = [[0] * (len(calls) + 1) for _ in range(len(order) + 1)]
    for i in range(len(order) - 1, -1, -1):
        row, below, row_matching = lengths[i], lengths[i + 1], matching[i]
        for j in range(len(calls) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if row_matching[j] else max(below[j], row[j + 1])
    chosen: dict[int, Any] = {}
    i = j = 0
    while i < len(order) and j < len(calls):
        if matching[i][j]:
            chosen[i] = calls[j]
            i, j = i + 1, j + 1
        elif lengths[i][j + 1] >= lengths[i + 1][j]:
            j += 1
        else:
            i += 1
    return chosen


def matches(spec: ToolSpec, call: AgentStep) -> bool:
    """Tell whether a call matches a pattern."""
    if isinstance(spec, str):
        return _pattern(spec).match(call.name or "") is not None
    if _pattern(spec.name).match(call.name or "") is None:
        return False
    if spec.arguments is None:
        return True
    if isinstance(spec.arguments, str):
        return _pattern(spec.arguments).match(text_of(call.arguments)) is not None
    return all(_argument_matches(call.arguments, key, pattern) for key, pattern in spec.arguments.items())


def call_text(call: AgentStep) -> str:
    """Return a call in one line: the tool, and its arguments as JSON."""
    arguments = text_of(call.arguments)
    return f"{call.name} {arguments}" if arguments else str(call.name)


def _argument_matches(arguments: object, key: str, pattern: str) -> bool:
    value = arguments
    if not (isinstance(value, dict) and key in value):
        for part in key.split("."):
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdecimal() and len(part) < _INDEX_DIGITS and int(part) < len(value):
                value = value[int(part)]
            else:
                return False
    else:
        value = value[key]
    text = "null" if value is None else text_of(value)
    return _pattern(pattern).match(text) is not None


@lru_cache(1_000)
def _pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; its stars do not backtrack. Brackets have no meaning."""
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))


def _finding(name: str, at: int, spec: ToolSpec, call: NumberedCall | None) -> PatternFinding:
    return PatternFinding(
        expectation=f"{TOOLS}.{name}[{at}]",
        pattern=_spec_text(spec),
        match_type=name,
        matched=call is not None,
        where=None if call is None else f"step {call[0]}",
        text=None if call is None else call_text(call[1])[:TEXT_CHARS_MAX],
        note="a forbidden call: the component has 0 points" if name == "forbidden" and call is not None else None,
    )


def _calls_finding(most: int, calls: Sequence[NumberedCall]) -> PatternFinding:
    is_within = len(calls) <= most
    return PatternFinding(
        expectation=f"{TOOLS}.max_calls",
        pattern=str(most),
        match_type="max_calls",
        matched=is_within,
        where=None if is_within else f"step {calls[most][0]}",
        note=f"{len(calls)} call{'' if len(calls) == 1 else 's'}",
    )


def _spec_text(spec: ToolSpec) -> str:
    if isinstance(spec, str) or spec.arguments is None:
        return spec if isinstance(spec, str) else spec.name
    return f"{spec.name} {text_of(spec.arguments)}"
