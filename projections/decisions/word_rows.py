"""Which decisions have a word, kept by group of rows, so that a search costs only what changed since the one before.

The rows of a group that have a word are a mask of a bit for each. A mask gets another stamp when it changes, and what
was counted with it is counted again only then (`value_counts.py`).
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import split_runs

KEPT_BYTES_MAX: Final = 64 << 20
"""Most bytes of masks that are kept when a search has ended."""

KEPT_WORDS_MAX: Final = 16
"""Most words of a search whose rows are kept: ten million decisions with a word take 1.25 MB."""

_WORD_LENGTH_MAX: Final = 256

_ENTRY_BYTES: Final = 200
"""About what a group takes beside its mask."""

_tokens = re.compile(r"[a-z0-9\u0080-\U0010ffff]+")
"""Splits a folded text (`tokenizer.py`) as the FTS5 tokenizer `ascii` does."""

_stamps = count(1)


class _GroupRows(NamedTuple):
    """The rows of a group that have a word, as bits, and how many they are."""

    stamp: int
    rows: int
    bits: npt.NDArray[np.uint8]


class WordRows:
    """The decisions that have a word, as of the pieces of text up to a position. Masks are replaced, never changed."""

    def __init__(self, group_rows: int) -> None:
        self.position = 0
        self.groups: dict[int, _GroupRows] = {}
        self._group_rows = group_rows

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        partial = sum(1 for group in self.groups.values() if group.rows < self._group_rows)
        return partial * self._group_rows // 8 + len(self.groups) * _ENTRY_BYTES

    def put(self, rows: npt.NDArray[Any], *, having: bool) -> None:
        """Note that some decisions have the word, or that they do not."""
        rows = np.sort(rows).astype(np.int64)
        starts, lengths = split_runs(rows // self._group_rows)
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            group = int(rows[start]) // self._group_rows
            self._put(group, rows[start : start + length] - group * self._group_rows, having=having)

    def _put(self, group: int, inside: npt.NDArray[np.int64], *, having: bool) -> None:
        before = self.groups.get(group)
        mask = np.zeros(self._group_rows, np.uint8)
        if before is not None:
            mask = np.unpackbits(before.bits, count=self._group_rows)
        if (mask[inside] == having).all():
            return
        mask[inside] = having
        total = int(np.count_nonzero(mask))
        bits = _every_row(self._group_rows) if total == self._group_rows else np.packbits(mask)
        self.groups[group] = _GroupRows(next(_stamps), total, bits)


@cache
def _every_row(group_rows: int) -> npt.NDArray[np.uint8]:
    """Return the one mask of all groups in which every decision has a word."""
    return np.packbits(np.ones(group_rows, np.uint8))


class RowsWithWords:
    """The decisions that have all of some words, by group of rows. Later changes do not reach it."""

    def __init__(self, words: frozenset[str], rows: Sequence[WordRows]) -> None:
        self.words = words
        self._by_word: list[Mapping[int, _GroupRows]] = [dict(one.groups) for one in rows]

    def stamps(self, group: int) -> tuple[int, ...]:
        """Return numbers that are others after the rows changed that have these words in a group."""
        found = (groups.get(group) for groups in self._by_word)
        return tuple([0 if one is None else one.stamp for one in found])

    def mask(self, group: int, size: int) -> npt.NDArray[np.bool_] | bool:
        """Return which of the `size` rows of a group have all words: a mask, or whether all or none do."""
        parts = []
        for groups in self._by_word:
            one = groups.get(group)
            if one is None or not one.rows:
                return False
            if one.rows < size:
                parts.append(one.bits)
        if not parts:
            return True
        bits = parts[0] if len(parts) == 1 else np.bitwise_and.reduce(parts)
        return np.unpackbits(bits, count=size).view(np.bool_)


class KeptWords:
    """The rows of words of earlier searches, of which the index says what changes.

    `position` is that of the index. Those as of an earlier position never change.
    """

    def __init__(self) -> None:
        self.position = 0
        self._kept: OrderedDict[tuple[str, int | None], WordRows] = OrderedDict()

    def rows(self, word: str, upto: int, group_rows: int) -> WordRows:
        """Return the rows of a word, to be brought up to a position, which is at most that of the index."""
        key = word, None if upto == self.position else upto
        kept = self._kept.setdefault(key, WordRows(group_rows))
        self._kept.move_to_end(key)
        return kept

    def have(self, words: frozenset[str], upto: int) -> bool:
        """Tell whether the rows of all words are known at the position of the index, and this is the one asked for."""
        found = [self._kept.get((word, None)) for word in words]
        return upto == self.position and all(one is not None and one.position == upto for one in found)

    def trim(self) -> None:
        """Drop the words that were not asked for the longest, until few enough bytes are kept."""
        total = sum(kept.size for kept in self._kept.values())
        while total > KEPT_BYTES_MAX:
            total -= self._kept.popitem(last=False)[1].size

    def follow(self, position: int) -> None:
        """Note the position that the index was found at: at another one than it left, it is another index."""
        if position != self.position:
            self.clear()
            self.position = position

    def restate(self, position: int, texts: Mapping[int, str]) -> None:
        """Note that the index is at a position, and the text of the decisions whose earlier texts no longer count."""
        self.position = position
        if not texts:
            return
        tokens = {row: set(_tokens.findall(text)) for row, text in texts.items()}
        for (word, as_of), kept in self._kept.items():
            if as_of is None:
                having = np.array([word in found for found in tokens.values()])
                rows = np.array(list(tokens), np.int64)
                kept.put(rows[having], having=True)
                kept.put(rows[~having], having=False)

    def clear(self) -> None:
        """Forget everything."""
        self.position = 0
        self._kept.clear()


def may_keep(words: frozenset[str]) -> bool:
    """Tell whether a search is answered from kept rows: it has few words, and none is very long."""
    return len(words) <= KEPT_WORDS_MAX and all(len(word) <= _WORD_LENGTH_MAX for word in words)
