"""Search patterns in the texts of an analysis.

Every occurrence of a pattern is read in its sentence until one is claimed. The best one counts, with its credit
(`mention_credit.py`): a denied occurrence is not found, and a hedged one is found in part.

`exact` compares whole items, stripped; `substring` searches each item and, if the pattern has a line feed, joined
lists; `word` searches whole words; `semantic` compares embeddings of items. All ignore case, and all but `regex` the
typography (`folded_text.py`).

A `regex` searches items and joined lists within a time limit (`regex_budget.py`); the result of a search that is cut
off is unknown. A joined list that is longer than REGEX_CHARS_MAX is searched item by item only. The result of a
`semantic` comparison is unknown too if the endpoint gives no vectors; text that contains the pattern literally needs no
endpoint. Other types are those of plugins (`plugins.py`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import structs

from events.evaluation import PatternFinding
from instruments.evals.plugins import find_match
from instruments.evals.scoring import word_match
from instruments.evals.scoring.answer_texts import AnswerText, TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPattern, Group
from instruments.evals.scoring.folded_text import FoldedText, fold
from instruments.evals.scoring.mention_context import SENTENCE_END
from instruments.evals.scoring.mention_credit import CLAIMED, DENIED, Credit, credit_of_match
from instruments.evals.scoring.regex_budget import REGEX_CHARS_MAX, RegexBudget
from instruments.evals.scoring.regex_prefilter import can_match
from instruments.evals.scoring.semantic_matcher import NearestText, SemanticMatcher
from instruments.evals.scoring.stated_spans import Span, negation_words, stated_spans

TEXT_CHARS_MAX = 200
"""Characters of a match that a finding quotes."""

OCCURRENCES_MAX = 32
"""Occurrences of one pattern in one text that are read."""

INNER_CHARS_MAX = 4_000
"""The longest match of a regex inside which further ones are looked for."""

NO_ENDPOINT = (
    "no embeddings endpoint is configured, and no text contains it literally. Set TALLYSTICK_EMBEDDINGS_URL, or write "
    "another match_type"
)

_word_end = re.compile(r"\b")

Found = float | None
"""The credit of a pattern, 0..1: 1 if it was found, 0 if not; None if its search was cut off."""


class Unknown:
    """The result of a search that was cut off."""


class PatternMatch(NamedTuple):
    """A match: characters `start` to `end` of an item's text."""

    item: AnswerText
    start: int
    end: int
    similarity: float | None = None
    credit: Credit = Credit(CLAIMED)


