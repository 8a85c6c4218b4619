"""Which rows of an answer that has a bound are kept."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def keep_largest(rows: Sequence[Row], most: int, size: Callable[[Row], float]) -> tuple[Sequence[Row], int]:
    """Return the `most` largest rows in their order, of equal ones the first, and how many others there are."""
    if len(rows) <= most:
        return rows, 0
    kept = sorted(range(len(rows)), key=lambda at: -size(rows[at]))[:most]
    return [rows[at] for at in sorted(kept)], len(rows) - most
