"""The fields by which decisions are grouped, and their sets of tags: numbered, and found by what they have."""

from array import array
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from projections.columns import GroupKey, as_array

GroupField = Literal["source", "category", "stakes", "project", "feature"]

FIELDS: Final[tuple[GroupField, ...]] = ("source", "category", "stakes", "project", "feature")
"""The fields of a `GroupKey`, in its order."""

NO_TAGS: Final = 0
"""The number of the empty set of tags, which most decisions have."""

Lookup = npt.NDArray[np.bool_]
"""A mask by number."""


class GroupFields:
    """Different combinations of the fields of decisions, numbered from 0; and the values of each field, likewise.

    A ledger may have thousands of them. So a filter looks its value up, and compares numbers in numpy.
    """

    def __init__(self, keys: Iterable[GroupKey] = ()) -> None:
        self.numbers: dict[GroupKey, int] = {}
        self._values: list[dict[str | None, int]] = [{} for _ in FIELDS]
        self._codes = [array("I") for _ in FIELDS]
        for key in keys:
            self.add(key)

    def add(self, key: GroupKey) -> int:
        """Return the number of a new combination."""
        number = self.numbers[key] = len(self.numbers)
        for value, values, codes in zip(key, self._values, self._codes, strict=True):
            codes.append(values.setdefault(value, len(values)))
        return number

    def values(self, field: GroupField) -> dict[str | None, int]:
        """Return the values of a field with their numbers."""
        return self._values[FIELDS.index(field)]

    def codes(self, field: GroupField) -> npt.NDArray[np.uint32]:
        """Return the number of a field's value by combination."""
        return as_array(self._codes[FIELDS.index(field)], np.uint32).copy()

    def having(self, required: Sequence[str | Collection[str] | None]) -> Lookup:
        """Return which combinations have the required values, one of several, of each field in the order of FIELDS."""
        found = np.ones(len(self.numbers), dtype=bool)
        for wanted, field, values in zip(required, FIELDS, self._values, strict=True):
            if wanted is not None:
                matches = np.zeros(len(values), dtype=bool)
                names = (wanted,) if isinstance(wanted, str) else wanted
                matches[[values[name] for name in names if name in values]] = True
                found &= matches[self.codes(field)]
        return found


class TagSets:
    """Different sets of tags, numbered from NO_TAGS."""

    def __init__(self, tagsets: Iterable[tuple[str, ...]] = ((),)) -> None:
        self.numbers: dict[tuple[str, ...], int] = {}
        self._having: dict[str, list[int]] = {}
        for tags in tagsets:
            self.number(tags)

    def number(self, tags: tuple[str, ...]) -> int:
        """Return the number of a set of tags, which is added if it is new."""
        known = self.numbers.get(tags)
        if known is not None:
            return known
        number = self.numbers[tags] = len(self.numbers)
        for tag in tags:
            self._having.setdefault(tag, []).append(number)
        return number

    @property
    def tags(self) -> set[str]:
        """All tags."""
        return set(self._having)

    def count_tags(self) -> list[tuple[str, int]]:
        """Return each tag with the number of sets that have it."""
        return [(tag, len(sets)) for tag, sets in self._having.items()]

    def having(self, tags: Iterable[str]) -> Lookup:
        """Return which sets have any of some tags."""
        found = np.zeros(len(self.numbers), dtype=bool)
        for tag in tags:
            found[self._having.get(tag, [])] = True
        return found
