"""Array types, and sums and row numbers by group."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.int64]

AnyInts = npt.NDArray[np.integer[Any]]
"""Integers of any width. Of a million decisions, each byte of the width takes a megabyte."""

RowNumbers = npt.NDArray[np.intp]
"""Row numbers: indices into the columns of a state."""

_SPARSE: Final = 16
"""Numbers are counted in an array of all possible ones if there are at most so many for each."""


def row_numbers_by_group(numbers: npt.NDArray[np.uint32], size: int) -> Iterator[RowNumbers]:
    """Yield, for each group 0..size-1, the ascending row numbers at which `numbers` has the number of the group."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(size + 1))
    for start, end in pairwise(bounds):
        yield order[start:end]


def sum_by_name(pairs: Iterable[tuple[str | None, int]]) -> dict[str, int]:
    """Add up the numbers of each name, the largest sum first, ties by name. Pairs without a name are left out."""
    sums: Counter[str] = Counter()
    for name, n in pairs:
        if name is not None:
            sums[name] += n
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def count_each(numbers: AnyInts, n: Floats | None = None) -> tuple[Ints, npt.NDArray[Any]]:
    """Return the different numbers, ascending from 0, and how often each occurs, or the sum of its `n`.

    Small numbers are not sorted.
    """
    if numbers.max(initial=0) > _SPARSE * len(numbers):
        found, place = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), np.bincount(place, n)
    counts = np.bincount(numbers, n)
    used = np.flatnonzero(counts)
    return used, counts[used]


def split_runs(ascending: npt.NDArray[Any]) -> tuple[RowNumbers, RowNumbers]:
    """Return the places at which runs of equal values start, and the lengths of the runs."""
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(ascending)), bool), ascending[1:] != ascending[:-1]]))
    return starts, np.diff(np.append(starts, len(ascending)))
