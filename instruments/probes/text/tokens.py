"""Split an answer into words, sentences and labelled sections.

White space and markdown ornaments are ignored, so that layout does not affect scores. Sentences end at punctuation;
sections begin at labels (`CAUSE:`, `## Cause`, `"cause":`), anywhere on a line.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Self

WORDS_MAX = 6_000
"""The most words of an answer; a longer text is padding and not an answer."""

ECHO_WORDS = 8
"""This many words in a row that also occur in the prompt are a quotation."""

Phrases = dict[str, list[tuple[tuple[str, ...], str]]]
"""Phrases and their names, by the first word of the phrase."""

PUNCTUATION = frozenset((".", ":", ","))
"""The marks that separate phrases."""

_word = re.compile(r"(\d+(?:[.,:]\d+)*|[^\W_]+(?:'[^\W_]+|\.\d[^\W_]*)*|%)((?:[^\w%]|_)*)")
_full_stop = re.compile(r"[.!?;…]")
_joined = re.compile(r"[-‐‑–—]")  # noqa: RUF001 - hyphens and dashes as answers write them
_apostrophes = str.maketrans(dict.fromkeys("‘’´", "'"))  # noqa: RUF001 - as answers write them


class TokenizedAnswer:
    """The words of an answer in lower case, whether each begins with a capital, and the mark after each.

    A mark is "." at the end of a sentence, else ":" or ",", "-" for a hyphen in a compound, or "" for none of these.
    """

    def __init__(self, words: list[str], capitals: list[bool], marks: list[str]) -> None:
        self.words = words
        self.capitals = capitals
        self.marks = marks

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Split any text; None if it has more than WORDS_MAX words."""
        text = text.translate(_apostrophes)
        if len(text) > WORDS_MAX and next(islice(_word.finditer(text), WORDS_MAX, None), None) is not None:
            return None
        pairs: list[tuple[str, str]] = _word.findall(text)
        parts_by_word: dict[str, tuple[str, ...]] = {}
        mark_by_gap: dict[str, str] = {" ": ""}
        result = cls([], [], [])
        for word, gap in pairs:
            parts = parts_by_word.get(word) or parts_by_word.setdefault(word, _normalize_word(word.lower()))
            mark = mark_by_gap.get(gap)
            if mark is None:
                mark = mark_by_gap[gap] = _mark(gap)
            if len(parts) > 1:
                result.words.append(parts[0])
                result.capitals.append(word[0].isupper())
                result.marks.append("")
            result.words.append(parts[-1])
            result.capitals.append(word[0].isupper())
            result.marks.append(mark)
        return result

    def __len__(self) -> int:
        return len(self.words)

    def select(self, spans: Iterable[range]) -> "TokenizedAnswer":
        """Return some spans of the answer, each ended like a sentence."""
        result = TokenizedAnswer([], [], [])
        for span in spans:
            if span:
                result.words += self.words[span.start : span.stop]
                result.capitals += self.capitals[span.start : span.stop]
                result.marks += [*self.marks[span.start : span.stop - 1], "."]
        return result

    def sentences(self) -> Iterator[range]:
        """Yield the spans of the sentences."""
        start = 0
        for index, mark in enumerate(self.marks):
            if mark == ".":
                yield range(start, index + 1)
                start = index + 1
        if start < len(self.words):
            yield range(start, len(self.words))

    def sentences_with(self, words: Collection[str]) -> "TokenizedAnswer":
        """Return the sentences that contain any of some words."""
        return self.select(span for span in self.sentences() if any(self.words[index] in words for index in span))

    def contains_any(self, words: Collection[str]) -> bool:
        """Whether the answer contains any of some words."""
        return any(word in words for word in self.words)

    def phrase_at(self, index: int, phrase: tuple[str, ...]) -> bool:
        """Whether a phrase occurs at a word index, without punctuation inside. Its first word must match."""
        end = index + len(phrase)
        return len(phrase) == 1 or (
            tuple(self.words[index:end]) == phrase and PUNCTUATION.isdisjoint(self.marks[index : end - 1])
        )

    def sections(
        self, labels: Mapping[str, str], once: Collection[str] = (), *, after_marks: bool = False
    ) -> dict[str, "TokenizedAnswer"]:
        """Return the text after the labels of each section; `labels` maps a section to its labels, separated by `|`.

        A label is followed by a colon, or begins with a capital and is followed by a capital or a digit. After the
        first occurrence of a section in `once`, its labels are ordinary words (inside the item of a list, for example).
        With `after_marks` a label follows punctuation: `it is not the cause: it recovered` has none.
        """
        by_first_word = phrases_by_first_word(labels)
        spans: dict[str, list[range]] = {}
        name, start = "", 0
        for index, word in enumerate(self.words):
            if word not in by_first_word or index < start:
                continue
            if after_marks and index and self.marks[index - 1] not in PUNCTUATION:
                continue
            for phrase, section in by_first_word[word]:
                if self._label_at(index, phrase):
                    if section not in spans or section not in once:
                        spans.setdefault(name, []).append(range(start, index))
                        name, start = section, index + len(phrase)
                        spans.setdefault(name, [])
                    break
        spans.setdefault(name, []).append(range(start, len(self.words)))
        return {section: self.select(section_spans) for section, section_spans in spans.items() if section}

    def _label_at(self, index: int, phrase: tuple[str, ...]) -> bool:
        if not self.phrase_at(index, phrase):
            return False
        last = index + len(phrase) - 1
        if self.marks[last] == ":":
            return True
        follows = last + 1 < len(self.words) and (self.capitals[last + 1] or self.words[last + 1][0].isdigit())
        return self.marks[last] == "" and self.capitals[index] and follows


