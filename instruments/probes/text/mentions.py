"""Find names in an answer, and whether each is denied: "not the cache" denies the cache.

A denial comes before the name ("not caused by", "ruled out") or after it in the same sentence ("is a red herring"), and
applies to all names of an enumeration ("neither A nor B", "A, B and C are unrelated").
"""

from collections.abc import Mapping
from typing import NamedTuple

from instruments.probes.text.tokens import TokenizedAnswer, phrases_by_first_word, split_phrases, split_words

NEGATORS = split_words("not no never neither nor nothing none nobody without unlike excludes rejects dismisses")

FILLERS = split_words(
    "a an any are at be been being because by cause caused come came culprit did do does due evidence for from had has"
    " have here in indicates is it its likely of on or our points problem really root sign that the there this to was"
    " were with wrong"
)
"""Words allowed between a negation and the name: `not caused by the`, `no sign of a`."""

ARTICLES = split_words("a an any the")
"""After one of these, one other word may precede the name: `not the nightly backup`."""

DENYING_PAIRS = frozenset(split_phrases("rather than|instead of|ruled out|rule out|rules out|ruling out"))
"""Word pairs that deny the name after them."""

BEFORE_WORDS = 7
"""The longest distance from a denial to the name after it."""

AFTER_WORDS = 25
"""The longest distance from a name to the denial after it."""

JOINING = split_words("and or nor the a an both also as well neither either")
"""Words allowed between the members of an enumeration."""

DENIALS = (
    "ruled out|red herring|red herrings|unrelated|innocent|cleared|exonerated|excluded|rejected|dismissed|discarded|"
    "coincidence|coincidental|coincided|irrelevant|not the cause|not a cause|not the root cause|not the actual cause|"
    "not the culprit|not the problem|not the reason|not the issue|not the trigger|not the source|not responsible|"
    "not to blame|not relevant|not involved|not guilty|not it|not cause|not explain|not be the cause|"
    "not be a cause|not be the root cause|not be the culprit|not be responsible|not be to blame|"
    "not be blamed|not be the problem|not be the reason|not be the trigger|not have caused|"
    "not caused|not contribute|not be it|nothing to do"
)
"""Phrases that deny the name before them."""


class Mention(NamedTuple):
    """A name at the words `at` to `end` (exclusive), and whether it is denied there."""

    name: str
    at: int
    end: int
    denied: bool


Occurrence = tuple[str, int, int]
"""A name, the index of its first word, and the index after its last word."""

_denials = phrases_by_first_word({"denial": DENIALS})


class Lexicon:
    """Names and their phrases, separated by `|`. Phrases of the name "" are no mentions, and hide names inside them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._phrases = phrases_by_first_word(texts)

    def mentions(self, answer: TokenizedAnswer) -> list[Mention]:
        """Return the mentions in order; of phrases that begin at the same word, the longest is used."""
        occurrences = self._find(answer)
        before = [denied_before(answer, at) for _, at, _ in occurrences]
        ends = [*(at for _, at, _ in occurrences), len(answer)][1:]
        after = [_denied_after(answer, end, stop) for (_, _, end), stop in zip(occurrences, ends, strict=True)]
        for first, last in _enumerations(answer, occurrences):
            if before[first]:
                before[first:last] = [True] * (last - first)
            if after[last - 1]:
                after[first:last] = [True] * (last - first)
        return [
            Mention(*occurrence, denied=before[index] or after[index]) for index, occurrence in enumerate(occurrences)
        ]

    def affirmed(self, answer: TokenizedAnswer) -> set[str]:
        """Return the names that occur at least once without a denial."""
        return {mention.name for mention in self.mentions(answer) if not mention.denied}

    def _find(self, answer: TokenizedAnswer) -> list[Occurrence]:
        occurrences: list[Occurrence] = []
        end = 0
        for index in [index for index, word in enumerate(answer.words) if word in self._phrases]:
            for phrase, name in self._phrases[answer.words[index]] if index >= end else ():
                if answer.phrase_at(index, phrase):
                    end = index + len(phrase)
                    if name:
                        occurrences.append((name, index, end))
                    break
        return occurrences


def denied_before(answer: TokenizedAnswer, at: int) -> bool:
    """Whether a negation before a word applies to that word."""
    answer_words = answer.words
    for index in range(at - 1, max(-1, at - 1 - BEFORE_WORDS), -1):
        if answer.marks[index] in {".", ":", ","}:
            return False
        if index and (answer_words[index - 1], answer_words[index]) in DENYING_PAIRS:
            return not _negated(answer, index - 1)
        if answer_words[index] in NEGATORS:
            return True
        if answer_words[index] not in FILLERS and not (
            index == at - 1 and index and answer_words[index - 1] in ARTICLES
        ):
            return False
    return False


def _denied_after(answer: TokenizedAnswer, end: int, stop: int) -> bool:
    """Whether a denial follows a name before the next name in the same sentence."""
    stop = min(stop, end + AFTER_WORDS)
    if "." in (marks := answer.marks[end - 1 : stop - 1]):
        stop = end + marks.index(".")
    for index in range(end, stop):
        word = answer.words[index]
        if word in _denials and any(answer.phrase_at(index, phrase) for phrase, _ in _denials[word]):
            return word in NEGATORS or not _negated(answer, index)
    return False


def _negated(answer: TokenizedAnswer, index: int) -> bool:
    """Whether `not` or `not be` directly precedes a word."""
    before = answer.words[max(0, index - 2) : index]
    return before[-1:] == ["not"] or before == ["not", "be"]


def _enumerations(answer: TokenizedAnswer, occurrences: list[Occurrence]) -> list[tuple[int, int]]:
    """Return the runs of enumerated names, as first index and end index (exclusive)."""
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(1, len(occurrences) + 1):
        if index < len(occurrences) and _is_enumerated(answer, occurrences[index - 1][2], occurrences[index][1]):
            continue
        if index - start > 2 or (index - start == 2 and "," not in _marks_between(answer, occurrences, start)):
            runs.append((start, _enumeration_end(answer, occurrences, start, index)))
        start = index
    return [run for run in runs if run[1] - run[0] > 1]


def _marks_between(answer: TokenizedAnswer, occurrences: list[Occurrence], index: int) -> list[str]:
    """Return the marks between a name and the next."""
    return answer.marks[occurrences[index][2] - 1 : occurrences[index + 1][1]]


def _is_enumerated(answer: TokenizedAnswer, end: int, at: int) -> bool:
    between, marks = answer.words[end:at], answer.marks[end - 1 : at]
    joined = all(word in JOINING or (word[0].isalpha() and word[1:].isdigit()) for word in between)
    return joined and all(mark in {"", ","} for mark in marks) and (len(between) > 0 or "," in marks)


def _enumeration_end(answer: TokenizedAnswer, occurrences: list[Occurrence], start: int, stop: int) -> int:
    """Return the end of the part of a run that `and`, `or` or `nor` joins: `not A, B` denies A only."""
    for index in range(stop - 1, start, -1):
        between = answer.words[occurrences[index - 1][2] : occurrences[index][1]]
        if not {"and", "or", "nor"}.isdisjoint(between):
            return index + 1
    return start
