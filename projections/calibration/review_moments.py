"""Moments of reviewed decisions: which of them were made one after another, and which have no time of their own?

Rows that are imported without times get the time of their import: up to 500 decisions share one, and the next come
milliseconds later. Their order is that of the file. Decisions less than MOMENT_US apart are therefore one moment, and
no change is searched for within it. A moment with many of all reviews is left out, because nothing says when its
decisions were made, and a difference between it and others would be dated at the import.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Ints

MOMENT_US: Final = 1_000_000
"""Decisions that follow each other in less than this time belong to one moment."""

MOMENTS_MIN = 10
"""Moments required to look for a change."""

SHARED_MIN = 30
"""A moment with at most this many reviews is used."""

SHARE_MAX = 0.1
"""A moment with more than SHARED_MIN reviews is used if it has at most this share of all reviews."""


def number_moments(time_us: Ints) -> npt.NDArray[np.int32]:
    """Return the number of each decision's moment, from 0. Times ascend."""
    moment = np.zeros(len(time_us), dtype=np.int32)
    np.cumsum(np.diff(time_us) >= MOMENT_US, out=moment[1:])
    return moment


def find_dated(moment: AnyInts) -> npt.NDArray[np.bool_]:
    """Return which decisions belong to moments that are used. The shares are of the reviews that are used."""
    reviewed = np.bincount(moment)
    if reviewed.max(initial=0) <= SHARED_MIN:
        return np.ones(len(moment), dtype=bool)
    used = np.ones(len(reviewed), dtype=bool)
    while True:
        large = used & (reviewed > max(SHARED_MIN, SHARE_MAX * float(reviewed[used].sum())))
        if not large.any():
            return used[moment]
        used &= ~large
