"""What is expected, checked whole: no score is ever spoilt by a mistake in an expectation."""

import re
from typing import Any, get_args

from instruments.evals.regex_patterns import BadPattern, discerning
from instruments.evals.scenario import (
    PATTERN_CHARS_MAX,
    PATTERNS_MAX,
    Expectations,
    Expected,
    FailureMode,
    Matcher,
    MatchType,
    NextSteps,
    Wanted,
)
from instruments.evals.suite.validators import Tell, items, keys, near, shown, text

MATCH_TYPES: tuple[MatchType, ...] = get_args(MatchType)

_unedited = re.compile(rf"\s*{'todo'.upper()}\b")
_word = re.compile(r"\w")

_NOTHING = "Say what is expected, or leave the key out: what is not there counts nowhere."


def expectations(at: str, value: object, tell: Tell) -> Expectations:
    """What a scenario expects; every fault is told, and what is faulty left out."""
    return _Reader(tell).expectations(at, value)


class _Reader:
    """One scenario's expectations, and how many patterns they hold."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._patterns = 0

    def expectations(self, at: str, value: object) -> Expectations:
        if value is None or value == {}:
            self._tell(at, "expects nothing", "Say at least what the root cause is.")
            return Expectations()
        readers = {"failure_mode": self._mode, "next_steps": self._steps}
        parts: dict[str, Any] = {}
        for name, inner in keys(at, value, Expectations, self._tell).items():
            if inner is None or inner == {}:
                self._tell(f"{at}.{name}", "states nothing", _NOTHING)
            else:
                parts[name] = readers.get(name, self._expected)(f"{at}.{name}", inner)
        if self._patterns > PATTERNS_MAX:
            self._tell(at, f"holds {self._patterns:,} patterns, and {PATTERNS_MAX} are the most", "Join some of them.")
        return Expectations(**parts)

    def _expected(self, at: str, value: object) -> Expected:
        found = keys(at, value, Expected, self._tell)
        stated = [name for name in found if name != "match_type" and found[name] not in (None, [])]
        if "patterns" in found:
            patterns, match_type = self._matcher(at, found)
        else:
            patterns, match_type = (), None
            if "match_type" in found:
                advice = "Add patterns, or leave it out: a text in a list is looked for as a substring."
                self._tell(f"{at}.match_type", "stands without patterns", advice)
            elif found:
                self._states(at, stated)
        return Expected(
            patterns=patterns,
            match_type=match_type,
            exact=self._exact(f"{at}.exact", found["exact"]) if found.get("exact") not in (None, []) else None,
            all_of=self._wanted(f"{at}.all_of", found.get("all_of")),
            any_of=self._wanted(f"{at}.any_of", found.get("any_of")),
            none_of=self._wanted(f"{at}.none_of", found.get("none_of")),
        )

    def _mode(self, at: str, value: object) -> FailureMode:
        if isinstance(value, str):
            self._tell(at, f"is {shown(value)}, and a mapping belongs there", f"Write {{exact: {value[:60]}}}.")
            return FailureMode(exact="")
        found = keys(at, value, FailureMode, self._tell)
        if found.get("exact") is None:
            if found or value == {}:
                self._tell(f"{at}.exact", "states nothing", _NOTHING)
            return FailureMode(exact="")
        return FailureMode(exact=self._exact(f"{at}.exact", found["exact"], words=True))

    def _steps(self, at: str, value: object) -> NextSteps:
        found = keys(at, value, NextSteps, self._tell)
        if found:
            self._states(at, [name for name in found if found[name] not in (None, [])])
        commands = items(f"{at}.command_types", found.get("command_types"), self._tell)
        return NextSteps(
            command_types=self._texts(f"{at}.command_types", commands, words=True),
            must_include=self._wanted(f"{at}.must_include", found.get("must_include")),
            none_of=self._wanted(f"{at}.none_of", found.get("none_of")),
        )

    def _states(self, at: str, stated: list[str]) -> None:
        if not stated:
            self._tell(at, "states nothing", _NOTHING)
        elif stated == ["none_of"]:
            advice = "Say as well what must be there: whatever forbids alone is met by every text that says nothing."
            self._tell(at, "expects nothing to be found", advice)

    def _wanted(self, at: str, value: object) -> tuple[Wanted, ...]:
        wanted: list[Wanted | None] = []
        for number, item in enumerate(items(at, value, self._tell)):
            here = f"{at}[{number}]"
            if isinstance(item, dict):
                patterns, match_type = self._matcher(here, keys(here, item, Matcher, self._tell))
                wanted.append(Matcher(patterns=patterns, match_type=match_type) if match_type else None)
            else:
                wanted.append(self._pattern(here, item))
        return tuple(each for each in wanted if each is not None)

    def _matcher(self, at: str, found: dict[str, Any]) -> tuple[tuple[str, ...], MatchType | None]:
        match_type = self._match_type(f"{at}.match_type", found.get("match_type"))
        at = f"{at}.patterns"
        if "patterns" not in found:
            self._tell(at, "is missing", "Say what is looked for, as a list.")
            return (), match_type
        patterns = items(at, found["patterns"], self._tell)
        if found["patterns"] in (None, []):
            self._tell(at, "is empty", "Say what is looked for: an empty list fits nothing.")
        read = (self._pattern(f"{at}[{n}]", item, match_type=match_type) for n, item in enumerate(patterns))
        return tuple(pattern for pattern in read if pattern is not None), match_type

    def _match_type(self, at: str, value: object) -> MatchType | None:
        found = next((known for known in MATCH_TYPES if known == value), None)
        if found is None:
            meant = near(value, MATCH_TYPES) if isinstance(value, str) else None
            what = "is missing" if value is None else f"{shown(value)} is unknown"
            advice = f"Write one of {', '.join(MATCH_TYPES)}."
            self._tell(at, what, f"Did you mean {meant}? {advice}" if meant else advice)
        return found

    def _exact(self, at: str, value: object, *, words: bool = False) -> str | tuple[str, ...]:
        if isinstance(value, list):
            if not value:
                self._tell(at, "is empty", _NOTHING)
            return self._texts(at, value, words=words)
        return self._pattern(at, value, words=words) or ""

    def _texts(self, at: str, value: list[Any], *, words: bool = False) -> tuple[str, ...]:
        read = (self._pattern(f"{at}[{number}]", item, words=words) for number, item in enumerate(value))
        return tuple(pattern for pattern in read if pattern is not None)

    def _pattern(
        self, at: str, value: object, *, match_type: MatchType | None = None, words: bool = False
    ) -> str | None:
        """One pattern that can be looked for. `words` are compared as words, and must hold one."""
        self._patterns += 1
        pattern = text(at, value, self._tell)
        if pattern is None:
            return None
        if _unedited.match(pattern) is not None:
            self._tell(at, f"is {shown(pattern)}, as a template leaves it", "Edit it: write what is really expected.")
        elif len(pattern) > PATTERN_CHARS_MAX:
            what = f"has {len(pattern):,} characters, and {PATTERN_CHARS_MAX:,} are the most"
            self._tell(at, what, "Look for the part that matters.")
        elif words and _word.search(pattern) is None:
            self._tell(at, f"{shown(pattern)} holds no word", "Write a word.")
        elif match_type == "regex":
            try:
                discerning(pattern)
            except BadPattern as bad:
                self._tell(at, f"{shown(pattern)} {bad.what}", bad.advice)
        return pattern
