"""Support of verdicts on several rows at once: categories, agents or buckets of one table.

Of twenty calibrated categories, one is outside its own 95% interval by chance. So a verdict on a row is supported only
if the false discovery rate over all rows of its table is at most 5%: in calibrated tables at most one of twenty has a
supported gap. "Well calibrated" is corrected separately, because rows that are surely good would otherwise make it
easier to call others off.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.scores import TOLERANCE, WELL_CALIBRATED_BELOW, Bucket, Verdict, gap_side
from projections.query_check import Check, no_check
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE, benjamini_hochberg
from projections.stats.gap_tests import gap_p_values, margin_p_values, reviews_at_level

Adjust = Callable[[Floats], Floats]
"""`benjamini_hochberg` for p values, `e_bh` for e values: returns levels at which hypotheses are rejected."""

TESTED_AT_ONCE = 1_000
"""Rows that are tested between two calls of `check`: a few milliseconds."""

Sides = npt.NDArray[np.str_]
"""The `GapSide` of the verdict on each row."""


class RowMeans(msgspec.Struct, frozen=True):
    """The number of reviews, mean outcome and mean stated confidence of every row of a table, as arrays."""

    n: Floats
    accuracy: Floats
    mean_confidence: Floats

    @property
    def gap(self) -> Floats:
        """Mean outcome minus mean stated confidence."""
        return self.accuracy - self.mean_confidence


class RowSupport(msgspec.Struct, frozen=True):
    """Whether the verdict on each row is supported, and the level that its p value must reach to become so."""

    supported: npt.NDArray[np.bool_]
    level: Floats


def support_rows(sides: Sides, means: RowMeans, check: Check = no_check) -> RowSupport:
    """Return the support of the verdicts on all rows of a table, from p values at one look."""
    off, within = np.ones(len(sides)), np.ones(len(sides))
    for start in range(0, len(sides), TESTED_AT_ONCE):
        part = slice(start, start + TESTED_AT_ONCE)
        tested = means.accuracy[part] * means.n[part], means.n[part], means.mean_confidence[part]
        off[part], within[part] = gap_p_values(*tested), margin_p_values(*tested)
        check()
    return select_rows(sides, means.gap, off, within)


def select_rows(
    sides: Sides, gap: Floats, off: Floats, within: Floats, adjust: Adjust = benjamini_hochberg
) -> RowSupport:
    """Return the support of verdicts, given the evidence of every row of a table.

    `off` has the p or e values of the hypotheses that gaps are 0, `within` those that gaps are outside the margin.
    `adjust` fits them. A gap supports a verdict on its own side only.
    """
    is_off, is_within = (adjust(values) <= FALSE_DISCOVERY_RATE for values in (off, within))
    well = sides == "well"
    same_side = ((sides == "over") & (gap < 0)) | ((sides == "under") & (gap > 0))
    rank = np.minimum(np.where(well, is_within.sum(), is_off.sum()) + 1, len(gap))
    supported = np.where(well, is_within, is_off & same_side).astype(bool)
    return RowSupport(supported, FALSE_DISCOVERY_RATE * rank / max(1, len(gap)))


def gap_sides(gap: Floats) -> Sides:
    """Return the sides of the verdicts on gaps, as `judge_gap` gives them."""
    off = np.where(gap < 0, "over", "under")
    return np.where(np.abs(gap) < WELL_CALIBRATED_BELOW - TOLERANCE, "well", off)


def reviews_to_support(verdict: Verdict, n: int, accuracy: float, mean_confidence: float, level: float) -> int | None:
    """Return about how many more reviews would support a verdict that only its own interval confirms; None if none."""
    test = margin_p_values if gap_side(verdict) == "well" else gap_p_values
    return reviews_at_level(test, accuracy, n, mean_confidence, level)


def support_buckets(buckets: Sequence[Bucket]) -> list[Bucket]:
    """Return buckets of which only those are supported whose verdict the table supports too."""
    means = RowMeans(
        np.array([float(bucket.decisions) for bucket in buckets]),
        np.array([bucket.success_rate for bucket in buckets]),
        np.array([bucket.mean_confidence for bucket in buckets]),
    )
    support = support_rows(np.array([gap_side(bucket.interpretation) for bucket in buckets]), means)
    rows = []
    for bucket, supported, level in zip(buckets, support.supported.tolist(), support.level.tolist(), strict=True):
        if bucket.supported and not supported:
            needed = reviews_to_support(
                bucket.interpretation, bucket.decisions, bucket.success_rate, bucket.mean_confidence, level
            )
            rows.append(structs.replace(bucket, supported=False, reviews_needed=needed))
        else:
            rows.append(bucket)
    return rows
