"""Support of verdicts on several rows at once: categories, agents or buckets of one table.

Of twenty calibrated categories one may be surely off by chance, if each is judged alone. So a verdict on a row is
supported only if the false discovery rate over all rows of its table is at most 5%: in calibrated tables at most one of
twenty ever has a supported gap, however often one looks. "Well calibrated" is corrected separately, because rows that
are surely good would otherwise make it easier to call others off.

Source: Wang and Ramdas, "False discovery rate control with e-values", JRSSB 2022.
"""

from collections.abc import Sequence
from math import ceil

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.row_evidence import RowEvidence
from projections.calibration.scores import TOLERANCE, WELL_CALIBRATED_BELOW
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE, e_bh
from projections.stats.gap_martingale import LOG_E_VALUE_MAX
from tallystick.shapes.calibration import Bucket

Sides = npt.NDArray[np.str_]
"""The `GapSide` of the verdict on each row."""


class RowSupport(msgspec.Struct, frozen=True):
    """Whether the verdict on each row is supported, the logarithm of its e-value, and the one that it needs.

    `surely_off` says whether its gap is surely not 0, whatever the verdict.
    """

    supported: npt.NDArray[np.bool_]
    surely_off: npt.NDArray[np.bool_]
    log_e: Floats
    log_needed: Floats

    def reviews_needed(self, place: int, n: int) -> int | None:
        """Return about how many more reviews would support the verdict on a row with n of them; None if none would.

        The logarithm of an e-value grows about in proportion to the number of reviews.
        """
        log_e = float(self.log_e[place])
        if log_e <= 0:
            return None
        return max(1, ceil(n * (float(self.log_needed[place]) / log_e - 1)))


def support_rows(gap: Floats, evidence: RowEvidence) -> RowSupport:
    """Return the support of the verdicts on all rows of a table. A gap supports a verdict on its own side only."""
    is_off, is_within = (
        e_bh(np.exp(np.minimum(logs, LOG_E_VALUE_MAX))) <= FALSE_DISCOVERY_RATE
        for logs in (evidence.off, evidence.within)
    )
    well = gap_sides(gap) == "well"
    # the e-value that one more supported row would need: it is lower the more rows are supported
    rank = np.minimum(np.where(well, is_within.sum(), is_off.sum()) + 1, len(gap))
    return RowSupport(
        np.where(well, is_within, is_off),
        is_off,
        np.where(well, evidence.within, evidence.off),
        np.log(max(1, len(gap)) / (FALSE_DISCOVERY_RATE * np.maximum(1, rank))),
    )


def gap_sides(gap: Floats) -> Sides:
    """Return the sides of the verdicts on gaps, as `judge_gap` gives them."""
    off = np.where(gap < 0, "over", "under")
    return np.where(np.abs(gap) < WELL_CALIBRATED_BELOW - TOLERANCE, "well", off)


def support_buckets(buckets: Sequence[Bucket], evidence: RowEvidence) -> list[Bucket]:
    """Return buckets of which only those are supported whose verdict the table supports too."""
    support = support_rows(np.array([bucket.stated_gap for bucket in buckets]), evidence)
    return [
        structs.replace(
            bucket,
            supported=False,
            reviews_needed=support.reviews_needed(place, bucket.decisions),
            unsure_because="many_rows",
        )
        if bucket.supported and not support.supported[place]
        else bucket
        for place, bucket in enumerate(buckets)
    ]
