"""What an answer names, and whether it denies it: "not the cache" does not name the cache.

A denial stands before what it denies ("not caused by", "ruled out") or behind it in the same sentence ("is a red
herring"), and reaches over a list ("neither A nor B", "A, B and C are unrelated").
"""

from collections.abc import Mapping
from typing import NamedTuple

from instruments.probes.text.tokens import TokenizedAnswer, phrases, words

NEGATORS = words("not no never neither nor nothing none nobody without unlike excludes rejects dismisses")

FILLERS = words(
    "a an any are at be been being because by cause caused come came culprit did do does due evidence for from had has"
    " have here in indicates is it its likely of on or our points problem really root sign that the there this to was"
    " were with wrong"
)
"""What may stand between a negation and what it denies: `not caused by the`, `no sign of a`."""

ARTICLES = words("a an any the")
"""Behind one of these a word may stand between: `not the nightly backup`."""

OUT = frozenset(phrases("rather than|instead of|ruled out|rule out|rules out|ruling out"))
"""Pairs that deny what follows them."""

BEFORE_WORDS = 7
"""How far before a name its denial may begin."""

BEHIND_WORDS = 25
"""How far behind a name its denial may stand."""

JOINING = words("and or nor the a an both also as well neither either")
"""What may stand between the members of a list that are denied together."""

DENIALS = phrases(
    "ruled out|red herring|red herrings|unrelated|innocent|cleared|exonerated|excluded|rejected|dismissed|discarded|"
    "coincidence|coincidental|coincided|irrelevant|not the cause|not a cause|not the root cause|not the actual cause|"
    "not the culprit|not the problem|not the reason|not the issue|not the trigger|not the source|not responsible|"
    "not to blame|not relevant|not involved|not guilty|not it|not cause|not explain|not be the cause|"
    "not be a cause|not be the root cause|not be the culprit|not be responsible|not be to blame|"
    "not be blamed|not be the problem|not be the reason|not be the trigger|not have caused|"
    "not caused|not contribute|not be it|nothing to do"
)
"""What denies that which was named before it."""


class Mention(NamedTuple):
    """A name from word `at` to before word `end`, and whether it is denied there."""

    name: str
    at: int
    end: int
    denied: bool


Phrases = dict[str, list[tuple[tuple[str, ...], str]]]


def _by_first(named: Mapping[str, str]) -> Phrases:
    found: Phrases = {}
    for name, text in named.items():
        for phrase in phrases(text):
            found.setdefault(phrase[0], []).append((phrase, name))
    for each in found.values():
        each.sort(key=lambda one: -len(one[0]))
    return found


_denials = _by_first({"denial": "|".join(" ".join(phrase) for phrase in DENIALS)})


class Lexicon:
    """Names and the phrases that mean each, `|` between them; those of the name "" mean nothing, and hide others."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self._phrases = _by_first(named)

    def mentions(self, reading: TokenizedAnswer) -> list[Mention]:
        """What is named, in order; of phrases that begin at one word the longest counts."""
        places = self._places(reading)
        before = [denied_before(reading, at) for _, at, _ in places]
        ends = [*(at for _, at, _ in places), len(reading)][1:]
        behind = [_denied_behind(reading, end, stop) for (_, _, end), stop in zip(places, ends, strict=True)]
        for first, last in _lists(reading, places):
            if before[first]:
                before[first:last] = [True] * (last - first)
            if behind[last - 1]:
                behind[first:last] = [True] * (last - first)
        return [Mention(*place, denied=before[i] or behind[i]) for i, place in enumerate(places)]

    def affirmed(self, reading: TokenizedAnswer) -> set[str]:
        """The names that stand there at least once without a denial."""
        return {mention.name for mention in self.mentions(reading) if not mention.denied}

    def _places(self, reading: TokenizedAnswer) -> list[tuple[str, int, int]]:
        found: list[tuple[str, int, int]] = []
        behind = 0
        for place in [place for place, word in enumerate(reading.words) if word in self._phrases]:
            for phrase, name in self._phrases[reading.words[place]] if place >= behind else ():
                if reading.begins(place, phrase):
                    behind = place + len(phrase)
                    if name:
                        found.append((name, place, behind))
                    break
        return found


def denied_before(reading: TokenizedAnswer, at: int) -> bool:
    """Whether a negation before a word reaches it."""
    spoken = reading.words
    for place in range(at - 1, max(-1, at - 1 - BEFORE_WORDS), -1):
        if reading.marks[place] in {".", ":", ","}:
            return False
        if place and (spoken[place - 1], spoken[place]) in OUT:
            return not _negated(reading, place - 1)
        if spoken[place] in NEGATORS:
            return True
        if spoken[place] not in FILLERS and not (place == at - 1 and place and spoken[place - 1] in ARTICLES):
            return False
    return False


def _denied_behind(reading: TokenizedAnswer, end: int, stop: int) -> bool:
    """Whether a denial stands between the end of a name and the next name, in the same sentence."""
    stop = min(stop, end + BEHIND_WORDS)
    if "." in (marks := reading.marks[end - 1 : stop - 1]):
        stop = end + marks.index(".")
    for place in range(end, stop):
        word = reading.words[place]
        if word in _denials and any(reading.begins(place, phrase) for phrase, _ in _denials[word]):
            return word in NEGATORS or not _negated(reading, place)
    return False


def _negated(reading: TokenizedAnswer, place: int) -> bool:
    """Whether `not` or `not be` stands right before a word."""
    before = reading.words[max(0, place - 2) : place]
    return before[-1:] == ["not"] or before == ["not", "be"]


def _lists(reading: TokenizedAnswer, places: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """The runs of names that are enumerated: from the first of each to behind its last."""
    runs: list[tuple[int, int]] = []
    start = 0
    for place in range(1, len(places) + 1):
        if place < len(places) and _linked(reading, places[place - 1][2], places[place][1]):
            continue
        if place - start > 2 or (place - start == 2 and "," not in _between(reading, places, start)):
            runs.append((start, _joined(reading, places, start, place)))
        start = place
    return [run for run in runs if run[1] - run[0] > 1]


def _between(reading: TokenizedAnswer, places: list[tuple[str, int, int]], place: int) -> list[str]:
    """The marks between a name and the next."""
    return reading.marks[places[place][2] - 1 : places[place + 1][1]]


def _linked(reading: TokenizedAnswer, end: int, at: int) -> bool:
    between, marks = reading.words[end:at], reading.marks[end - 1 : at]
    joined = all(word in JOINING or (word[0].isalpha() and word[1:].isdigit()) for word in between)
    return joined and all(mark in {"", ","} for mark in marks) and (len(between) > 0 or "," in marks)


def _joined(reading: TokenizedAnswer, places: list[tuple[str, int, int]], start: int, stop: int) -> int:
    """Behind the last name of a run that `and`, `or` or `nor` joins: `not A, B` denies A alone."""
    for place in range(stop - 1, start, -1):
        between = reading.words[places[place - 1][2] : places[place][1]]
        if not {"and", "or", "nor"}.isdisjoint(between):
            return place + 1
    return start
