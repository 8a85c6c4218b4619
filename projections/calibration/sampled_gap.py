"""The gap of all decisions, from the reviewed ones and a random sample of the others.

The sample is random, so the estimate needs no assumption about why decisions were not reviewed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from projections.calibration.scores import gap_side, judge_gap
from projections.stats.intervals import mean_outcome_interval, supports
from tallystick.shapes.calibration import Verdict
from tallystick.shapes.parts import Interval


class ReviewPopulation(NamedTuple):
    """Decisions with a stated confidence: how many, how many without a review, and what is known of them.

    `outcome_sum` is over reviewed ones, `mean_confidence` over all.
    """

    total: int
    unreviewed: int
    outcome_sum: float
    mean_confidence: float


class SampledGap(msgspec.Struct, frozen=True, kw_only=True):
    """The gap of all decisions as a random sample tells it, and its 95% interval, which is a point if all are reviewed.

    `agent_interval` is the 95% interval of the agent's gap, of which these decisions are a sample too. Both are for one
    look. `supported` tells whether it confirms the verdict `interpretation`, which is about the agent.
    """

    gap: float
    interval: Interval
    agent_interval: Interval
    interpretation: Verdict
    supported: bool


def estimate_gap(population: ReviewPopulation, outcomes: Sequence[float] | None) -> SampledGap | None:
    """Return the gap of a population, given the outcomes of a uniform sample of its unreviewed decisions.

    Return None while outcomes are missing, or without a sample. The mean outcome of the unreviewed decisions is the
    mean of the sample, with the interval of a mean outcome: a sample without replacement is more precise than that.
    Stated confidences are all known. Source: Cochran, Sampling Techniques, 3rd edition 1977, chapters 2 and 3.
    """
    if not outcomes:
        return None
    n, outcome_sum = len(outcomes), sum(outcomes)
    complete = n >= population.unreviewed
    rates = Interval(outcome_sum / n, outcome_sum / n) if complete else mean_outcome_interval(outcome_sum, n)
    gap = _gap(population, outcome_sum / n)
    interval = Interval(_gap(population, rates.low), _gap(population, rates.high))
    of_agent = _agent_interval(population, gap, n)
    verdict = judge_gap(gap)
    return SampledGap(
        gap=gap,
        interval=interval,
        agent_interval=of_agent,
        interpretation=verdict,
        supported=supports(gap_side(verdict), of_agent),
    )


def _agent_interval(population: ReviewPopulation, gap: float, sampled: int) -> Interval:
    """Return the interval of the gap of the agent, given that of its decisions and the size of the sample.

    Each outcome counts as often as it represents decisions; the number of equally weighted outcomes that are as precise
    is Kish's effective sample size, (sum of weights)^2 / sum of squared weights.
    """
    reviewed = population.total - population.unreviewed
    effective = population.total**2 / (reviewed + population.unreviewed**2 / sampled)
    rates = mean_outcome_interval((gap + population.mean_confidence) * effective, effective)
    return Interval(rates.low - population.mean_confidence, rates.high - population.mean_confidence)


def expected_half_width(population: ReviewPopulation, size: int) -> float | None:
    """Return half the width that the interval of `estimate_gap` will have if half of the sample succeed, its widest.

    It is 0 if the sample has every unreviewed decision, and None without a sample.
    """
    if size == 0:
        return None
    if size >= population.unreviewed:
        return 0.0
    rates = mean_outcome_interval(size / 2, size)
    return (rates.high - rates.low) / 2 * population.unreviewed / population.total


def _gap(population: ReviewPopulation, rate: float) -> float:
    """Return the gap of all decisions if unreviewed ones have a mean outcome."""
    return (population.outcome_sum + population.unreviewed * rate) / population.total - population.mean_confidence
