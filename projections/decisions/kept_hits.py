"""Hits of words of earlier ranked searches, kept while the index is the same: to score a word that all have is slow."""

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy.typing as npt

BYTES_MAX = 32_000_000
"""Bytes of hits that are kept: four words that a million decisions have."""


class ScoredWord(NamedTuple):
    """A question to the index: a statement with its weights, a word, and the position as of which it is asked."""

    statement: str
    word: str
    upto: int


class KeptHits:
    """The hits of the words that were searched for last. Each new event in the index changes the scores of all."""

    def __init__(self) -> None:
        self._position = 0
        self._kept: OrderedDict[ScoredWord, npt.NDArray[Any]] = OrderedDict()

    def follow(self, position: int) -> None:
        """Note the position of the index that is searched now."""
        if position != self._position:
            self.clear()
            self._position = position

    def find(self, asked: ScoredWord) -> npt.NDArray[Any] | None:
        """Return the hits of a word, if they are kept."""
        if asked in self._kept:
            self._kept.move_to_end(asked)
        return self._kept.get(asked)

    def keep(self, asked: ScoredWord, hits: npt.NDArray[Any]) -> None:
        """Keep hits, and drop those that were not asked for the longest until few enough bytes are kept."""
        self._kept[asked] = hits
        total = sum(each.nbytes for each in self._kept.values())
        while total > BYTES_MAX:
            total -= self._kept.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
