"""A filter of decisions, asked for one group of rows at a time.

What is known of a group without its columns comes first: its times, its decisions by status, and which of its columns
have only zeros. So most groups pass, or do not, as a whole.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from events.envelope import source_of
from ledger.clock import microseconds
from projections.arrays import RowNumbers
from projections.decisions.compaction import LEVELS, LevelFilter, level_numbers
from projections.decisions.decision_selection import STATUSES, DecisionSelection
from projections.decisions.group_fields import Lookup
from projections.decisions.index_columns import DATED, HAS_PR, PRESERVED, IndexColumns, sources, status_sources
from projections.decisions.word_rows import RowsWithWords
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOMES_COUNT, UNREVIEWED

Mask = npt.NDArray[np.bool_]
"""Which rows of a group pass."""


class Condition(NamedTuple):
    """A condition on the values of one column: which of some values fulfil it."""

    column: str
    matches: Callable[[npt.NDArray[Any]], Mask]


class Remainder(NamedTuple):
    """What is to be examined in the rows of a group.

    `by_status` is whether only some have a status that passes. `conditions` are on values, `masks` those of all others.
    """

    by_status: bool
    conditions: list[Condition]
    masks: list[Mask]


_Part = Callable[[int], Mask | bool]
"""Returns which rows of a group fulfil a condition: a mask, or whether all or none do."""


class DecisionFilter:
    """A selection of decisions, applied to columns. It must not be kept while these grow.

    With `among`, only decisions that have some words pass.
    """

    def __init__(self, columns: IndexColumns, selection: DecisionSelection, among: RowsWithWords | None = None) -> None:
        self._columns = columns
        self.selection = selection
        self._among = among
        self.words: frozenset[str] = frozenset() if among is None else among.words
        self.statuses = np.array([name in selection.statuses for name in STATUSES])
        self._conditions = list(self._list_conditions())
        self._parts, read = self._list_parts()
        read.update(name for one in self._conditions for name in sources(one.column))
        self._sources = tuple(sorted({"flags", *status_sources(self.statuses), *read}))
        """The columns whose values may change what passes."""

    def stamps(self, group: int, more: tuple[str, ...] = ()) -> tuple[int, ...]:
        """Return numbers that are others after what passes in a group, or the values of more columns, changed."""
        stamps = self._columns.stamps((*self._sources, *more), group)
        return stamps if self._among is None else stamps + self._among.stamps(group)

    def _list_conditions(self) -> list[Condition]:
        selection, columns = self.selection, self._columns
        found = []
        stakes = selection.stakes
        agent = None if selection.agent is None else source_of(selection.agent)
        fields = (agent, selection.category, stakes, selection.project, selection.feature)
        if any(field is not None for field in fields):
            found.append(_among("group", columns.groups.having(fields)))
        if selection.tags:
            found.append(_among("tags", columns.tagsets.having(selection.tags)))
        if selection.cluster is not None:
            found.append(_equal("cluster", columns.numbers.clusters.known([selection.cluster])))
        if selection.models is not None:
            found.append(_equal("model", columns.models.known(selection.models)))
        if selection.outcome is not None:
            found.append(_equal("outcome", [OUTCOME_NUMBERS.get(selection.outcome, OUTCOMES_COUNT)]))
        least, most = selection.confidence_min, selection.confidence_max
        if least is not None or most is not None:
            low, high = -np.inf if least is None else least, np.inf if most is None else most
            found.append(Condition("confidence", lambda values: (values >= low) & (values <= high)))
        return found

    def _list_parts(self) -> tuple[list[_Part], set[str]]:
        """Return the other conditions, and the columns that may change what fulfils them."""
        selection = self.selection
        parts: list[_Part] = []
        read: set[str] = set()
        if self._among is not None:
            parts.append(self._with_words)
        if selection.range.bounded:
            parts.append(self._within)
        if selection.preserved is not None:
            parts.append(lambda group: _equals(self._columns.flags(PRESERVED, group), selection.preserved))
        if selection.dated is not None:
            parts.append(lambda group: _equals(self._columns.flags(DATED, group), selection.dated))
        if selection.due_before is not None:
            parts.append(self._due)
            read.add("due_us")
        if selection.pr is not None:
            parts.append(self._with_pr)
            read.add("pr")
        if selection.compaction is not None:
            parts.append(self._at_level)
            read.add("outcome")
        return parts, read

    def narrow(self, group: int) -> Remainder | None:
        """Return what is left to examine in a group; None if none of its rows passes."""
        counts = self._columns.by_rows.table[group]
        passing = int(counts[self.statuses].sum())
        if not passing:
            return None
        masks = []
        for part in self._parts:
            mask = part(group)
            if mask is False:
                return None
            if mask is not True:
                masks.append(mask)
        return Remainder(passing < int(counts.sum()), self._conditions, masks)

    def mask(self, group: int, inside: RowNumbers | None = None) -> Mask | None:
        """Return which rows of a group pass, or which of some of them by their places in the group; None if all do."""
        left = self.narrow(group)
        if left is None:
            start, end = self._columns.table.bounds(group)
            return np.zeros(end - start if inside is None else len(inside), dtype=bool)
        return self.mask_of(left, group, inside)

    def mask_of(self, left: Remainder, group: int, inside: RowNumbers | None = None) -> Mask | None:
        """Return which rows of a group pass, given what is left to examine; None if all do."""
        some = slice(None) if inside is None else inside
        masks = [mask[some] for mask in left.masks]
        if left.by_status:
            masks.append(self._columns.with_status(self.statuses, group)[some])
        masks += [one.matches(self._columns.chunk(one.column, group)[some]) for one in left.conditions]
        if len(masks) <= 1:
            return masks[0] if masks else None
        return np.logical_and.reduce(masks)  # type: ignore[no-any-return]

    def rows(self, group: int, inside: RowNumbers | None = None) -> RowNumbers:
        """Return the numbers of the rows of a group that pass, or of some of them by their places, which ascend."""
        start, end = self._columns.table.bounds(group)
        mask = self.mask(group, inside)
        if inside is not None:
            return (inside if mask is None else inside[mask]) + start
        return np.arange(start, end) if mask is None else np.flatnonzero(mask) + start

    def _with_words(self, group: int) -> Mask | bool:
        assert self._among is not None
        start, end = self._columns.table.bounds(group)
        return self._among.mask(group, end - start)

    def _within(self, group: int) -> Mask | bool:
        low, high = self._columns.numbers.times.of(group)
        since, until = self.selection.range.bounds_us()
        if low > until or high < since:
            return False
        if since <= low and high <= until:
            return True
        return self.selection.range.contains(self._columns.chunk("time_us", group))

    def _due(self, group: int) -> Mask | bool:
        dated = self._columns.flags(DATED, group)
        if dated is False:
            return False
        assert self.selection.due_before is not None
        due: Mask = self._columns.chunk("due_us", group) < microseconds(self.selection.due_before)
        return dated & due

    def _with_pr(self, group: int) -> Mask | bool:
        stated, wanted = self._columns.flags(HAS_PR, group), self.selection.pr
        if stated is False or wanted is None or wanted < 0:
            return False
        same: Mask = self._columns.chunk("pr", group) == wanted
        return stated & same

    def _at_level(self, group: int) -> Mask | bool:
        """Find the rows at some compaction levels. In most groups all rows that are not exempt have the same level."""
        level = self.selection.compaction
        assert level is not None
        exempt_pass = "full" in level.levels
        matches = self._matches_by_age(level, group)
        if isinstance(matches, bool) and matches is exempt_pass:
            return matches
        return np.where(exempt(self._columns, group), exempt_pass, matches)

    def _matches_by_age(self, level: LevelFilter, group: int) -> Mask | bool:
        times = np.array(self._columns.numbers.times.of(group))
        oldest, newest = level_numbers(times, np.zeros(2, dtype=bool), level.now).tolist()
        if oldest == newest:
            return LEVELS[oldest] in level.levels
        times = self._columns.chunk("time_us", group)
        return level.matches(level_numbers(times, np.zeros(len(times), dtype=bool), level.now))


def exempt(columns: IndexColumns, group: int) -> Mask:
    """Return which rows of a group stay `full` at any age: those without a review, or to be preserved."""
    found: Mask = columns.chunk("outcome", group) == UNREVIEWED
    return found | columns.flags(PRESERVED, group)


def _equals(mask: Mask | bool, wanted: bool | None) -> Mask | bool:
    if isinstance(mask, bool):
        return mask is wanted
    return mask if wanted else ~mask


def _among(column: str, lookup: Lookup) -> Condition:
    """Return the condition that a number is one of those in a mask by number."""
    numbers = np.flatnonzero(lookup)
    return _equal(column, numbers.tolist()) if len(numbers) <= 1 else Condition(column, lambda values: lookup[values])


def _equal(column: str, numbers: list[int]) -> Condition:
    """Return the condition that a number is one of some."""
    if len(numbers) == 1:
        number = numbers[0]
        return Condition(column, lambda values: values == number)
    return Condition(column, lambda values: np.isin(values, numbers))
