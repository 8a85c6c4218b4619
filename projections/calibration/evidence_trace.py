"""The evidence of decisions in the order of their first review, followed from review to review.

A verdict that was supported once stays so, and says at which review it became so. That needs the largest e-value so
far, and therefore the order. For each selection of decisions the stakes after the last review are kept. The next
question adds the reviews that came since, so it costs what is new. Only the first question about a selection reads all
its reviews: a million in some tenths of a second, on a thread. A retraction drops what was kept.
"""

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.first_reviews import BLOCK_REVIEWS, CODE_VALUES, VALUES_COUNT, Block, ReviewOrder
from projections.calibration.gap_evidence import Dependence, GapEvidence, cut_interval, dependence_of
from projections.query_check import Check
from projections.stats.autocorrelation import estimate_autocorrelation
from projections.stats.gap_martingale import (
    FRACTIONS,
    LOG_SUPPORTED,
    log_factors_over,
    log_factors_under,
    log_mean_exp,
)
from projections.stats.gap_sequence import BETS, gap_sequence, log_factors_above
from projections.stats.intervals import GapSide

DEPENDENCE_REVIEWS: Final = 5_000
"""Dependence is estimated over so many of the newest reviews."""

STAKES_KEPT_MAX: Final = 20_000
"""Groups whose stakes are kept, over all selections: about 10 MB."""

Numbers = npt.NDArray[np.intp]

_K, _J = len(FRACTIONS), len(BETS)
_OVER, _UNDER = slice(0, _K), slice(_K, 2 * _K)
_ABOVE, _BELOW = slice(2 * _K, 2 * _K + _J), slice(2 * _K + _J, 2 * (_K + _J))
_SUMS = slice(2 * (_K + _J), 2 * (_K + _J) + 3)
_ROWS: Final = _SUMS.stop
_SIDES: Final[tuple[tuple[GapSide, tuple[slice, ...]], ...]] = (
    ("over", (_OVER,)),
    ("under", (_UNDER,)),
    ("well", (_ABOVE, _BELOW)),
)


class Stakes(NamedTuple):
    """The state after `size` first reviews: a column for each group, none for groups without a review.

    `totals` has logarithms of stakes, then the sums of outcome minus confidence, of its square, and of confidence.
    `supported_at` has a row for each of "over", "under" and "well": a number of reviews, 0 if not supported yet.
    """

    size: int
    retractions: int
    totals: Floats
    reviewed: Ints
    supported_at: Ints


class Grouping(NamedTuple):
    """How to group cells: the group of each cell (-1: not selected), and the number of groups.

    `since_us` and `until_us` bound the times at which decisions were made, in microseconds since 1970 UTC.
    """

    group: Numbers
    groups: int
    since_us: int
    until_us: int


