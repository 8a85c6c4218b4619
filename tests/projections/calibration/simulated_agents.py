"""Agents whose true probabilities are known: how they state confidences, and what is true when they do."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins, bin_reviews
from projections.calibration.recalibration import FittedMap, fit_map

Stating = Callable[[np.random.Generator, int], Floats]
Truth = Callable[[Floats], Floats]

STATING: Mapping[str, Stating] = {
    "heaped": lambda rng, n: rng.choice([0.8, 0.9, 0.95], n),
    "all .8": lambda _, n: np.full(n, 0.8),
    "all .99": lambda _, n: np.full(n, 0.99),
    "beta(8,2)": lambda rng, n: np.clip(np.round(rng.beta(8, 2, n), 2), 0.01, 0.99),
    "beta(2,2)": lambda rng, n: np.clip(np.round(rng.beta(2, 2, n), 2), 0.01, 0.99),
    "uniform": lambda rng, n: np.round(rng.random(n), 2),
    "all .9": lambda _, n: np.full(n, 0.9),
    "mixture": lambda rng, n: np.where(rng.random(n) < 0.5, 0.6, 0.99),
}


def overconfident(by: float) -> Truth:
    """What is true of an agent that states too much (or too little, below 0)."""
    return lambda stated: np.clip(stated - by, 0, 1)


class OfferRates(NamedTuple):
    """Of some histories: the share with a map, and the share of maps that raise the expected Brier score."""

    offered: float
    harmful: float
    measured_gain: float
    true_gain: float


def history(stated: Floats, truth: Floats, rng: np.random.Generator) -> ConfidenceBins:
    """Draw outcomes of decisions, given the true probability of each."""
    succeeded = rng.random(len(stated)) < truth
    confidence, place = np.unique(stated, return_inverse=True)
    outcomes = np.zeros((len(confidence), 4), dtype=np.int64)
    outcomes[:, 0] = np.bincount(place, weights=succeeded, minlength=len(confidence))
    outcomes[:, 2] = np.bincount(place, minlength=len(confidence)) - outcomes[:, 0]
    return bin_reviews(confidence, outcomes)


def maps_offered(stating: Stating, truth: Truth, n: int, histories: int, seed: int) -> Iterator[FittedMap]:
    rng = np.random.default_rng([seed, n])
    for _ in range(histories):
        stated = stating(rng, n)
        found = fit_map(history(stated, truth(stated), rng))
        if found is not None:
            yield found


def true_gain(found: FittedMap, stating: Stating, truth: Truth) -> float:
    """How much a map lowers the expected Brier score of new decisions."""
    stated = stating(np.random.default_rng(1), 20_000)
    p = truth(stated)
    return float(((stated - p) ** 2 - (found.at(stated) - p) ** 2).mean())


def offer_rates(stating: Stating, truth: Truth, n: int, histories: int, seed: int = 16) -> OfferRates:
    found = list(maps_offered(stating, truth, n, histories, seed))
    gains = [true_gain(one, stating, truth) for one in found]
    measured_gains = [one.gain.mean for one in found]
    many = max(1, len(found))
    harmful = sum(gain < 0 for gain in gains) / many
    return OfferRates(len(found) / histories, harmful, sum(measured_gains) / many, sum(gains) / many)
