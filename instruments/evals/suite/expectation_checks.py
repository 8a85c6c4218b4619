"""Check the expectations of a scenario, so that a mistake in them never lowers a score."""

import re
from typing import Any, get_args

from instruments.evals.regex_patterns import BadPattern, compile_selective
from instruments.evals.scenario import (
    PATTERN_CHARS_MAX,
    PATTERNS_MAX,
    UNEDITED,
    Expectations,
    Expected,
    FailureMode,
    Matcher,
    MatchType,
    NextSteps,
    PatternSpec,
    ToolExpectations,
)
from instruments.evals.suite.plugin_checks import (
    KNOWN_KEYS,
    check_added_components,
    check_added_pattern,
    check_match_type,
    unknown_key_advice,
)
from instruments.evals.suite.tool_checks import check_tools
from instruments.evals.suite.value_checks import (
    ReportFault,
    check_list,
    check_mapping,
    check_text,
    describe_value,
)

MATCH_TYPES: tuple[MatchType, ...] = get_args(MatchType)

_unedited = re.compile(rf"\s*{UNEDITED}\b")
_word = re.compile(r"\w")

_ADVICE_IF_EMPTY = "Say what is expected, or leave the key out: an absent key does not affect the score."


def check_expectations(key: str, value: object, report: ReportFault) -> Expectations:
    """Build the expectations; report every fault, and leave out invalid parts."""
    return _ExpectationsChecker(report).expectations(key, value)


