"""A one-sided exact test that a second sample passes less often than a first one, over strata of attempts.

A stratum is a scenario: n attempts before, of which some pass, and m now. If nothing has changed, and attempts at a
scenario do not depend on each other, each way to deal the observed results to the n and m attempts is as probable as
any other (Fisher 1935). So the failures now have a hypergeometric distribution in each scenario; with one attempt on
each side, the sign of the change is flipped at random. The statistic is the sum over scenarios of the squared change of
the pass rate, with its sign: a loss of half of the attempts at one scenario counts as much as a loss of a tenth at 25.
The p value is the probability of a sum at least as large, computed from the product of the scenarios' characteristic
functions.

Squares find losses in few scenarios, which a sum of changes misses, and losses in all of them nearly as well.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import comb, lcm
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints

P_MIN = 1e-12
"""The smallest p value that is computed; smaller ones are given as this."""

_UNITS_MAX = 10_000
"""The squared change of a rate is rounded to a multiple of 1 / units. Up to 100 attempts no rounding is needed."""

_GRID_MAX = 1 << 22
_CELLS_MAX = 1 << 21
"""Limits of the size of a distribution, and of the distributions that are computed at a time, in numbers."""


class Strata(NamedTuple):
    """The numbers of attempts and of passes, before and now. Shapes: all the same; the last axis has the strata."""

    attempts_before: Ints
    passed_before: Ints
    attempts_now: Ints
    passed_now: Ints


class _Laws(NamedTuple):
    """The different distributions of a change, as rows (attempts before, attempts now, failures of both)."""

    rows: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    """The row of each stratum. Shape: that of the strata."""


def loss_p_value(strata: Strata) -> float:
    """Return the p value of one comparison. Shapes: one axis, with 1 or more strata of 1 or more attempts each."""
    return float(loss_p_values(Strata(*(column[np.newaxis] for column in strata)))[0])


def least_p_value(attempts: Iterable[tuple[int, int]]) -> float:
    """Return the p value if every attempt passed before and none passes now, given the numbers of each stratum."""
    product = 1.0
    for before, now in attempts:
        product /= comb(before + now, now)
    return product


def loss_p_values(strata: Strata, grid_max: int = _GRID_MAX) -> Floats:
    """Return the p values of many comparisons. Shapes: (comparisons, strata), at least 1 each; answer: (comparisons).

    A smaller `grid_max` is faster, and rounds the squared changes of large numbers of attempts more coarsely.
    """
    count, width = strata.attempts_before.shape
    units = _units(strata, max(1, grid_max // (4 * width)))
    # totals are -units * width to units * width: a shorter transform would add one end of them to the other
    size = 1 << (2 * units * width + 1).bit_length()
    laws = _laws(strata)
    transforms = np.stack([_transform(*law, units, size) for law in laws.rows.tolist()])
    multiplicities = np.zeros((count, len(laws.rows)))
    np.add.at(multiplicities, (np.arange(count)[:, np.newaxis], laws.numbers), 1.0)
    totals = np.rint(units * _changes(strata)).astype(np.int64).sum(axis=1)
    answer = np.empty(count)
    step = max(1, _CELLS_MAX // size)
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        chances = np.fft.irfft(np.exp(multiplicities[part] @ transforms), size, axis=1)
        ascending = np.roll(chances, units * width, axis=1)[:, : 2 * units * width + 1]
        tails = np.cumsum(ascending[:, ::-1], axis=1)
        answer[part] = np.take_along_axis(tails, (units * width - totals[part])[:, np.newaxis], axis=1)[:, 0]
    return np.clip(answer, P_MIN, 1.0)


def loss_moments(strata: Strata) -> tuple[Floats, Floats, Floats]:
    """Return the statistic, its mean and its variance if nothing has changed. Shapes: as of `loss_p_values`."""
    laws = _laws(strata)
    moments = []
    for before, now, failed in laws.rows.tolist():
        changes, chances = _law(before, now, failed)
        mean = float(chances @ changes)
        moments.append((mean, float(chances @ changes**2) - mean**2))
    means, variances = np.array(moments).T
    return _changes(strata).sum(axis=1), means[laws.numbers].sum(axis=1), variances[laws.numbers].sum(axis=1)


def _laws(strata: Strata) -> _Laws:
    failed = strata.attempts_before - strata.passed_before + strata.attempts_now - strata.passed_now
    named = np.stack([strata.attempts_before, strata.attempts_now, failed], axis=-1).reshape(-1, 3)
    rows, numbers = np.unique(named, axis=0, return_inverse=True)
    return _Laws(rows, numbers.reshape(failed.shape))


def _units(strata: Strata, limit: int) -> int:
    """Return how many units the loss of all attempts has: enough that no loss is rounded, if the limits allow."""
    needed = 1
    for number in np.unique(np.concatenate([strata.attempts_before, strata.attempts_now], axis=None)).tolist():
        needed = lcm(needed, number)
        if needed * needed >= _UNITS_MAX:
            break
    return min(needed * needed, _UNITS_MAX, limit)


def _changes(strata: Strata) -> Floats:
    """Return the squared losses of the pass rates, with their signs."""
    lost = strata.passed_before / strata.attempts_before - strata.passed_now / strata.attempts_now
    return np.asarray(np.sign(lost) * lost**2, dtype=np.float64)


@lru_cache(maxsize=4096)
def _law(before: int, now: int, failed: int) -> tuple[Floats, Floats]:
    """Return the possible changes of one stratum, and their chances, if `failed` of all attempts failed."""
    numbers = range(max(0, failed - before), min(now, failed) + 1)
    ways = [comb(now, number) * comb(before, failed - number) for number in numbers]
    total = comb(before + now, failed)
    failed_now = np.array(numbers, dtype=np.int64)
    sizes = Strata(np.array(before), before - failed + failed_now, np.array(now), now - failed_now)
    return _changes(sizes), np.array([way / total for way in ways])


@lru_cache(maxsize=256)
def _transform(before: int, now: int, failed: int, units: int, size: int) -> npt.NDArray[np.complex128]:
    """Return the logarithm of the discrete Fourier transform of the distribution of one stratum's change."""
    changes, chances = _law(before, now, failed)
    distribution = np.zeros(size)
    np.add.at(distribution, np.rint(units * changes).astype(np.int64) % size, chances)
    transform = np.fft.rfft(distribution)
    # its logarithm is multiplied by a number of strata, which may be 0: 0 times infinity is not a number
    transform[transform == 0] = np.finfo(np.float64).tiny
    return np.asarray(np.log(transform), dtype=np.complex128)
