"""The different values of a field of the groups' keys, by number and in order."""

from heapq import merge
from typing import Final

import numpy as np
import numpy.typing as npt

SORTED_AT_ONCE: Final = 4_096
"""Texts that are sorted in one step: about a millisecond."""


class FieldValues:
    """The different values of one field of the groups' keys. Values are added while threads read them."""

    def __init__(self) -> None:
        self.numbers: dict[str | None, int] = {}
        self._sorted: tuple[list[str | None], npt.NDArray[np.intp]] = [], np.zeros(0, dtype=np.intp)

    def in_order(self) -> tuple[list[str | None], npt.NDArray[np.intp]]:
        """Return the values in order, None last, and the rank of each value by its number. It is kept until one is new.

        Short runs are sorted and merged, because sorting many texts at once would keep other threads from running.
        """
        names, ranks = self._sorted
        if len(names) != len(self.numbers):
            values = list(self.numbers)
            texts = [value for value in values if value is not None]
            runs = [sorted(texts[start : start + SORTED_AT_ONCE]) for start in range(0, len(texts), SORTED_AT_ONCE)]
            names = [*merge(*runs), *([None] if len(texts) < len(values) else [])]
            ranks = np.zeros(len(names), dtype=np.intp)
            ranks[[self.numbers[name] for name in names]] = np.arange(len(names))
            self._sorted = names, ranks
        return names, ranks
