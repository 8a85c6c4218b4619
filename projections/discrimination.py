"""Whether the scores of a probe tell models apart at all: pairs of answers, and whether their scores differ.

Two scores are told apart where they differ by TELLING or more. A scorer that gives everybody the same tells no pair
apart; one that throws dice tells the answers of one model apart as often as those of two, and is worth as little.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

TELLING = 0.05
"""A smaller difference of two scores says nothing. Source: a fifth of the least weight in the total of refactor."""

GRAIN = 1_000_000
"""Scores are compared as whole millionths, so that 0.85 and 0.8 differ by as much as they seem to."""

Grains = npt.NDArray[np.int64]


class Discrimination(msgspec.Struct, frozen=True, kw_only=True):
    """How well scores tell models apart, 0..1 each, but for `discrimination`, which noise can bring below 0."""

    between: float | None
    """Share of pairs of answers of different models whose scores differ; None where there is no such pair."""
    within: float | None
    """The same share of pairs of answers of one model: noise; None where no model answered twice."""
    discrimination: float | None
    """The first less the second, which counts nothing where it is not known."""


def discriminate(groups: Iterable[Sequence[float]]) -> Discrimination:
    """The figure of scores in 0..1, those of one model a group. Takes O(n log n) for n scores, in any order."""
    grains = [np.sort(np.rint(np.array(group, dtype=float) * GRAIN).astype(np.int64)) for group in groups]
    every = np.sort(np.concatenate(grains)) if grains else np.empty(0, dtype=np.int64)
    alike_within = sum(map(_alike, grains))
    pairs_within = sum(map(_pairs, grains))
    pairs_between = _pairs(every) - pairs_within
    between = _share(_alike(every) - alike_within, pairs_between)
    within = _share(alike_within, pairs_within)
    return Discrimination(
        between=between, within=within, discrimination=None if between is None else between - (within or 0.0)
    )


def _pairs(grains: Grains) -> int:
    return len(grains) * (len(grains) - 1) // 2


def _alike(grains: Grains) -> int:
    """Pairs of sorted scores that are not told apart."""
    first = np.searchsorted(grains, grains - round(TELLING * GRAIN), side="right")
    return int((np.arange(len(grains)) - first).sum())


def _share(alike: int, pairs: int) -> float | None:
    return None if pairs == 0 else 1.0 - alike / pairs
