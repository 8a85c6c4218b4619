"""Counts of decisions by their fields, and by compaction level, added up over groups of rows."""

from collections import Counter
from datetime import UTC, datetime

import msgspec
import numpy as np

from events.envelope import agent_of
from projections.arrays import Ints, sum_by_name
from projections.decisions.compaction import LEVELS, Level, level_numbers
from projections.decisions.decision_filter import DecisionFilter, exempt
from projections.decisions.decision_selection import STATUSES, DecisionSelection
from projections.decisions.index_columns import IndexColumns

DAY_S = 86_400
_DAY_US = DAY_S * 1_000_000

LevelCounts = dict[Level, int]
"""How many decisions are at each compaction level."""


class DecisionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of decisions by their fields. The counts of a field leave out decisions that do not state it."""

    total: int
    by_category: dict[str, int]
    by_stakes: dict[str, int]
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: list[tuple[str, int]]
    top_tags: list[tuple[str, int]]


def count_decisions(columns: IndexColumns, selection: DecisionSelection) -> DecisionCounts:
    """Count the decisions that pass a filter by their fields; days are UTC, the newest first."""
    filtered = DecisionFilter(columns, selection)
    tagsets = list(columns.tagsets.numbers)
    by_group, by_tags = np.zeros(len(columns.groups.numbers), np.int64), np.zeros(len(tagsets), np.int64)
    by_status, by_day = np.zeros(len(STATUSES), np.int64), Counter[int]()
    for group in range(columns.table.groups):
        mask = filtered.mask(group)
        kept = slice(None) if mask is None else mask
        by_group += np.bincount(columns.chunk("group", group)[kept], minlength=len(by_group))
        by_tags += np.bincount(columns.chunk("tags", group)[kept], minlength=len(by_tags))
        by_status += np.bincount(columns.codes("status", group)[kept], minlength=len(by_status))
        days, counts = np.unique(columns.chunk("time_us", group)[kept] // _DAY_US, return_counts=True)
        by_day.update(dict(zip(days.tolist(), counts.tolist(), strict=True)))
    weighted = [(key, n) for key, n in zip(columns.groups.numbers, by_group.tolist(), strict=True) if n]
    tags = ((tag, n) for names, n in zip(tagsets, by_tags.tolist(), strict=True) if n for tag in set(names))
    return DecisionCounts(
        total=int(by_status.sum()),
        by_category=sum_by_name((key[1], n) for key, n in weighted),
        by_stakes=sum_by_name((key[2], n) for key, n in weighted),
        by_status={name: n for name, n in zip(STATUSES, by_status.tolist(), strict=True) if n},
        by_agent=sum_by_name((agent_of(key[0]), n) for key, n in weighted),
        by_day=[(day_name(day), n) for day, n in sorted(by_day.items(), reverse=True)],
        top_tags=list(sum_by_name(tags).items()),
    )


def count_levels(columns: IndexColumns, selection: DecisionSelection, now: datetime) -> LevelCounts:
    """Count the decisions that pass a filter by their compaction level at a time."""
    filtered = DecisionFilter(columns, selection)
    total: Ints = np.zeros(len(LEVELS), np.int64)
    for group in range(columns.table.groups):
        mask = filtered.mask(group)
        levels = level_numbers(columns.chunk("time_us", group), exempt(columns, group), now)
        total += np.bincount(levels if mask is None else levels[mask], minlength=len(LEVELS))
    return dict(zip(LEVELS, total.tolist(), strict=True))


def day_name(days: int) -> str:
    """Return the date of a number of days since 1970, UTC."""
    return datetime.fromtimestamp(days * DAY_S, UTC).date().isoformat()
