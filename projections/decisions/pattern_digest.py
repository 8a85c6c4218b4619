"""Digests of patterns, to find decisions with the same one."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers, split_runs


def pattern_digest(pattern: str) -> int:
    """Return a number 1..2**64-1 for a pattern. Two patterns have the same one with probability 2**-64."""
    return int.from_bytes(blake2b(pattern.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1


def group_patterns(
    digests: npt.NDArray[np.uint64], rows: RowNumbers, limit: int, least: int
) -> tuple[int, list[RowNumbers]]:
    """Count the patterns that at least `least` decisions have, given the digest and the row number of each decision.

    Return that count, and the row numbers of the decisions of each of the `limit` most frequent patterns.
    """
    order = np.argsort(digests, kind="stable")
    rows = rows[order]
    starts, counts = split_runs(digests[order])
    shared = np.flatnonzero(counts >= least)
    ranked = shared[np.lexsort((rows[starts[shared]], -counts[shared]))][:limit]
    return len(shared), [rows[starts[number] : starts[number] + counts[number]] for number in ranked]
