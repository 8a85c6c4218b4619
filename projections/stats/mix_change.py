"""A change of a mix of categories, found at any time.

A bet is placed on "the mix changed after some unit": its gain over n units is the probability that a mixture over all
moments of change gives them, divided by the largest probability that any constant mix gives. If the mix is constant and
units are independent, a gain of 40 is ever reached with a probability of at most 1/40, however often one looks. Units
before and after a moment are predicted by their own counts so far plus a half for each category. The first
LEARNT units only show which categories there are; others are one more category. After BLOCK units a new bet begins, and
needs twice the gain, so that all bets together raise a false alarm with a probability of at most 1/20.

Source: Wasserman, Ramdas, Balakrishnan, "Universal inference", PNAS 2020 (the running maximum likelihood ratio);
Krichevsky, Trofimov, "The performance of universal encoding", IEEE Transactions on Information Theory 1981.
"""

from math import lgamma, log
from typing import Final, NamedTuple

import numpy as np

from projections.arrays import AnyInts, Floats

LEARNT: Final = 5
"""Units that show which categories there are."""

BLOCK: Final = 1_000
"""Units of one bet."""

GAIN: Final = 40.0
"""The gain that the first bet needs; each later one needs twice the one before."""


class MixChange(NamedTuple):
    """An alarm at a unit: the number of the first unit after the likeliest moment of the change, and the gain."""

    alarm: int
    first: int
    log_gain: float


def find_mix_changes(categories: AnyInts) -> list[MixChange]:
    """Return the changes of a mix, given the category of each unit in the order of time.

    What comes after an alarm is bet on anew.
    """
    found = list[MixChange]()
    start = 0
    while (change := _first_change(categories[start:])) is not None:
        found.append(MixChange(start + change.alarm, start + change.first, change.log_gain))
        start += change.alarm + 1
    return found


def _first_change(categories: AnyInts) -> MixChange | None:
    known = list(dict.fromkeys(categories[:LEARNT].tolist()))
    rest = categories[LEARNT:]
    places = {category: place for place, category in enumerate(known)}
    numbers = np.array([places.get(category, len(known)) for category in rest.tolist()], np.intp)
    for block, begin in enumerate(range(0, len(numbers), BLOCK)):
        found = _bet(numbers[begin : begin + BLOCK], len(known) + 1, log(GAIN) + block * log(2))
        if found is not None:
            before = LEARNT + begin
            return MixChange(before + found.alarm, before + found.first, found.log_gain)
    return None


def _bet(numbers: AnyInts, categories: int, needed: float) -> MixChange | None:
    """Return the first alarm of a bet on units of some categories 0..n-1."""
    counts = np.zeros((len(numbers) + 1, categories), np.intp)
    counts[np.arange(1, len(numbers) + 1), numbers] = 1
    counts = counts.cumsum(axis=0)
    terms = _Terms(len(numbers), categories)
    whole = terms.predicted(counts)
    for n in range(2, len(numbers) + 1):
        moments = np.arange(1, n)
        changed = whole[1:n] + terms.predicted(counts[n] - counts[1:n]) - np.log(moments) - np.log(moments + 1)
        never = whole[n] - log(n)  # what the moments after n would have of the mixture
        log_gain = float(np.logaddexp.reduce(changed, initial=never)) - terms.largest(counts[n])
        if log_gain >= needed:
            return MixChange(n - 1, int(moments[np.argmax(changed)]), log_gain)
    return None


class _Terms:
    """Logarithms of probabilities of sequences, by the counts of their categories."""

    def __init__(self, units: int, categories: int) -> None:
        half = np.array([lgamma(count + 0.5) - lgamma(0.5) for count in range(units + 1)])
        self._ones = half
        self._all = np.array([lgamma(n + categories / 2) - lgamma(categories / 2) for n in range(units + 1)])
        self._entropy = np.array([0.0, *(n * log(n) for n in range(1, units + 1))])

    def predicted(self, counts: AnyInts) -> Floats:
        """Return the logarithm of the probability that predictions by the counts so far give. Shape: n, categories."""
        return np.asarray(self._ones[counts].sum(axis=-1) - self._all[counts.sum(axis=-1)])

    def largest(self, counts: AnyInts) -> float:
        """Return the largest that a constant mix gives."""
        return float(self._entropy[counts].sum() - self._entropy[counts.sum()])
