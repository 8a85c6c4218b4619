"""Which numbered lines or sources an answer cites: `L07`, `lines 7, 9 and 12`, `L12-L14`, and other names they have."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from instruments.probes.text.mentions import Mention
from instruments.probes.text.tokens import TokenizedAnswer, words

RANGE_MAX = 64
"""A range that is longer cites its ends alone."""

GOING_ON = words("and or to through")


class Citation(NamedTuple):
    """A number that is cited, and the word at which it stands."""

    number: int
    at: int


class CitationParser:
    """How the lines of a stimulus are cited: by a letter and a number, by nouns before numbers, by other names."""

    def __init__(self, letter: str, nouns: str, others: Mapping[str, int] | None = None) -> None:
        ids = {f"{letter}{number:0{width}}": number for number in range(1, 1000) for width in (1, 2, 3)}
        self._ids = ids | dict(others or {})
        self._nouns = words(nouns)
        self._leading = self._nouns | GOING_ON

    def of(self, reading: TokenizedAnswer, *, bare: bool = False) -> list[Citation]:
        """What is cited, in order; where nothing is and `bare` holds, plain numbers cite, too."""
        found: list[Citation] = []
        spoken, behind = reading.words, 0
        for place in [place for place, word in enumerate(spoken) if word in self._ids or word in self._nouns]:
            if place < behind:
                continue
            number = self._ids.get(spoken[place])
            if number is not None:
                found += [*self._since(reading, found, number, place), Citation(number, place)]
                continue
            behind = place + 1
            while behind < len(spoken):
                counted = _plain(spoken[behind])
                if counted is not None and (
                    spoken[behind - 1] in self._leading or reading.marks[behind - 1] in {",", "-"}
                ):
                    found += [*self._since(reading, found, counted, behind), Citation(counted, behind)]
                elif spoken[behind] not in GOING_ON:
                    break
                behind += 1
        if not found and bare:
            plain = ((place, _plain(word)) for place, word in enumerate(reading.words))
            found = [Citation(number, place) for place, number in plain if number is not None]
        return found

    def _since(self, reading: TokenizedAnswer, found: list[Citation], number: int, place: int) -> list[Citation]:
        """The numbers between the last citation and this one, where the two are the ends of a range."""
        if not found or not found[-1].number < number <= found[-1].number + RANGE_MAX:
            return []
        last = found[-1]
        between = reading.words[last.at + 1 : place]
        if between in (["to"], ["through"]) or (not between and reading.marks[last.at] == "-"):
            return [Citation(inner, place) for inner in range(last.number + 1, number)]
        return []


def beside(reading: TokenizedAnswer, mentions: Sequence[Mention], citations: Sequence[Citation]) -> list[set[int]]:
    """For each mention the numbers cited beside it: between its neighbours in its sentence, or else behind that."""
    stops = [place for place, mark in enumerate(reading.marks) if mark == "."]
    found = []
    for place, mention in enumerate(mentions):
        low = mentions[place - 1].end if place else 0
        high = mentions[place + 1].at if place + 1 < len(mentions) else len(reading)
        begin, end = bisect_left(stops, mention.at), bisect_left(stops, mention.end - 1)
        first = max(low, stops[begin - 1] + 1 if begin else 0)
        last = min(high, stops[end] + 1 if end < len(stops) else high)
        near = _within(citations, first, last)
        found.append(near or _within(citations, last, high))
    return found


def _within(citations: Sequence[Citation], first: int, last: int) -> set[int]:
    low = bisect_left(citations, first, key=_place)
    return {citation.number for citation in citations[low : bisect_left(citations, last, key=_place)]}


def _place(citation: Citation) -> int:
    return citation.at


def _plain(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 3 else None
