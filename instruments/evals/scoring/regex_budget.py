"""Search regular expressions within a time limit.

Each pattern has PATTERN_S for all texts of a scenario, and all patterns together have SCENARIO_S. A pattern that needs
longer is cut off and not searched again in that scenario, so that any number of hostile patterns takes little more than
SCENARIO_S. The engine seldom checks the clock; therefore only the first REGEX_CHARS_MAX characters of a text are
searched. A match that ends with the last of them is ignored, because it might not be a match in the whole text.
"""

import time

from instruments.evals.regex_patterns import compile_pattern

PATTERN_S = 0.25
"""Seconds of processor time for one pattern in all texts of one scenario."""

SCENARIO_S = 0.75
"""Seconds of processor time for all patterns of one scenario."""

REGEX_CHARS_MAX = 262_144
"""Characters of a text that are searched."""

TRUNCATED = f"looked for in the first {REGEX_CHARS_MAX:,} characters alone"
"""The reason for an unknown result in a longer text."""


class RegexBudget:
    """The remaining time for the patterns of one scenario."""

    def __init__(self) -> None:
        self._left_s = SCENARIO_S
        self._pattern_left_s: dict[str, float] = {}

    def search(self, pattern: str, text: str, start: int = 0) -> tuple[int, int] | str | None:
        """Return the span of the first match from a character on; None without one; if unknown, the reason in words."""
        pattern_left_s = self._pattern_left_s.get(pattern, PATTERN_S)
        left_s = min(pattern_left_s, self._left_s)
        if left_s <= 0.0:
            reason = "it was cut off before" if pattern_left_s <= 0.0 else "the time of all patterns was used up"
            return f"not looked for, as {reason},"
        started_s = time.thread_time()
        try:
            match = compile_pattern(pattern).search(text[:REGEX_CHARS_MAX], start, timeout=left_s)
        except (TimeoutError, MemoryError) as error:
            self._pattern_left_s[pattern] = 0.0
            self._left_s -= left_s
            return f"cut off after {left_s:.2f} s" if isinstance(error, TimeoutError) else "cut off, out of memory,"
        used_s = time.thread_time() - started_s
        self._pattern_left_s[pattern] = pattern_left_s - used_s
        self._left_s -= used_s
        if match is not None and (len(text) <= REGEX_CHARS_MAX or match.end() < REGEX_CHARS_MAX):
            return match.span()
        return None if len(text) <= REGEX_CHARS_MAX else TRUNCATED
