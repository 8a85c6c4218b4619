"""Wisdom: what the oldest reviewed decisions of a category come to together, and the patterns that they share.

A decision counts here at the compaction level `wisdom` (`projections/decisions/compaction.py`).
"""

from datetime import datetime
from typing import NamedTuple

import numpy as np

from projections.arrays import RowNumbers
from projections.calibration.calibration import Calibration
from projections.calibration.counted_decisions import DecisionRows
from projections.decisions.compaction import LevelFilter
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOME_VALUES
from projections.time_range import TimeRange

PRINCIPLES_MAX = 5
"""Patterns of a category, the most frequent first."""

CONFIRMATIONS_MIN = 2
"""Decisions that a pattern needs to be a principle."""

_FAILED = (OUTCOME_NUMBERS["failure"], OUTCOME_NUMBERS["partial"])


class CategoryWisdom(NamedTuple):
    """The reviewed decisions of a category.

    `success_rate` is the share of `success`. The means leave out decisions without a confidence; it is the one stated
    before the first review. `principles` are the row numbers of each frequent pattern, `failures` those of the pattern
    that most decisions with the outcome `failure` or `partial` have.
    """

    category: str
    decisions: int
    success_rate: float
    mean_confidence: float | None
    brier_score: float | None
    principles: list[RowNumbers]
    failures: RowNumbers | None


def collect_wisdom(
    index: DecisionIndex, calibration: Calibration, category: str | None, decisions_min: int, now: datetime
) -> list[CategoryWisdom]:
    """Return the wisdom of each category with enough decisions, by its name."""
    aged = LevelFilter(levels=("wisdom",), now=now)
    rows = index.find(DecisionSelection(category=category, compaction=aged))
    reviews = calibration.cells.rows((None, category, None, None, None), TimeRange())
    return [
        _category_wisdom(index, reviews, name, group)
        for name, group in index.rows_by_category(rows)
        if len(group) >= decisions_min
    ]


def _category_wisdom(index: DecisionIndex, reviews: DecisionRows, category: str, rows: RowNumbers) -> CategoryWisdom:
    places = np.searchsorted(reviews.number, rows)
    confidence, outcome = reviews.confidence[places], reviews.outcome[places]
    stated = ~np.isnan(confidence)
    errors = confidence[stated] - OUTCOME_VALUES[outcome[stated]]
    _, principles = index.shared_patterns(rows, PRINCIPLES_MAX, CONFIRMATIONS_MIN)
    _, failures = index.shared_patterns(rows[np.isin(outcome, _FAILED)], 1, 1)
    return CategoryWisdom(
        category=category,
        decisions=len(rows),
        success_rate=float((outcome == OUTCOME_NUMBERS["success"]).mean()),
        mean_confidence=float(confidence[stated].mean()) if stated.any() else None,
        brier_score=float((errors**2).mean()) if stated.any() else None,
        principles=principles,
        failures=failures[0] if failures else None,
    )
