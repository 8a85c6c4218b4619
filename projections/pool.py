"""Reviewed decisions pooled by stated confidence: all that the scores need to know of them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.cells import Counts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WORTH = np.array([1.0, 0.5, 0.0, 0.0])
"""What an outcome counts: success, partial, failure, abandoned."""


class Pool(NamedTuple):
    """One row a stated confidence, ascending; only what is reviewed and has a confidence.

    `outcomes` counts success, partial, failure and abandoned, a column each; `n` is their sum, `worth` the sum of o.
    """

    confidence: Floats
    outcomes: Ints
    n: Floats
    worth: Floats

    @property
    def reviewed(self) -> int:
        """How many decisions these are."""
        return int(self.outcomes.sum())

    @property
    def total_worth(self) -> float:
        """Sum of o, exact: halves add without rounding."""
        return float(self.worth.sum())

    @property
    def mean_confidence(self) -> float:
        """Mean stated confidence; of at least one decision."""
        return float((self.confidence * self.n).sum()) / self.reviewed

    @property
    def rate(self) -> Floats:
        """Mean outcome at each stated confidence."""
        return self.worth / self.n


def pool(confidence: Floats, counts: Counts) -> Pool:
    """Pool cells: stated confidences (NaN: none), and counts by outcome, the unreviewed first."""
    kept = ~np.isnan(confidence) & (counts[:, 1:].sum(axis=1) > 0)
    values, place = np.unique(confidence[kept] + 0.0, return_inverse=True)  # which turns -0.0 into 0.0
    outcomes = np.zeros((len(values), len(WORTH)), dtype=np.int64)
    np.add.at(outcomes, place, counts[kept, 1:])
    return pooled(values, outcomes)


def pooled(confidence: Floats, outcomes: Ints) -> Pool:
    """A pool of ascending, distinct confidences and their outcomes."""
    return Pool(confidence, outcomes, outcomes.sum(axis=1).astype(np.float64), outcomes @ WORTH)
