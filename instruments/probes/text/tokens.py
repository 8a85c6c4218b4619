"""Reading an answer as words: which they are, where sentences end, and which sections its labels make.

White space and the ornaments of markdown are not read at all: an answer scores the same however it is laid out.
Sentences end at punctuation, sections begin at their labels (`CAUSE:`, `## Cause`, `"cause":`), on whatever line.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Self

WORDS_MAX = 6_000
"""An answer of more words is none: whoever pads so far does not answer."""

ECHO_WORDS = 8
"""So many words in a row that stand in the prompt are quoted from it, and not the answer's own."""

PUNCTUATION = frozenset((".", ":", ","))
"""The marks that part what stands before them from what stands behind."""

_word = re.compile(r"(\d+(?:[.,:]\d+)*|[^\W_]+(?:'[^\W_]+|\.\d[^\W_]*)*|%)((?:[^\w%]|_)*)")
_full_stop = re.compile(r"[.!?;…]")
_joined = re.compile(r"[-‐‑–—]")  # noqa: RUF001 - hyphens and dashes as answers write them
_apostrophes = str.maketrans(dict.fromkeys("‘’´", "'"))  # noqa: RUF001 - as answers write them


class TokenizedAnswer:
    """An answer as words in lower case, whether each began with a capital, and the mark that stands behind each.

    A mark is "." where a sentence ends, else ":" or ",", "-" for a hyphen within a compound, or "" for none of these.
    """

    def __init__(self, words: list[str], capitals: list[bool], marks: list[str]) -> None:
        self.words = words
        self.capitals = capitals
        self.marks = marks

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Read any text; None where it has more than WORDS_MAX words."""
        text = text.translate(_apostrophes)
        if len(text) > WORDS_MAX and next(islice(_word.finditer(text), WORDS_MAX, None), None) is not None:
            return None
        found: list[tuple[str, str]] = _word.findall(text)
        known: dict[str, tuple[str, ...]] = {}
        seen: dict[str, str] = {" ": ""}
        made = cls([], [], [])
        for word, gap in found:
            parts = known.get(word) or known.setdefault(word, _parts(word.lower()))
            mark = seen.get(gap)
            if mark is None:
                mark = seen[gap] = _mark(gap)
            if len(parts) > 1:
                made.words.append(parts[0])
                made.capitals.append(word[0].isupper())
                made.marks.append("")
            made.words.append(parts[-1])
            made.capitals.append(word[0].isupper())
            made.marks.append(mark)
        return made

    def __len__(self) -> int:
        return len(self.words)

    def part(self, spans: Iterable[range]) -> "TokenizedAnswer":
        """Some stretches of it, each ending as a sentence does."""
        made = TokenizedAnswer([], [], [])
        for span in spans:
            if span:
                made.words += self.words[span.start : span.stop]
                made.capitals += self.capitals[span.start : span.stop]
                made.marks += [*self.marks[span.start : span.stop - 1], "."]
        return made

    def sentences(self) -> Iterator[range]:
        """The stretches between one full stop and the next."""
        start = 0
        for place, mark in enumerate(self.marks):
            if mark == ".":
                yield range(start, place + 1)
                start = place + 1
        if start < len(self.words):
            yield range(start, len(self.words))

    def about(self, words: Collection[str]) -> "TokenizedAnswer":
        """The sentences that hold any of some words."""
        return self.part(span for span in self.sentences() if any(self.words[place] in words for place in span))

    def holds(self, words: Collection[str]) -> bool:
        """Whether any of some words stands in it."""
        return any(word in words for word in self.words)

    def begins(self, place: int, phrase: tuple[str, ...]) -> bool:
        """Whether a phrase, whose first word stands at a place, stands there whole, without punctuation in it."""
        end = place + len(phrase)
        return len(phrase) == 1 or (
            tuple(self.words[place:end]) == phrase and PUNCTUATION.isdisjoint(self.marks[place : end - 1])
        )

    def sections(self, labels: Mapping[str, str], once: Collection[str] = ()) -> dict[str, "TokenizedAnswer"]:
        """What stands behind the labels of each section, a label being words separated by `|`.

        A label is followed by a colon; or it begins with a capital, and so does what follows it. Where a section of
        `once` was seen, its labels are words like others: those within an item of a list.
        """
        heads = _heads(labels)
        spans: dict[str, list[range]] = {}
        name, start = "", 0
        for place, word in enumerate(self.words):
            if word not in heads or place < start:
                continue
            for phrase, section in heads[word]:
                if self._labels(place, phrase):
                    if section not in spans or section not in once:
                        spans.setdefault(name, []).append(range(start, place))
                        name, start = section, place + len(phrase)
                        spans.setdefault(name, [])
                    break
        spans.setdefault(name, []).append(range(start, len(self.words)))
        return {section: self.part(stretches) for section, stretches in spans.items() if section}

    def _labels(self, place: int, phrase: tuple[str, ...]) -> bool:
        if not self.begins(place, phrase):
            return False
        last = place + len(phrase) - 1
        if self.marks[last] == ":":
            return True
        follows = last + 1 < len(self.words) and (self.capitals[last + 1] or self.words[last + 1][0].isdigit())
        return self.marks[last] == "" and self.capitals[place] and follows


class PromptEcho:
    """A prompt's own words, to be told from an answer's."""

    def __init__(self, text: str, kept: Collection[str] = ()) -> None:
        """`kept` are words that stay an answer's own where it quotes them: the numbers of lines."""
        reading = TokenizedAnswer.of(text)
        assert reading is not None, "a prompt is shorter than an answer may be"
        self._runs = frozenset(_runs(reading))
        self._kept = frozenset(kept)

    def own(self, reading: TokenizedAnswer) -> TokenizedAnswer:
        """An answer without what it quotes, ECHO_WORDS words or more at a time."""
        if self._runs.isdisjoint(_runs(reading)):
            return reading
        quoted = [False] * len(reading)
        for place, run in enumerate(_runs(reading)):
            if run in self._runs:
                quoted[place : place + ECHO_WORDS] = [True] * ECHO_WORDS
        quoted = [quote and word not in self._kept for quote, word in zip(quoted, reading.words, strict=True)]
        edges = [0, *(place for place in range(1, len(quoted)) if quoted[place] != quoted[place - 1]), len(quoted)]
        spans = (range(start, stop) for start, stop in pairwise(edges))
        return reading.part(span for span in spans if span and not quoted[span.start])

    def words(self, own: TokenizedAnswer) -> int:
        """How many words of its own an answer has, those kept from quotations not counted."""
        return sum(word not in self._kept for word in own.words)

    def share(self, reading: TokenizedAnswer) -> float:
        """How much of the prompt an answer repeats, 0..1."""
        return len(self._runs.intersection(_runs(reading))) / max(1, len(self._runs))


def phrases(text: str) -> list[tuple[str, ...]]:
    """Phrases that are written with `|` between them."""
    return [tuple(phrase.split()) for phrase in text.split("|")]


def words(text: str) -> frozenset[str]:
    """Words that are written with a space between them."""
    return frozenset(text.split())


def _heads(labels: Mapping[str, str]) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Labels by their first word, the longest first."""
    heads: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for section, text in labels.items():
        for phrase in phrases(text):
            heads.setdefault(phrase[0], []).append((phrase, section))
    for each in heads.values():
        each.sort(key=lambda head: -len(head[0]))
    return heads


def _runs(reading: TokenizedAnswer) -> Iterator[tuple[str, ...]]:
    return zip(*(reading.words[place:] for place in range(ECHO_WORDS)), strict=False)


def _parts(word: str) -> tuple[str, ...]:
    """A word as it is looked up: numbers without commas, `%` as a word, no possessive, a negation apart."""
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
