"""Regular expressions within bounds of time.

One pattern has PATTERN_S for all texts of a scenario, and all of them together have SCENARIO_S; a pattern that needs
longer is cut off, and is not tried again in that scenario. So however many hostile patterns there are, a scenario takes
little more than SCENARIO_S for them. As the engine looks at the clock only now and then, a text is searched in its
first REGEX_CHARS_MAX characters; a match that touches their end might be none in the whole text, and is not taken.
"""

import time

from instruments.evals.regex_patterns import compiled

PATTERN_S = 0.25
"""Seconds of processor time for one regex in all texts of one scenario."""

SCENARIO_S = 0.75
"""Seconds of processor time for all regexes of one scenario together."""

REGEX_CHARS_MAX = 262_144
"""Characters of a text that a regex is looked for in."""

BEYOND = f"looked for in the first {REGEX_CHARS_MAX:,} characters alone"
"""Why it is not known whether a pattern stands in a longer text."""


class RegexBudget:
    """The time for the regexes of one scenario, as it is used up."""

    def __init__(self) -> None:
        self._left_s = SCENARIO_S
        self._left: dict[str, float] = {}

    def search(self, pattern: str, text: str) -> tuple[int, int] | str | None:
        """Where a pattern stands, None where nowhere, or in words why that is not known."""
        mine_s = self._left.get(pattern, PATTERN_S)
        left_s = min(mine_s, self._left_s)
        if left_s <= 0.0:
            why = "it was cut off before" if mine_s <= 0.0 else "the time of all patterns was used up"
            return f"not looked for, as {why},"
        began_s = time.thread_time()
        try:
            found = compiled(pattern).search(text[:REGEX_CHARS_MAX], timeout=left_s)
        except (TimeoutError, MemoryError) as error:
            self._left[pattern] = 0.0
            self._left_s -= left_s
            return f"cut off after {left_s:.2f} s" if isinstance(error, TimeoutError) else "cut off, out of memory,"
        used_s = time.thread_time() - began_s
        self._left[pattern] = mine_s - used_s
        self._left_s -= used_s
        if found is not None and (len(text) <= REGEX_CHARS_MAX or found.end() < REGEX_CHARS_MAX):
            return found.span()
        return None if len(text) <= REGEX_CHARS_MAX else BEYOND