class StakesKept:
    """The stakes of the selections that were asked for last, by key. Threads share it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Stakes] = {}

    def get(self, key: Hashable, order: ReviewOrder) -> Stakes:
        """Return the newest stakes that are a part of an order, or those before the first review."""
        kept = self._kept.get(key)
        if kept is None or kept.retractions != order.retractions or kept.size > order.size:
            return Stakes(0, order.retractions, np.zeros((_ROWS, 0)), np.zeros(0, np.int64), np.zeros((3, 0), np.int64))
        return kept

    def put(self, key: Hashable, stakes: Stakes) -> None:
        """Keep stakes, and drop the oldest ones that are too many."""
        self._kept.pop(key, None)
        self._kept[key] = stakes
        groups = 0
        for older, kept in reversed(list(self._kept.items())):
            groups += len(kept.reviewed)
            if groups > STAKES_KEPT_MAX:
                self._kept.pop(older, None)


def trace_stakes(order: ReviewOrder, grouping: Grouping, kept: StakesKept, key: Hashable, check: Check) -> Stakes:
    """Return the stakes of groups of decisions. What `kept` has under `key` is continued, and kept there again.

    `key` names the selection and the grouping. `check` is called between parts of the work.
    """
    stakes = _grown(kept.get(key, order), grouping.groups)
    if stakes.size < order.size:
        tables = _make_tables(order, order.size - stakes.size)
        while stakes.size < order.size:
            check()
            stakes = _add_reviews(stakes, order, grouping, tables, check)
        kept.put(key, stakes)
    return stakes


def evidence_of(stakes: Stakes, group: int) -> GapEvidence | None:
    """Return the evidence of a group by its number; None without a review."""
    if group >= len(stakes.reviewed) or not stakes.reviewed[group]:
        return None
    n, totals = int(stakes.reviewed[group]), stakes.totals[:, group]
    difference_sum, square_sum, confidence_sum = totals[_SUMS].tolist()
    at = stakes.supported_at[:, group].tolist()
    return GapEvidence(
        log_over=float(log_mean_exp(totals[_OVER])),
        log_under=float(log_mean_exp(totals[_UNDER])),
        gap_sequence=cut_interval(gap_sequence(n, difference_sum, square_sum), confidence_sum / n),
        supported_at={side: review for (side, _), review in zip(_SIDES, at, strict=True) if review},
    )


def count_new_reviews(order: ReviewOrder, kept: StakesKept, key: Hashable) -> int:
    """Return how many reviews `trace_stakes` would read."""
    return order.size - kept.get(key, order).size


def _grown(stakes: Stakes, groups: int) -> Stakes:
    """Return a copy of stakes with columns for new groups."""
    missing = max(0, groups - len(stakes.reviewed))
    return stakes._replace(
        totals=np.pad(stakes.totals, ((0, 0), (0, missing))),
        reviewed=np.pad(stakes.reviewed, (0, missing)),
        supported_at=np.pad(stakes.supported_at, ((0, 0), (0, missing))),
    )


Tables = Callable[[Block], tuple[Floats, Numbers]]
"""Returns a table of what each kind of review adds to the totals, and the column of the table of each review."""


def _make_tables(order: ReviewOrder, reviews: int) -> Tables:
    """Return the tables of blocks: one for all if that is less work than one for each."""
    if len(order.confidence) <= min(4 * reviews, 4 * BLOCK_REVIEWS):
        levels, level = np.unique(order.confidence, return_inverse=True)
        table = _additions(np.repeat(levels, VALUES_COUNT), np.tile(CODE_VALUES, len(levels)))
        return lambda block: (table, level[block.cell] * VALUES_COUNT + block.code)

    def tables(block: Block) -> tuple[Floats, Numbers]:
        codes, columns = np.unique(block.cell.astype(np.intp) * VALUES_COUNT + block.code, return_inverse=True)
        return _additions(order.confidence[codes // VALUES_COUNT], CODE_VALUES[codes % VALUES_COUNT]), columns

    return tables


def _additions(confidence: Floats, outcome: Floats) -> Floats:
    """Return what a review with each confidence and outcome adds to the totals."""
    difference = outcome - confidence
    return np.concatenate(
        [
            log_factors_over(confidence, outcome),
            log_factors_under(confidence, outcome),
            log_factors_above(difference),
            log_factors_above(-difference),
            [difference, difference**2, confidence],
        ]
    )


def _selected(order: ReviewOrder, grouping: Grouping, start: int, stop: int) -> tuple[Block, Numbers]:
    """Return the selected reviews of a block, from the numbers of two of its reviews, and their groups."""
    block = order.blocks[start // BLOCK_REVIEWS]
    inside = slice(start % BLOCK_REVIEWS, (stop - 1) % BLOCK_REVIEWS + 1)
    cell, code, time_us = block.cell[inside], block.code[inside], block.time_us[inside]
    group = grouping.group[cell]
    within = (time_us >= grouping.since_us) & (time_us <= grouping.until_us)
    places = np.flatnonzero((group >= 0) & ~np.isnan(CODE_VALUES[code]) & within)
    return Block(cell[places], code[places], time_us[places]), group[places]


def _add_reviews(stakes: Stakes, order: ReviewOrder, grouping: Grouping, tables: Tables, check: Check) -> Stakes:
    """Add the reviews up to the end of a block, in place."""
    stop = min(order.size, (stakes.size // BLOCK_REVIEWS + 1) * BLOCK_REVIEWS)
    block, group = _selected(order, grouping, stakes.size, stop)
    stakes = stakes._replace(size=stop)
    if not len(group):
        return stakes
    if grouping.groups > 1:
        by_group = np.argsort(group, kind="stable")
        block = Block(block.cell[by_group], block.code[by_group], block.time_us[by_group])
        group = group[by_group]
    table, columns = tables(block)
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    lengths = np.diff(np.append(starts, len(group)))
    present = group[starts]
    supported_at = stakes.supported_at
    for row, (_, parts) in enumerate(_SIDES):
        check()
        if (supported_at[row, present] == 0).any():
            hits = _hits([_running(table[part], columns, starts, stakes.totals[part][:, present]) for part in parts])
            first = hits[np.unique(group[hits], return_index=True)[1]]
            first = first[supported_at[row, group[first]] == 0]
            number = stakes.reviewed[group[first]] + first + 1
            number -= np.repeat(starts, lengths)[first]
            supported_at[row, group[first]] = number
    stakes.totals[:, present] += _sum_segments(table, columns, starts, lengths)
    stakes.reviewed[present] += lengths
    return stakes


def _running(table: Floats, columns: Numbers, starts: Numbers, before: Floats) -> Floats:
    """Return the logarithms of the stakes after each review of each segment. Shape: (stakes, reviews)."""
    sums = np.cumsum(np.take(table, columns, axis=1), axis=1)
    if len(starts) == 1:
        sums += before
        return np.asarray(sums)
    offsets = before - np.concatenate([np.zeros((len(table), 1)), sums[:, starts[1:] - 1]], axis=1)
    return np.asarray(sums + np.repeat(offsets, np.diff(np.append(starts, len(columns))), axis=1))


def _hits(running: list[Floats]) -> Numbers:
    """Return the places at which the mean of each of some sets of stakes is high enough for support."""
    places = np.flatnonzero(np.logical_and.reduce([logs.max(axis=0) >= LOG_SUPPORTED for logs in running]))
    for logs in running:
        places = places[log_mean_exp(logs[:, places]) >= LOG_SUPPORTED] if len(places) else places
    return places


def _sum_segments(table: Floats, columns: Numbers, starts: Numbers, lengths: Ints) -> Floats:
    """Return the sums of a table's columns over each segment. Shape: (rows, segments)."""
    if len(starts) == 1:
        n = np.bincount(columns, minlength=table.shape[1])
        used = np.flatnonzero(n)
        return np.asarray(table[:, used] @ n[used])[:, np.newaxis]
    return np.asarray(np.add.reduceat(np.take(table, columns, axis=1), starts, axis=1))


