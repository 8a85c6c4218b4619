"""Find citations of numbered lines or sources in an answer: `L07`, `lines 7, 9 and 12`, `L12-L14`, or other names."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from instruments.probes.text.mentions import Mention
from instruments.probes.text.tokens import TokenizedAnswer, split_words

RANGE_MAX = 64
"""The longest range that cites all its numbers; a longer one cites only its two ends."""

DIGITS_MAX = 3
"""Digits of a cited number."""

CONNECTIVES = split_words("and or to through")


class Citation(NamedTuple):
    """A cited number, and the index of its word."""

    number: int
    at: int


class CitationParser:
    """Finds citations: a letter with a number, numbers after certain nouns, or other names of a line."""

    def __init__(self, letter: str, nouns: str, aliases: Mapping[str, int] | None = None) -> None:
        ids = {
            f"{letter}{number:0{width}}": number
            for number in range(1, 10**DIGITS_MAX)
            for width in range(1, DIGITS_MAX + 1)
        }
        self._ids = ids | dict(aliases or {})
        self._nouns = split_words(nouns)
        self._leading = self._nouns | CONNECTIVES

    def parse(self, answer: TokenizedAnswer, *, bare: bool = False) -> list[Citation]:
        """Return the citations in order; if there are none and `bare` is true, plain numbers are citations."""
        citations: list[Citation] = []
        answer_words, end_index = answer.words, 0
        for index in [index for index, word in enumerate(answer_words) if word in self._ids or word in self._nouns]:
            if index < end_index:
                continue
            number = self._ids.get(answer_words[index])
            if number is not None:
                citations += [*self._range_between(answer, citations, number, index), Citation(number, index)]
                continue
            end_index = index + 1
            while end_index < len(answer_words):
                plain = _plain_number(answer_words[end_index])
                if plain is not None and (
                    answer_words[end_index - 1] in self._leading or answer.marks[end_index - 1] in {",", "-"}
                ):
                    citations += [
                        *self._range_between(answer, citations, plain, end_index),
                        Citation(plain, end_index),
                    ]
                elif answer_words[end_index] not in CONNECTIVES:
                    break
                end_index += 1
        if not citations and bare:
            numbers = ((index, _plain_number(word)) for index, word in enumerate(answer.words))
            citations = [Citation(number, index) for index, number in numbers if number is not None]
        return citations

    def _range_between(
        self, answer: TokenizedAnswer, citations: list[Citation], number: int, index: int
    ) -> list[Citation]:
        """Return the numbers between the last citation and this one, if the two are the ends of a range."""
        if not citations or not citations[-1].number < number <= citations[-1].number + RANGE_MAX:
            return []
        last = citations[-1]
        between = answer.words[last.at + 1 : index]
        if between in (["to"], ["through"]) or (not between and answer.marks[last.at] == "-"):
            return [Citation(inner, index) for inner in range(last.number + 1, number)]
        return []


def cited_beside(answer: TokenizedAnswer, mentions: Sequence[Mention], citations: Sequence[Citation]) -> list[set[int]]:
    """Return the numbers cited next to each mention: in its sentence or, if there are none, before the next mention.

    Citations beyond a neighbouring mention belong to that mention.
    """
    stops = [index for index, mark in enumerate(answer.marks) if mark == "."]
    cited_numbers = []
    for index, mention in enumerate(mentions):
        low = mentions[index - 1].end if index else 0
        high = mentions[index + 1].at if index + 1 < len(mentions) else len(answer)
        begin, end = bisect_left(stops, mention.at), bisect_left(stops, mention.end - 1)
        first = max(low, stops[begin - 1] + 1 if begin else 0)
        last = min(high, stops[end] + 1 if end < len(stops) else high)
        near = _within(citations, first, last)
        cited_numbers.append(near or _within(citations, last, high))
    return cited_numbers


def score_citations(
    cited: set[int], needed: Sequence[frozenset[int]], supporting: frozenset[int], cited_max: int
) -> float:
    """Return how good the cited evidence is, 0..1; 0 if more than `cited_max` numbers are cited.

    It is the harmonic mean of precision (cited numbers that are evidence: of `needed` or `supporting`) and recall (sets
    of `needed` of which a number is cited).
    """
    found = sum(not numbers.isdisjoint(cited) for numbers in needed)
    if not found or len(cited) > cited_max:
        return 0.0
    precision, recall = len(cited & supporting.union(*needed)) / len(cited), found / len(needed)
    return 2 * precision * recall / (precision + recall)


def _within(citations: Sequence[Citation], first: int, last: int) -> set[int]:
    low = bisect_left(citations, first, key=_word_index)
    return {citation.number for citation in citations[low : bisect_left(citations, last, key=_word_index)]}


def _word_index(citation: Citation) -> int:
    return citation.at


def _plain_number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= DIGITS_MAX else None
