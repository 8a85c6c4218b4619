"""Counts of decisions by their fields."""

from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import sum_by_name


class DecisionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of decisions by their fields. The counts of a field leave out decisions that do not state it."""

    total: int
    by_category: dict[str, int]
    by_stakes: dict[str, int]
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: list[tuple[str, int]]
    top_tags: list[tuple[str, int]]


def count_tags(tagsets: Iterable[tuple[str, ...]], numbers: npt.NDArray[np.uint32]) -> list[tuple[str, int]]:
    """Count decisions by tag, the most frequent tag first, given each decision's number of one of some sets of tags."""
    counts = np.bincount(numbers).tolist()
    pairs = ((tag, n) for tags, n in zip(tagsets, counts, strict=False) for tag in set(tags))
    return [(tag, n) for tag, n in sum_by_name(pairs).items() if n]