class _ExpectationsChecker:
    """Checks the expectations of one scenario, and counts their patterns."""

    def __init__(self, report: ReportFault) -> None:
        self._report = report
        self._pattern_count = 0

    def expectations(self, key: str, value: object) -> Expectations:
        if value is None or value == {}:
            self._report(key, "expects nothing", "Say at least what the root cause is.")
            return Expectations()
        checks = {"failure_mode": self._failure_mode, "next_steps": self._next_steps, "tools": self._tools}
        parts: dict[str, Any] = {}
        added = check_added_components(key, value, self._report) if isinstance(value, dict) else {}
        others = value
        if isinstance(value, dict):
            others = {name: inner for name, inner in value.items() if name not in added}
        for name, inner in check_mapping(
            key, others, Expectations, self._report, known_keys=KNOWN_KEYS, advice=unknown_key_advice
        ).items():
            if inner is None or inner == {}:
                self._report(f"{key}.{name}", "states nothing", _ADVICE_IF_EMPTY)
            else:
                parts[name] = checks.get(name, self._expected)(f"{key}.{name}", inner)
        if self._pattern_count > PATTERNS_MAX:
            self._report(
                key, f"holds {self._pattern_count:,} patterns; at most {PATTERNS_MAX} are allowed", "Join some of them."
            )
        return Expectations(**parts, added=added)

    def _expected(self, key: str, value: object) -> Expected:
        fields = check_mapping(key, value, Expected, self._report)
        stated = [name for name in fields if name != "match_type" and fields[name] not in (None, [])]
        if "patterns" in fields:
            patterns, match_type = self._matcher(key, fields)
        else:
            patterns, match_type = (), None
            if "match_type" in fields:
                advice = "Add patterns, or leave it out: a text in a list is looked for as a substring."
                self._report(f"{key}.match_type", "has no effect without patterns", advice)
            elif fields:
                self._check_states(key, stated)
        return Expected(
            patterns=patterns,
            match_type=match_type,
            exact=self._exact(f"{key}.exact", fields["exact"]) if fields.get("exact") not in (None, []) else None,
            all_of=self._specs(f"{key}.all_of", fields.get("all_of")),
            any_of=self._specs(f"{key}.any_of", fields.get("any_of")),
            none_of=self._specs(f"{key}.none_of", fields.get("none_of")),
        )

    def _failure_mode(self, key: str, value: object) -> FailureMode:
        if isinstance(value, str):
            self._report(key, f"is {describe_value(value)}, but must be a mapping", f"Write {{exact: {value[:60]}}}.")
            return FailureMode(exact="")
        fields = check_mapping(key, value, FailureMode, self._report)
        if fields.get("exact") is None:
            if fields or value == {}:
                self._report(f"{key}.exact", "states nothing", _ADVICE_IF_EMPTY)
            return FailureMode(exact="")
        return FailureMode(exact=self._exact(f"{key}.exact", fields["exact"], words=True))

    def _next_steps(self, key: str, value: object) -> NextSteps:
        fields = check_mapping(key, value, NextSteps, self._report)
        if fields:
            self._check_states(key, [name for name in fields if fields[name] not in (None, [])])
        commands = check_list(f"{key}.command_types", fields.get("command_types"), self._report)
        return NextSteps(
            command_types=self._texts(f"{key}.command_types", commands, words=True),
            must_include=self._specs(f"{key}.must_include", fields.get("must_include")),
            none_of=self._specs(f"{key}.none_of", fields.get("none_of")),
        )

    def _tools(self, key: str, value: object) -> ToolExpectations:
        return check_tools(key, value, self._report, self._pattern)

    def _check_states(self, key: str, stated: list[str]) -> None:
        if not stated:
            self._report(key, "states nothing", _ADVICE_IF_EMPTY)
        elif stated == ["none_of"]:
            advice = "Also say what must be there: any unrelated text passes a test for forbidden patterns."
            self._report(key, "expects nothing to be found", advice)

    def _specs(self, key: str, value: object) -> tuple[PatternSpec, ...]:
        specs: list[PatternSpec | None] = []
        for number, item in enumerate(check_list(key, value, self._report)):
            item_key = f"{key}[{number}]"
            if isinstance(item, dict):
                patterns, match_type = self._matcher(item_key, check_mapping(item_key, item, Matcher, self._report))
                specs.append(Matcher(patterns=patterns, match_type=match_type) if match_type else None)
            else:
                specs.append(self._pattern(item_key, item))
        return tuple(spec for spec in specs if spec is not None)

    def _matcher(self, key: str, fields: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
        match_type = check_match_type(f"{key}.match_type", fields.get("match_type"), MATCH_TYPES, self._report)
        key = f"{key}.patterns"
        if "patterns" not in fields:
            self._report(key, "is missing", "List the patterns to look for.")
            return (), match_type
        patterns = check_list(key, fields["patterns"], self._report)
        if fields["patterns"] in (None, []):
            self._report(key, "is empty", "List patterns: an empty list matches nothing.")
        checked = (self._pattern(f"{key}[{n}]", item, match_type=match_type) for n, item in enumerate(patterns))
        return tuple(pattern for pattern in checked if pattern is not None), match_type

    def _exact(self, key: str, value: object, *, words: bool = False) -> str | tuple[str, ...]:
        if isinstance(value, list):
            if not value:
                self._report(key, "is empty", _ADVICE_IF_EMPTY)
            return self._texts(key, value, words=words)
        return self._pattern(key, value, words=words) or ""

    def _texts(self, key: str, value: list[Any], *, words: bool = False) -> tuple[str, ...]:
        checked = (self._pattern(f"{key}[{number}]", item, words=words) for number, item in enumerate(value))
        return tuple(pattern for pattern in checked if pattern is not None)

    def _pattern(self, key: str, value: object, *, match_type: str | None = None, words: bool = False) -> str | None:
        """Count and check one pattern; report and return None if it is not a text. `words`: it must contain a word."""
        self._pattern_count += 1
        pattern = check_text(key, value, self._report)
        if pattern is None:
            return None
        if _unedited.match(pattern) is not None:
            self._report(
                key, f"is {describe_value(pattern)}, as a template leaves it", "Edit it: write what is really expected."
            )
        elif len(pattern) > PATTERN_CHARS_MAX:
            problem = f"has {len(pattern):,} characters; at most {PATTERN_CHARS_MAX:,} are allowed"
            self._report(key, problem, "Look for the part that matters.")
        elif words and _word.search(pattern) is None:
            self._report(key, f"{describe_value(pattern)} holds no word", "Write a word.")
        elif match_type == "regex":
            try:
                compile_selective(pattern)
            except BadPattern as error:
                self._report(key, f"{describe_value(pattern)} {error.problem}", error.advice)
        elif match_type is not None and match_type not in MATCH_TYPES:
            check_added_pattern(key, match_type, pattern, self._report)
        return pattern
