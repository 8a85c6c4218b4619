"""The decisions in the order of their first review, each with the outcome of that review.

Evidence that holds at every look (`projections/stats/gap_martingale.py`) needs this order: it must not depend on the
outcomes, and a later review of the same decision must not change bets that were already settled.
"""

from array import array
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, RowNumbers
from projections.calibration.span_counts import CountColumns
from projections.columns import as_array
from projections.decisions.stated_texts import StatedTexts
from projections.outcome_codes import RETRACTED, UNREVIEWED

BLOCK_REVIEWS: Final = 8_192
"""Number of first reviews in a block."""

VALUES_COUNT: Final = 4
"""Codes of a cell: a code is its number times this, plus the place of the outcome in CODE_VALUES."""

CODE_VALUES: Final = np.array([1.0, 0.5, 0.0, np.nan])
"""The values of outcomes; the last is that of a retracted decision."""

_RETRACTED_CODE = 3

_code_of_outcome = np.array([_RETRACTED_CODE, 0, 1, 2, 2, _RETRACTED_CODE], dtype=np.uint8)


class Block(NamedTuple):
    """Consecutive first reviews: the cell of each decision, the code of its outcome, when it was made, its cluster.

    The cluster is a number, or -1 if the decision names none.
    """

    cell: npt.NDArray[np.uint32]
    code: npt.NDArray[np.uint8]
    time_us: Ints
    cluster: Ints

    def take(self, places: RowNumbers | slice) -> "Block":
        """Return the reviews at some places."""
        return Block(self.cell[places], self.code[places], self.time_us[places], self.cluster[places])


class ReviewOrder(NamedTuple):
    """The first reviews at one moment, in order, in blocks of BLOCK_REVIEWS. Later folding does not change them.

    `confidence` is that of each cell (NaN: none). Two orders with equal `retractions` begin alike. `clustered` says
    whether any decision of the ledger names a cluster.
    """

    blocks: list[Block]
    size: int
    retractions: int
    confidence: Floats
    clustered: bool


class FirstReviews:
    """The row numbers of reviewed decisions in the order of first review, and the outcomes of these reviews."""

    def __init__(self) -> None:
        self.row = array("I")
        self.outcome = bytearray()
        self._retractions = 0
        self._blocks: dict[int, Block] = {}

    def add(self, rows: Ints, old: Ints, new: Ints) -> None:
        """Add first reviews, given the row numbers of changed decisions and their outcomes before and after.

        After a retraction, what was computed from the decision is dropped.
        """
        first = np.flatnonzero((old == UNREVIEWED) & (new != UNREVIEWED) & (new != RETRACTED))
        self.row.frombytes(rows[first].astype(np.uint32).tobytes())
        self.outcome.extend(new[first].astype(np.uint8).tobytes())
        retracted = rows[new == RETRACTED].astype(np.uint32)
        if len(retracted) and self._blocks:
            places = np.flatnonzero(np.isin(as_array(self.row, np.uint32), retracted))
            for number in np.unique(places // BLOCK_REVIEWS).tolist():
                self._blocks.pop(number * BLOCK_REVIEWS, None)
            self._retractions += len(places)

    def order(self, columns: CountColumns, clusters: StatedTexts, confidence: Floats) -> ReviewOrder:
        """Return the first reviews, given the columns and clusters of all decisions and the confidence of each cell."""
        blocks = [self._block(start, columns, clusters) for start in range(0, len(self.row), BLOCK_REVIEWS)]
        return ReviewOrder(blocks, len(self.row), self._retractions, confidence, bool(clusters.texts))

    def _block(self, start: int, columns: CountColumns, clusters: StatedTexts) -> Block:
        block = self._blocks.get(start)
        if block is None or len(block.cell) < min(BLOCK_REVIEWS, len(self.row) - start):
            rows = as_array(self.row, np.uint32)[start : start + BLOCK_REVIEWS]
            code = _code_of_outcome[as_array(self.outcome, np.uint8)[start : start + BLOCK_REVIEWS]]
            code[columns.outcome[rows] == RETRACTED] = _RETRACTED_CODE
            cluster = clusters.numbers_of(rows)
            block = self._blocks[start] = Block(columns.cell[rows], code, columns.time_us[rows], cluster)
        return block