class PatternSearch:
    """Searches the patterns of one scenario in one analysis, and remembers the matches. Not thread-safe.

    Without `reads_language`, each match counts in full.
    """

    def __init__(self, semantic_matcher: SemanticMatcher | None = None, *, reads_language: bool = True) -> None:
        self.cut_off: dict[str, str] = {}
        """The reason and the place of each search that was cut off, by the pattern's path."""
        self.without_vectors: set[str] = set()
        """The paths of the patterns for which no embeddings could be had."""
        self.compared_by_meaning = False
        """Whether the embeddings endpoint was needed."""
        self._semantic_matcher = semantic_matcher
        self.reads_language = reads_language
        self._hits: dict[str, dict[str, PatternMatch]] = {}
        self._best_similarity: dict[str, float] = {}
        self._folded: dict[str, FoldedText] = {}
        self._regex_budget = RegexBudget()

    def matches_any(self, group: Group, location: TextLocation) -> Found:
        """Return the best credit of these patterns in a location; each is searched."""
        return any_of([self.matches(pattern, location) for pattern in group])

    def matches(self, pattern: ExpectedPattern, location: TextLocation) -> Found:
        """Return the credit of a pattern in a location."""
        return self._remember(pattern, location, self._find(pattern, location))

    def matches_name(self, group: Group, location: TextLocation) -> bool:
        """Whether an item of a location equals one of these names, ignoring separators."""
        hits = [(pattern, _find_name(pattern.text, location)) for pattern in group]
        return any([self._remember(pattern, location, hit) for pattern, hit in hits])  # noqa: C419 - every hit is remembered

    def best_match(self, group: Group, location: TextLocation) -> PatternMatch | None:
        """Return the best match of these patterns in a location, which no finding shows; None if there is none."""
        found = [self._find(pattern, location) for pattern in group]
        return max(
            (one for one in found if isinstance(one, PatternMatch)), key=lambda one: one.credit.value, default=None
        )

    def _remember(
        self, pattern: ExpectedPattern, location: TextLocation, result: PatternMatch | Unknown | None
    ) -> Found:
        if isinstance(result, PatternMatch):
            self._hits.setdefault(pattern.path, {}).setdefault(location.name, result)
            return result.credit.value
        return None if isinstance(result, Unknown) else DENIED

    def finding(self, pattern: ExpectedPattern, location: str | None, note: str | None = None) -> PatternFinding:
        """Build the finding of a pattern: its match in that location, or its best match in another."""
        hits = self._hits.get(pattern.path, {})
        hit = hits.get(location or "") or max(hits.values(), key=lambda found: found.credit.value, default=None)
        matched = hit is not None and hit.credit.value > DENIED
        notes = [note, None if matched else self.cut_off.get(pattern.path), hit.credit.note if hit else None]
        common = PatternFinding(
            expectation=pattern.path,
            pattern=pattern.text,
            match_type=pattern.match_type,
            matched=matched,
            similarity=hit.similarity if hit else self._best_similarity.get(pattern.path),
            note="; ".join(text for text in notes if text) or None,
        )
        if hit is None:
            return common
        text = hit.item.text[hit.start : min(hit.end, hit.start + TEXT_CHARS_MAX)]
        return structs.replace(common, where=hit.item.where, start=hit.start, end=hit.end, text=text)

    def _find(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Unknown | None:
        if pattern.match_type == "semantic":
            return self._semantic(pattern, location)
        best: PatternMatch | None = None
        unknown: Unknown | None = None
        for found in self._occurrences(pattern, location):
            if isinstance(found, Unknown):
                unknown = found
                continue
            match = self._with_credit(found, location, pattern)
            if best is None or match.credit.value > best.credit.value:
                best = match
            if best.credit.value == CLAIMED:
                return best
        return unknown or best  # what was not searched may have a better one

    def _with_credit(self, match: PatternMatch, location: TextLocation, pattern: ExpectedPattern) -> PatternMatch:
        if not self.reads_language:
            return match
        stated = self._stated(pattern.text, match) if pattern.match_type == "regex" else ()
        return match._replace(credit=credit_of_match(match.item.text, match.start, match.end, location.rules, stated))

    def _stated(self, pattern: str, match: PatternMatch) -> tuple[Span, ...]:
        """Return the spans of a match that a regex spells: a negation is its own if it does not match without it."""
        text, others = match.item.text, list[Span]()
        for start, end in negation_words(text, match.start, match.end):
            without = text[:start] + "_" * (end - start) + text[end:]
            again = self._regex_budget.search(pattern, without, match.start)
            if isinstance(again, tuple) and again[0] <= start < again[1]:
                others.append((start, end))
        return stated_spans(pattern, text, match.start, match.end, others)

    def _occurrences(self, pattern: ExpectedPattern, location: TextLocation) -> Iterator[PatternMatch | Unknown]:
        """Yield the occurrences of a pattern in a location, at most OCCURRENCES_MAX in each text."""
        if pattern.match_type == "regex":
            yield from self._regex(pattern, location)
        elif pattern.match_type == "word":
            yield from self._word(pattern, location)
        elif pattern.match_type == "substring":
            yield from self._substring(pattern.text, location)
            if pattern.mode:
                yield from self._word(pattern, location)
        elif pattern.match_type != "exact":
            yield from _added(pattern, location)
        else:
            found = _exact(pattern.text, location) or (_find_name(pattern.text, location) if pattern.mode else None)
            yield from [found] if found else []

    def _substring(self, text: str, location: TextLocation) -> Iterator[PatternMatch]:
        folded_pattern = fold(text)
        for item in (*location.items, *location.joined) if "\n" in text else location.items:
            folded, at = self._fold(item), -1
            for _ in range(OCCURRENCES_MAX):
                at = folded.text.find(folded_pattern, at + 1)
                if at < 0:
                    break
                yield PatternMatch(item, *folded.span(at, at + len(folded_pattern)))

    def _word(self, pattern: ExpectedPattern, location: TextLocation) -> Iterator[PatternMatch]:
        regex = word_match.class_pattern(pattern.text) if pattern.mode else word_match.command_pattern(pattern.text)
        is_whole = word_match.is_whole_class if pattern.mode else word_match.is_whole_command
        for item in location.items:
            folded = self._fold(item)
            spans = (folded.span(*occurrence.span()) for occurrence in regex.finditer(folded.text))
            whole = (PatternMatch(item, *span) for span in spans if is_whole(item.text, *span))
            yield from islice(whole, OCCURRENCES_MAX)

    def _fold(self, item: AnswerText) -> FoldedText:
        folded = self._folded.get(item.text)
        if folded is None:
            folded = self._folded[item.text] = FoldedText(item.text)
        return folded

    def _regex(self, pattern: ExpectedPattern, location: TextLocation) -> Iterator[PatternMatch | Unknown]:
        joined_items = (item for item in location.joined if len(item.text) <= REGEX_CHARS_MAX)
        for item in (*location.items, *joined_items):
            if not can_match(pattern.text, item.text, self._fold(item).cases):
                continue
            at = 0
            for _ in range(OCCURRENCES_MAX):
                result = self._regex_budget.search(pattern.text, item.text, at)
                if not isinstance(result, tuple):
                    if result is not None:
                        yield self._unknown(pattern, f"{result} in {item.where}")
                    break
                yield PatternMatch(item, *result)
                at = max(result[1], result[0] + 1)  # past an empty match, which would be found for ever
                if result[1] - result[0] > INNER_CHARS_MAX:
                    continue
                # a match over several sentences may begin with a word about something else, and end with another one
                sentence_end = SENTENCE_END.search(item.text, *result)
                if sentence_end is not None:
                    sentence = self._regex_budget.search(pattern.text, item.text[: sentence_end.end()], result[0])
                    if isinstance(sentence, tuple):
                        yield PatternMatch(item, *sentence)
                word_end = _word_end.search(item.text, result[0] + 1)
                at = min(at, word_end.start()) if word_end else at

    def _semantic(self, pattern: ExpectedPattern, location: TextLocation) -> PatternMatch | Unknown | None:
        literal = self._find(pattern._replace(match_type="substring"), location)
        if literal is not None or not location.items:
            return literal
        if self._semantic_matcher is None:
            self.without_vectors.add(pattern.path)
            return self._unknown(pattern, f"not compared: {NO_ENDPOINT}")
        self.compared_by_meaning = True
        nearest = self._semantic_matcher.nearest(pattern.text, [item.text for item in location.items])
        if not isinstance(nearest, NearestText):
            self.without_vectors.add(pattern.path)
            return self._unknown(pattern, f"not compared: {nearest}")
        self._best_similarity[pattern.path] = max(nearest.similarity, self._best_similarity.get(pattern.path, -1.0))
        if not nearest.similar:
            return None
        return PatternMatch(location.items[nearest.text_index], nearest.start, nearest.end, nearest.similarity)

    def _unknown(self, pattern: ExpectedPattern, reason: str) -> Unknown:
        self.cut_off.setdefault(pattern.path, reason)
        return Unknown()


def any_of(found: Sequence[Found]) -> Found:
    """Return the best credit; None if it is unknown."""
    known = max((credit for credit in found if credit is not None), default=DENIED)
    return None if None in found and known < CLAIMED else known


def all_of(found: Sequence[Found]) -> Found:
    """Return the least credit; None if it is unknown."""
    known = min((credit for credit in found if credit is not None), default=CLAIMED)
    return None if None in found and known > DENIED else known


def negate(credit: Found) -> Found:
    """Return 0 for anything that was found, and 1 for what was not; None stays None."""
    return None if credit is None else CLAIMED if credit == DENIED else DENIED


def _added(pattern: ExpectedPattern, location: TextLocation) -> Iterator[PatternMatch]:
    """Yield the matches of a match type that a package adds. Errors: PluginFailed."""
    for item in location.items:
        at = 0
        for _ in range(OCCURRENCES_MAX):
            span = find_match(pattern.match_type, pattern.text, item.text[at:])
            if span is None:
                break
            yield PatternMatch(item, at + span[0], at + span[1])
            at += span[1]
            if at == len(item.text):
                break


def _exact(text: str, location: TextLocation) -> PatternMatch | None:
    folded_pattern = fold(text.strip())
    for item in location.items:
        bare = item.text.strip()
        if fold(bare) == folded_pattern:
            start = item.text.index(bare)
            return PatternMatch(item, start, start + len(bare))
    return None


def _find_name(name: str, location: TextLocation) -> PatternMatch | None:
    for item in location.items:
        if word_match.normalize_name(item.text) == word_match.normalize_name(name):
            return PatternMatch(item, 0, len(item.text))
    return None
