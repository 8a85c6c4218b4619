"""Agents whose true probabilities are known: how they state confidences, and what is true when they do."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from projections.arrays import Floats, Ints
from projections.calibration.confidence_bins import ConfidenceBins, bin_reviews
from projections.calibration.named_clusters import ClusterPart, OrderedReviews
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


class ClusteredReviews(NamedTuple):
    """Reviews of one history, whose clusters are named."""

    bins: ConfidenceBins
    named: ClusterPart


def clustered_reviews(
    confidence: Floats, clusters: int, correlation: float, rng: np.random.Generator, over: float = 0.0
) -> ClusteredReviews:
    """Draw outcomes in clusters of equal size, in their order, with a latent correlation; 1: all of one are alike.

    `over` is by how much the agent states too much.
    """
    cluster = np.repeat(np.arange(clusters), len(confidence) // clusters)
    shared, own = rng.normal(size=clusters)[cluster], rng.normal(size=len(confidence))
    rank = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    outcome = (rank < confidence - over).astype(np.float64)
    return named_reviews(confidence, outcome, cluster)


def named_reviews(confidence: Floats, outcome: Floats, cluster: Ints) -> ClusteredReviews:
    """Return reviews and their named clusters (-1: none)."""
    level, place = np.unique(confidence, return_inverse=True)
    outcomes = np.zeros((len(level), 4), dtype=np.int64)
    np.add.at(outcomes, (place, np.rint(2 - 2 * outcome).astype(np.intp)), 1)
    ordered = OrderedReviews(np.zeros(len(place), np.intp), confidence, outcome, cluster).named()
    (part,) = ordered.by_group(np.zeros(1, np.intp)).values()
    return ClusteredReviews(bin_reviews(level, outcomes), part)