def newest_reviews(order: ReviewOrder, grouping: Grouping, check: Check) -> tuple[Floats, Numbers]:
    """Return outcome minus confidence of the newest selected reviews, and their groups, in the order of decisions."""
    parts: list[tuple[Block, Numbers]] = []
    found, stop = 0, order.size
    while stop > 0 and found < DEPENDENCE_REVIEWS:
        check()
        start = (stop - 1) // BLOCK_REVIEWS * BLOCK_REVIEWS
        parts.insert(0, _selected(order, grouping, start, stop))
        found += len(parts[0][1])
        stop = start
    if not found:
        return np.zeros(0), np.zeros(0, dtype=np.intp)
    newest = slice(-DEPENDENCE_REVIEWS, None)
    group = np.concatenate([numbers for _, numbers in parts])[newest]
    cell = np.concatenate([block.cell for block, _ in parts])[newest]
    code = np.concatenate([block.code for block, _ in parts])[newest]
    time_us = np.concatenate([block.time_us for block, _ in parts])[newest]
    difference = CODE_VALUES[code] - order.confidence[cell]
    if (time_us[1:] < time_us[:-1]).any():
        by_time = np.argsort(time_us, kind="stable")
        difference, group = difference[by_time], group[by_time]
    return difference, group


def estimate_dependence(difference: Floats, group: Numbers) -> dict[int, Dependence]:
    """Return the dependence of each group with enough reviews, given what `newest_reviews` returns."""
    numbers, places = np.unique(group, return_inverse=True)
    estimates = map(dependence_of, estimate_autocorrelation(difference, places, len(numbers)))
    return {number: one for number, one in zip(numbers.tolist(), estimates, strict=True) if one is not None}
