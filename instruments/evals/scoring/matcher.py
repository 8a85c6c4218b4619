"""Whether a pattern stands in a text, and where.

`exact` compares whole items without the blanks around them; `substring` looks in each item and in the items of a list
together; `word` looks for a whole word; `semantic` asks what each item means. None of them minds the case.

A `regex` looks as `substring` does, within bounds of time (`bounded.py`). One that is cut off is neither found nor not
found. The items of a list that are together longer than a regex is looked for in are searched one by one alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

from events.evaluation import PatternFinding
from instruments.evals.scoring import word_match
from instruments.evals.scoring.answer_texts import AnswerText, TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPattern, Group
from instruments.evals.scoring.regex_budget import REGEX_CHARS_MAX, RegexBudget
from instruments.evals.scoring.regex_prefilter import possible
from instruments.evals.scoring.semantic import NearestText, SemanticMatcher

TEXT_CHARS_MAX = 200
"""Characters of what matched that a finding quotes."""

Truth = bool | None
"""Whether a pattern was found; None where its search was cut off."""


class PatternMatch(NamedTuple):
    """Where a pattern stands: characters `start` to `end` of the text of that place."""

    item: AnswerText
    start: int
    end: int
    similarity: float | None = None


class PatternSearch:
    """The search for the patterns of one scenario in one analysis. Not for several threads at once."""

    def __init__(self, meaning: SemanticMatcher | None = None) -> None:
        self.cut: dict[str, str] = {}
        """Why and where a pattern was cut off, by its path."""
        self._meaning = meaning
        self._hits: dict[str, dict[str, PatternMatch]] = {}
        self._notes: dict[str, str] = {}
        self._similar: dict[str, float] = {}
        self._folded: dict[str, _Folded] = {}
        self._allowance = RegexBudget()

    def any(self, group: Group, location: TextLocation) -> Truth:
        """Whether one of these patterns stands in a location; each is looked for."""
        return any_of([self.holds(pattern, location) for pattern in group])

    def holds(self, pattern: ExpectedPattern, location: TextLocation) -> Truth:
        """Whether a pattern stands in a location."""
        return self._noted(pattern, location, self._find(pattern, location))

    def spelt(self, group: Group, location: TextLocation) -> bool:
        """Whether an item of a location is one of these names, however its words are joined."""
        hits = [(pattern, _spelt(pattern.text, location)) for pattern in group]
        return any([self._noted(pattern, location, hit) for pattern, hit in hits])  # noqa: C419 - each is noted

    def _noted(self, pattern: ExpectedPattern, location: TextLocation, found: "PatternMatch | Truth") -> Truth:
        if isinstance(found, PatternMatch):
            self._hits.setdefault(pattern.path, {}).setdefault(location.name, found)
            return True
        return found

    def finding(self, pattern: ExpectedPattern, location: str | None, note: str | None = None) -> PatternFinding:
        """What became of a pattern: where it stands in that location, or in the first where it was found."""
        hits = self._hits.get(pattern.path, {})
        hit = hits.get(location or "") or next(iter(hits.values()), None)
        notes = [note, self._notes.get(pattern.path), None if hit else self.cut.get(pattern.path)]
        said = "; ".join(text for text in notes if text) or None
        shown = {"expectation": pattern.path, "pattern": pattern.text, "match_type": pattern.match_type}
        if hit is None:
            return PatternFinding(**shown, matched=False, similarity=self._similar.get(pattern.path), note=said)  # type: ignore[arg-type]
        return PatternFinding(
            **shown,  # type: ignore[arg-type]
            matched=True,
            where=hit.item.where,
            start=hit.start,
            end=hit.end,
            text=hit.item.text[hit.start : min(hit.end, hit.start + TEXT_CHARS_MAX)],
            similarity=hit.similarity,
            note=said,
        )

    def _find(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        if pattern.match_type == "regex":
            return self._regex(pattern, location)
        if pattern.match_type == "semantic":
            return self._semantic(pattern, location)
        if pattern.match_type == "word":
            return self._word(pattern, location) or False
        exact = pattern.match_type == "exact"
        found = _exact(pattern.text, location) if exact else self._substring(pattern.text, location)
        if found is None and pattern.mode:
            found = _spelt(pattern.text, location) if exact else self._word(pattern, location)
        return found or False

    def _substring(self, text: str, location: TextLocation) -> PatternMatch | None:
        wanted = text.casefold()
        for item in (*location.items, *location.joined) if "\n" in text else location.items:
            folded = self._fold(item)
            at = folded.text.find(wanted)
            if at >= 0:
                return PatternMatch(item, *folded.span(at, at + len(wanted)))
        return None

    def _word(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | None:
        word = word_match.mode(pattern.text) if pattern.mode else word_match.command(pattern.text)
        alone = word_match.stands_apart if pattern.mode else word_match.stands_alone
        for item in location.items:
            folded = self._fold(item)
            for found in word.finditer(folded.text):
                span = folded.span(*found.span())
                if alone(item.text, *span):
                    return PatternMatch(item, *span)
        return None

    def _fold(self, item: AnswerText) -> "_Folded":
        folded = self._folded.get(item.text)
        if folded is None:
            folded = self._folded[item.text] = _Folded(item.text)
        return folded

    def _regex(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        unknown = False
        together = (item for item in location.joined if len(item.text) <= REGEX_CHARS_MAX)
        for item in (*location.items, *together):
            if not possible(pattern.text, item.text, self._fold(item).text):
                continue
            found = self._allowance.search(pattern.text, item.text)
            if isinstance(found, tuple):
                return PatternMatch(item, *found)
            if found is not None:
                self.cut.setdefault(pattern.path, f"{found} in {item.where}")
                unknown = True
        return None if unknown else False

    def _semantic(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Truth:
        literal = self._substring(pattern.text, location)
        if self._meaning is None:
            self._notes[pattern.path] = "looked for as a substring: no embeddings endpoint is configured"
            return literal or False
        if literal is not None:
            return literal
        near = self._meaning.nearest(pattern.text, [item.text for item in location.items])
        if not isinstance(near, NearestText):
            self._notes[pattern.path] = f"looked for as a substring: {near}"
            return False
        self._similar[pattern.path] = max(near.similarity, self._similar.get(pattern.path, -1.0))
        if not near.similar:
            return False
        return PatternMatch(location.items[near.which], near.start, near.end, near.similarity)


def any_of(truths: Sequence[Truth]) -> Truth:
    """Whether one is true; unknown where none is and one is not known."""
    return True if True in truths else None if None in truths else False


def all_of(truths: Sequence[Truth]) -> Truth:
    """Whether all are true; unknown where none is false and one is not known."""
    return False if False in truths else None if None in truths else True


def denied(truth: Truth) -> Truth:
    """Whether it is not so."""
    return None if truth is None else not truth


class _Folded:
    """A text without its case, and which of its characters stands where in it."""

    def __init__(self, text: str) -> None:
        self.text = text.casefold()
        self._from: list[int] | None = None
        if len(self.text) != len(text):
            self._from = [at for at, letter in enumerate(text) for _ in letter.casefold()]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """From characters of the folded text to those of the text as it is."""
        return (start, end) if self._from is None else (self._from[start], self._from[end - 1] + 1)


def _exact(text: str, location: TextLocation) -> PatternMatch | None:
    wanted = text.strip().casefold()
    for item in location.items:
        bare = item.text.strip()
        if bare.casefold() == wanted:
            start = item.text.index(bare)
            return PatternMatch(item, start, start + len(bare))
    return None


def _spelt(name: str, location: TextLocation) -> PatternMatch | None:
    for item in location.items:
        if word_match.squeezed(item.text) == word_match.squeezed(name):
            return PatternMatch(item, 0, len(item.text))
    return None
