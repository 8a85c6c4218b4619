"""Missing reviews: do the reviewed decisions represent all of them, and how far could the rest change the gap?

A gap is known only for reviewed decisions. If an agent's failures are reviewed more often than its successes, or only
its easy decisions are reviewed, the gap of all its decisions is another. So this compares reviewed and unreviewed
decisions, weights the gap to represent all, and bounds it whatever the missing outcomes are.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.confidence_bins import REVIEWED_VALUES
from projections.calibration.count_table import Counts, CountTable
from projections.calibration.counted_columns import OPEN
from projections.calibration.reviewed_decisions import DatedDecisions
from projections.calibration.scores import TOLERANCE, stated_side
from projections.outcome_codes import OUTCOMES_COUNT, UNREVIEWED
from projections.query_check import Check, no_check
from projections.stats.distribution_difference import compare_distributions
from projections.stats.intervals import supports
from projections.stats.strata import (
    NO_STRATUM,
    Numbers,
    Observations,
    make_strata,
    quantile_bins,
    sum_by_number,
    weigh_strata,
    weighted_rate_interval,
)
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.missing_reviews import (
    Factor,
    MissingReviews,
    Reason,
    ReviewDifference,
    ReviewsByAge,
    TippingPoints,
    WeightedGap,
)
from tallystick.shapes.parts import Interval

DISTANCE_MIN = 0.10
"""Reviewed and unreviewed decisions differ if at least this share of one would have to be in other classes."""

DIFFERENCE_P = 0.005
"""And if the test that they are alike has a lower p value than this."""

UNREVIEWED_SHARE_MAX = 0.5
"""If a larger share of decisions is unreviewed, the verdict rests on the minority."""

STRATUM_REVIEWS_MIN = 3
"""The fewest reviews that represent decisions of a category, and of a range of confidence in it."""

STRATUM_SPAN_MAX = 0.2
"""A review represents no decision whose stated confidence differs by more than about this."""

CONFIDENCE_BINS_MAX = 20
"""The most ranges of confidence in a category."""

AGES = ("oldest quarter", "second quarter", "third quarter", "newest quarter")
"""Names of the four quarters of decisions by time."""

_TENTHS: Final = tuple(f"{i / 10:.1f}-{(i + 1) / 10:.1f}" for i in range(10))
_CATEGORY: Final = 1
"""The place of the category in a `GroupKey`."""


class ReviewCells(NamedTuple):
    """Cells of decisions with a stated confidence, as arrays of equal length.

    `category` is an index into `categories`, `age` one into AGES (None: not known), `counts` are by outcome.
    """

    categories: Sequence[str | None]
    category: Numbers
    confidence: Floats
    counts: Counts
    age: Numbers | None = None

    @property
    def total(self) -> Floats:
        """The number of decisions of each cell that are due."""
        return np.asarray(self.counts[:, :OUTCOMES_COUNT].sum(axis=1) + self.counts[:, OPEN:].sum(axis=1), np.float64)

    @property
    def unreviewed(self) -> Floats:
        """The number of decisions of each cell that are due and have no review."""
        return np.asarray(self.counts[:, UNREVIEWED] + self.counts[:, OPEN:].sum(axis=1), np.float64)


def review_cells(table: CountTable) -> ReviewCells:
    """Return the cells of a table that have a stated confidence and decisions that are due."""
    stated = ~np.isnan(table.confidence) & (
        table.counts[:, :OUTCOMES_COUNT].any(axis=1) | table.counts[:, OPEN:].any(axis=1)
    )
    group = table.group[stated]
    if len(table.columns):
        categories = list(table.values[_CATEGORY].numbers)
        category = table.columns[_CATEGORY][group].astype(np.intp)
    else:
        categories, category = [None], np.zeros(len(group), dtype=np.intp)
    return ReviewCells(categories, category, table.confidence[stated], table.counts[stated])


def age_cells(decisions: DatedDecisions, check: Check = no_check) -> ReviewCells:
    """Return the cells of decisions, divided into quarters by time. Decisions of one time are in one quarter."""
    ages, size = len(AGES), len(decisions.cell_category)
    if not len(decisions.cell):
        age = np.zeros(0, dtype=np.uint8)
    else:
        places = [len(decisions.cell) * number // ages for number in range(1, ages)]
        edges = np.partition(decisions.time_us, places)[places]
        check()
        age = np.zeros(len(decisions.cell), dtype=np.uint8)
        for edge in edges.tolist():
            age += decisions.time_us >= edge
    check()
    number = decisions.cell.astype(np.intp)
    for factor, added in ((ages, age), (OUTCOMES_COUNT, decisions.outcome)):
        number *= factor
        number += added
    check()
    counts = np.bincount(number, minlength=size * ages * OUTCOMES_COUNT).reshape(-1, OUTCOMES_COUNT)
    check()
    used = np.flatnonzero(counts.any(axis=1))
    cell = used // ages
    return ReviewCells(
        decisions.categories,
        decisions.cell_category[cell].astype(np.intp),
        decisions.cell_confidence[cell],
        counts[used],
        used % ages,
    )


def describe_missing_reviews(
    cells: ReviewCells,
    overall: CalibrationScores,
    tipping_points: TippingPoints | None = None,
    check: Check = no_check,
) -> MissingReviews | None:
    """Compare reviewed and unreviewed decisions, and bound the gap of all; None if every decision is reviewed."""
    total, unreviewed = cells.total, cells.unreviewed
    decisions, missing = float(total.sum()), float(unreviewed.sum())
    if missing <= 0 or missing >= decisions:
        return None
    check()
    compared = (_by_confidence(cells), _compare("category", cells, cells.category, cells.categories))
    differences = [difference for difference in compared if difference is not None]
    check()
    mostly: list[Reason] = ["mostly_unreviewed"] if missing > UNREVIEWED_SHARE_MAX * decisions else []
    reasons: list[Reason] = [*mostly, *(difference.by for difference in differences if difference.differs)]
    bounds = gap_bounds(cells)
    qualified = bool(reasons) and not supports(stated_side(overall), bounds)
    found = MissingReviews(
        unreviewed=int(missing),
        total=int(decisions),
        mean_confidence_reviewed=float(cells.confidence @ (total - unreviewed)) / (decisions - missing),
        mean_confidence_unreviewed=float(cells.confidence @ unreviewed) / missing,
        qualified=qualified,
        reasons=tuple(reasons),
        differences=tuple(differences),
        weighted_gap=weigh_gap(cells, check),
        gap_bounds=bounds,
        tipping_points=tipping_points,
        message=None,
    )
    return structs.replace(found, message=_message(found)) if qualified else found


def compare_ages(decisions: DatedDecisions, check: Check = no_check) -> ReviewsByAge:
    """Compare the ages of reviewed and unreviewed decisions, and weight the gap by age where that is possible."""
    cells = age_cells(decisions, check)
    assert cells.age is not None
    difference = _compare("age", cells, cells.age, AGES)
    check()
    return ReviewsByAge(difference=difference, weighted_gap=weigh_gap(cells, check))


def gap_bounds(cells: ReviewCells) -> Interval:
    """Return the lowest and highest gap that all decisions of cells can have, whatever the missing outcomes are."""
    total, missing = float(cells.total.sum()), float(cells.unreviewed.sum())
    outcomes, stated = float(_outcome_sums(cells).sum()), float(cells.confidence @ cells.total)
    return Interval((outcomes - stated) / total, (outcomes + missing - stated) / total)


def weigh_gap(cells: ReviewCells, check: Check = no_check) -> WeightedGap | None:
    """Return the gap of reviewed decisions, weighted to represent all; None if no category has enough reviews.

    Strata are a category and a range of confidence; and an age in categories in which each age that has decisions has
    enough reviews. Within a stratum the weight of a review is the number of decisions over the number of reviews.
    """
    total = cells.total
    reviewed = total - cells.unreviewed
    strata, aged = review_strata(cells)
    check()
    inside = strata != NO_STRATUM
    strata, outcomes = strata[inside], _outcome_sums(cells)[inside]
    stated = (cells.confidence * reviewed)[inside]
    weights = weigh_strata(sum_by_number(strata, total[inside]), sum_by_number(strata, reviewed[inside]))
    if weights is None:
        return None
    rate, mean_stated = float(weights.weight[strata] @ outcomes), float(weights.weight[strata] @ stated)
    interval = weighted_rate_interval(rate, weights.effective_n)
    return WeightedGap(
        gap=rate - mean_stated,
        interval=Interval(interval.low - mean_stated, interval.high - mean_stated),
        represented=weights.represented / float(total.sum()),
        effective_reviews=weights.effective_n,
        by=("category", "confidence", "age") if aged else ("category", "confidence"),
    )


def review_strata(cells: ReviewCells) -> tuple[Numbers, bool]:
    """Return the stratum of each cell, NO_STRATUM where nothing reviewed is like it; and whether ages are used."""
    total = cells.total
    unit, aged = _weighting_units(cells, total - cells.unreviewed)
    number = quantile_bins(cells.confidence, total, CONFIDENCE_BINS_MAX)
    bin_value = sum_by_number(number, cells.confidence * total) / sum_by_number(number, total)
    observations = Observations(unit, number, total - cells.unreviewed, bin_value)
    return make_strata(observations, STRATUM_REVIEWS_MIN, STRATUM_SPAN_MAX), aged


def _weighting_units(cells: ReviewCells, reviewed: Floats) -> tuple[Numbers, bool]:
    """Return the unit of each cell: its category, and its age where that can be weighted; and whether one can be."""
    if cells.age is None or not len(cells.age):
        return cells.category, False
    ages = len(AGES)
    number = cells.category * ages + cells.age
    size = (int(cells.category.max()) + 1) * ages
    decisions = sum_by_number(number, cells.total, size).reshape(-1, ages)
    reviews = sum_by_number(number, reviewed, size).reshape(-1, ages)
    weighted = ((reviews >= STRATUM_REVIEWS_MIN) | (decisions == 0)).all(axis=1) & (decisions.sum(axis=1) > 0)
    return np.where(weighted[cells.category], number, cells.category * ages), bool(weighted.any())


def _outcome_sums(cells: ReviewCells) -> Floats:
    """Return the sum of the known outcomes of each cell."""
    sums: Floats = cells.counts[:, UNREVIEWED + 1 : OUTCOMES_COUNT] @ REVIEWED_VALUES
    return sums


def _by_confidence(cells: ReviewCells) -> ReviewDifference | None:
    tenth = np.clip(np.floor((cells.confidence + TOLERANCE) * len(_TENTHS)), 0, len(_TENTHS) - 1).astype(np.intp)
    return _compare("confidence", cells, tenth, _TENTHS)


def _compare(
    factor: Factor, cells: ReviewCells, number: Numbers, names: Sequence[str | None]
) -> ReviewDifference | None:
    """Compare reviewed and unreviewed decisions by class: `number` is an index into `names` for each cell."""
    unreviewed = sum_by_number(number, cells.unreviewed, len(names))
    reviewed = sum_by_number(number, cells.total - cells.unreviewed, len(names))
    found = compare_distributions(reviewed, unreviewed)
    if found is None:
        return None
    shares = reviewed / reviewed.sum(), unreviewed / unreviewed.sum()
    # of two classes that differ alike, the one with more unreviewed decisions is named
    most = int(np.argmax(np.abs(shares[0] - shares[1]) + TOLERANCE * shares[1]))
    return ReviewDifference(
        by=factor,
        distance=found.distance,
        p=found.p,
        differs=found.distance >= DISTANCE_MIN and found.p is not None and found.p < DIFFERENCE_P,
        most=names[most],
        reviewed_share=float(shares[0][most]),
        unreviewed_share=float(shares[1][most]),
    )


def _message(found: MissingReviews) -> str:
    """Say which decisions the verdict holds for, how the others differ, and what gap they leave possible."""
    reviewed = found.total - found.unreviewed
    first = f"This verdict holds for the reviewed decisions only: {reviewed:,} of {found.total:,} with a confidence."
    sentences = [
        first,
        *(_difference_sentence(found, difference) for difference in found.differences if difference.differs),
    ]
    weighted, bounds = found.weighted_gap, found.gap_bounds
    if weighted is not None:
        interval = f"({_signed(weighted.interval.low)} to {_signed(weighted.interval.high)})"
        alone = weighted.represented < 1 - TOLERANCE
        whole = f"the {weighted.represented:.1%} that are like them" if alone else "all decisions"
        rest = "; the others are like no reviewed decision" if alone else ""
        sentences.append(f"Weighted to represent {whole}, the gap is {_signed(weighted.gap)} {interval}{rest}.")
    sentences.append(
        f"Depending on the missing outcomes, the gap of all is between {_signed(bounds.low)} and "
        f"{_signed(bounds.high)}."
    )
    return " ".join(sentences)


def _difference_sentence(found: MissingReviews, difference: ReviewDifference) -> str:
    if difference.by == "confidence":
        return (
            f"The stated confidence differs: {found.mean_confidence_reviewed:.0%} on average if reviewed, "
            f"{found.mean_confidence_unreviewed:.0%} if not."
        )
    name = "no category" if difference.most is None else f"category {difference.most}"
    return (
        f"The categories differ: {name} has {difference.reviewed_share:.0%} of the reviewed and "
        f"{difference.unreviewed_share:.0%} of the unreviewed decisions."
    )


def _signed(value: float) -> str:
    """Return a gap with its sign and two decimals; 0.00 has no sign."""
    rounded = round(value, 2)
    return f"{rounded:+.2f}" if rounded else "0.00"