class PromptEcho:
    """The word runs of a prompt, used to find quotations from it in answers."""

    def __init__(self, prompt: TokenizedAnswer | None, kept: Collection[str] = ()) -> None:
        """`prompt` is split as answers are; `kept` are words that quotations keep: the numbers of lines."""
        assert prompt is not None, "a prompt is shorter than an answer may be"
        self._runs = frozenset(_word_runs(prompt))
        self._kept = frozenset(kept)

    def without_quotes(self, answer: TokenizedAnswer) -> TokenizedAnswer:
        """Return an answer without quotations of ECHO_WORDS or more words."""
        if self._runs.isdisjoint(_word_runs(answer)):
            return answer
        quoted = [False] * len(answer)
        for index, run in enumerate(_word_runs(answer)):
            if run in self._runs:
                quoted[index : index + ECHO_WORDS] = [True] * ECHO_WORDS
        quoted = [quote and word not in self._kept for quote, word in zip(quoted, answer.words, strict=True)]
        edges = [0, *(index for index in range(1, len(quoted)) if quoted[index] != quoted[index - 1]), len(quoted)]
        spans = (range(start, stop) for start, stop in pairwise(edges))
        return answer.select(span for span in spans if span and not quoted[span.start])

    def count_words(self, without_quotes: TokenizedAnswer) -> int:
        """Count an answer's words without those in `kept`."""
        return sum(word not in self._kept for word in without_quotes.words)

    def repeated_share(self, answer: TokenizedAnswer) -> float:
        """Return the share of the prompt that an answer repeats, 0..1."""
        return len(self._runs.intersection(_word_runs(answer))) / max(1, len(self._runs))


def split_phrases(text: str) -> list[tuple[str, ...]]:
    """Split a text into phrases at `|`, and each phrase into words."""
    return [tuple(phrase.split()) for phrase in text.split("|")]


def split_words(text: str) -> frozenset[str]:
    """Split a text into a set of words at spaces."""
    return frozenset(text.split())


def phrases_by_first_word(texts: Mapping[str, str]) -> Phrases:
    """Group the phrases of several names by their first word, the longest first; `texts` has them separated by `|`."""
    phrases: Phrases = {}
    for name, text in texts.items():
        for phrase in split_phrases(text):
            phrases.setdefault(phrase[0], []).append((phrase, name))
    for entries in phrases.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return phrases


def _word_runs(answer: TokenizedAnswer) -> Iterator[tuple[str, ...]]:
    return zip(*(answer.words[index:] for index in range(ECHO_WORDS)), strict=False)


def _normalize_word(word: str) -> tuple[str, ...]:
    """Normalize a word: numbers without commas, `%` as a word, no possessive, negation as a word of its own."""
    if word[0].isdigit():
        return (word.replace(",", ""),)
    if word == "%":
        return ("percent",)
    if word == "cannot":
        return ("can", "not")
    if "'" in word:
        if word.endswith("n't") and len(word) > 3:
            return (word[:-3], "not")
        return (word.removesuffix("'s"),)
    return (word,)


def _mark(gap: str) -> str:
    if not gap or gap.isspace():
        return ""
    if _full_stop.search(gap):
        return "."
    if ":" in gap:
        return ":"
    if "," in gap:
        return ","
    return "-" if _joined.fullmatch(gap) else ""
