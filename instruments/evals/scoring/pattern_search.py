"""Search patterns in the texts of an analysis.

`exact` compares whole items, stripped; `substring` searches each item and, if the pattern has a line feed, joined
lists; `word` searches whole words; `semantic` compares embeddings of items. All ignore case.

A `regex` searches items and joined lists within a time limit (`regex_budget.py`); the result of a search that is cut
off is unknown. A joined list that is longer than REGEX_CHARS_MAX is searched item by item only.
"""

from collections.abc import Sequence
from typing import NamedTuple

from events.evaluation import PatternFinding
from instruments.evals.scoring import word_match
from instruments.evals.scoring.answer_texts import AnswerText, TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPattern, Group
from instruments.evals.scoring.regex_budget import REGEX_CHARS_MAX, RegexBudget
from instruments.evals.scoring.regex_prefilter import can_match
from instruments.evals.scoring.semantic_matcher import NearestText, SemanticMatcher

TEXT_CHARS_MAX = 200
"""Characters of a match that a finding quotes."""

Truth = bool | None
"""Whether a pattern was found; None if its search was cut off."""


class PatternMatch(NamedTuple):
    """A match: characters `start` to `end` of an item's text."""

    item: AnswerText
    start: int
    end: int
    similarity: float | None = None


class PatternSearch:
    """Searches the patterns of one scenario in one analysis, and remembers the matches. Not thread-safe."""

    def __init__(self, semantic_matcher: SemanticMatcher | None = None) -> None:
        self.cut_off: dict[str, str] = {}
        """The reason and the place of each search that was cut off, by the pattern's path."""
        self._semantic_matcher = semantic_matcher
        self._hits: dict[str, dict[str, PatternMatch]] = {}
        self._notes: dict[str, str] = {}
        self._best_similarity: dict[str, float] = {}
        self._folded: dict[str, _Folded] = {}
        self._regex_budget = RegexBudget()

    def matches_any(self, group: Group, location: TextLocation) -> Truth:
        """Whether any of these patterns matches in a location; each is searched."""
        return any_of([self.matches(pattern, location) for pattern in group])

    def matches(self, pattern: ExpectedPattern, location: TextLocation) -> Truth:
        """Whether a pattern matches in a location."""
        return self._remember(pattern, location, self._find(pattern, location))

    def matches_name(self, group: Group, location: TextLocation) -> bool:
        """Whether an item of a location equals one of these names, ignoring separators."""
        hits = [(pattern, _find_name(pattern.text, location)) for pattern in group]
        return any([self._remember(pattern, location, hit) for pattern, hit in hits])  # noqa: C419 - every hit is remembered

    def _remember(self, pattern: ExpectedPattern, location: TextLocation, result: "PatternMatch | Truth") -> Truth:
        if isinstance(result, PatternMatch):
            self._hits.setdefault(pattern.path, {}).setdefault(location.name, result)
            return True
        return result

    def finding(self, pattern: ExpectedPattern, location: str | None, note: str | None = None) -> PatternFinding:
        """Build the finding of a pattern: its match in that location, or in the first location with a match."""
        hits = self._hits.get(pattern.path, {})
        hit = hits.get(location or "") or next(iter(hits.values()), None)
        notes = [note, self._notes.get(pattern.path), None if hit else self.cut_off.get(pattern.path)]
        notes_text = "; ".join(text for text in notes if text) or None
        if hit is None:
            return PatternFinding(
                expectation=pattern.path,
                pattern=pattern.text,
                match_type=pattern.match_type,
                matched=False,
                similarity=self._best_similarity.get(pattern.path),
                note=notes_text,
            )
        return PatternFinding(
            expectation=pattern.path,
            pattern=pattern.text,
            match_type=pattern.match_type,
            matched=True,
            where=hit.item.where,
            start=hit.start,
            end=hit.end,
            text=hit.item.text[hit.start : min(hit.end, hit.start + TEXT_CHARS_MAX)],
            similarity=hit.similarity,
            note=notes_text,
        )

    def _find(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        if pattern.match_type == "regex":
            return self._regex(pattern, location)
        if pattern.match_type == "semantic":
            return self._semantic(pattern, location)
        if pattern.match_type == "word":
            return self._word(pattern, location) or False
        exact = pattern.match_type == "exact"
        match = _exact(pattern.text, location) if exact else self._substring(pattern.text, location)
        if match is None and pattern.mode:
            match = _find_name(pattern.text, location) if exact else self._word(pattern, location)
        return match or False

    def _substring(self, text: str, location: TextLocation) -> PatternMatch | None:
        folded_pattern = text.casefold()
        for item in (*location.items, *location.joined) if "\n" in text else location.items:
            folded = self._fold(item)
            at = folded.text.find(folded_pattern)
            if at >= 0:
                return PatternMatch(item, *folded.span(at, at + len(folded_pattern)))
        return None

    def _word(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | None:
        regex = word_match.class_pattern(pattern.text) if pattern.mode else word_match.command_pattern(pattern.text)
        is_whole = word_match.is_whole_class if pattern.mode else word_match.is_whole_command
        for item in location.items:
            folded = self._fold(item)
            for occurrence in regex.finditer(folded.text):
                span = folded.span(*occurrence.span())
                if is_whole(item.text, *span):
                    return PatternMatch(item, *span)
        return None

    def _fold(self, item: AnswerText) -> "_Folded":
        folded = self._folded.get(item.text)
        if folded is None:
            folded = self._folded[item.text] = _Folded(item.text)
        return folded

    def _regex(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        unknown = False
        joined_items = (item for item in location.joined if len(item.text) <= REGEX_CHARS_MAX)
        for item in (*location.items, *joined_items):
            if not can_match(pattern.text, item.text, self._fold(item).text):
                continue
            result = self._regex_budget.search(pattern.text, item.text)
            if isinstance(result, tuple):
                return PatternMatch(item, *result)
            if result is not None:
                self.cut_off.setdefault(pattern.path, f"{result} in {item.where}")
                unknown = True
        return None if unknown else False

    def _semantic(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        literal = self._substring(pattern.text, location)
        if self._semantic_matcher is None:
            self._notes[pattern.path] = "looked for as a substring: no embeddings endpoint is configured"
            return literal or False
        if literal is not None:
            return literal
        nearest = self._semantic_matcher.nearest(pattern.text, [item.text for item in location.items])
        if not isinstance(nearest, NearestText):
            self._notes[pattern.path] = f"looked for as a substring: {nearest}"
            return False
        self._best_similarity[pattern.path] = max(nearest.similarity, self._best_similarity.get(pattern.path, -1.0))
        if not nearest.similar:
            return False
        return PatternMatch(location.items[nearest.text_index], nearest.start, nearest.end, nearest.similarity)


def any_of(truths: Sequence[Truth]) -> Truth:
    """Return whether any is true; None if none is true and one is unknown."""
    if True in truths:
        return True
    return None if None in truths else False


def all_of(truths: Sequence[Truth]) -> Truth:
    """Return whether all are true; None if none is false and one is unknown."""
    if False in truths:
        return False
    return None if None in truths else True


def negate(truth: Truth) -> Truth:
    """Return the opposite; None stays None."""
    return None if truth is None else not truth


class _Folded:
    """A case-folded text, with a mapping of its characters to those of the original."""

    def __init__(self, text: str) -> None:
        self.text = text.casefold()
        self._from: list[int] | None = None
        if len(self.text) != len(text):
            self._from = [at for at, letter in enumerate(text) for _ in letter.casefold()]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the folded text to the original text."""
        return (start, end) if self._from is None else (self._from[start], self._from[end - 1] + 1)


def _exact(text: str, location: TextLocation) -> PatternMatch | None:
    folded_pattern = text.strip().casefold()
    for item in location.items:
        bare = item.text.strip()
        if bare.casefold() == folded_pattern:
            start = item.text.index(bare)
            return PatternMatch(item, start, start + len(bare))
    return None


def _find_name(name: str, location: TextLocation) -> PatternMatch | None:
    for item in location.items:
        if word_match.normalize_name(item.text) == word_match.normalize_name(name):
            return PatternMatch(item, 0, len(item.text))
    return None
