"""What acting only above a stated confidence would have come to: net benefit (Vickers and Elkin 2006).

At a threshold t, a failure is taken to cost t / (1 - t) times as much as a success gains: at 0.8, four times. That is
the ratio at which an action with a success probability of exactly t neither gains nor loses. Net benefit is the sum of
gains minus the sum of costs, in successes for each decision:

    successes acted on / n - failures acted on / n * t / (1 - t).

The two shares exclude each other (`exclusive_shares.py`). The interval stays wide if all were successes.
"""

import msgspec

from projections.stats.exclusive_shares import weigh_shares
from projections.stats.intervals import wilson_interval
from tallystick.shapes.confidence_use import ThresholdUse
from tallystick.shapes.parts import Interval


class OutcomeSums(msgspec.Struct, frozen=True):
    """Sums of the outcomes (success 1, partial 0.5, failure 0) of `n` decisions: `success` and `n - success`."""

    success: float
    n: float

    @property
    def failure(self) -> float:
        return self.n - self.success


def use_threshold(threshold: float, acted: OutcomeSums, left: OutcomeSums) -> ThresholdUse:
    """Compute what acting above a threshold would have come to.

    `threshold` is at least 0 and below 1. `acted` has the outcomes of decisions that reach it, `left` those of the
    others; together there is at least one.
    """
    cost = threshold / (1 - threshold)
    n = acted.n + left.n
    benefit, interval = _net_benefit(acted, n, cost)
    whole = OutcomeSums(acted.success + left.success, n)
    benefit_all, interval_all = _net_benefit(whole, n, cost)
    left_benefit, left_interval = _net_benefit(left, n, cost)
    return ThresholdUse(
        threshold=threshold,
        failure_cost=cost,
        reviewed=int(n),
        acted_on=int(acted.n),
        success_rate=acted.success / acted.n if acted.n else None,
        success_interval=wilson_interval(acted.success, acted.n) if acted.n else None,
        net_benefit=benefit,
        net_benefit_interval=interval,
        net_benefit_all=benefit_all,
        net_benefit_all_interval=interval_all,
        net_benefit_none=0.0,
        gain_over_all=0.0 - left_benefit,
        gain_over_all_interval=Interval(0.0 - left_interval.high, 0.0 - left_interval.low),
    )


def _net_benefit(acted: OutcomeSums, n: float, cost: float) -> tuple[float, Interval]:
    """Return the net benefit of acting on some of n decisions, and its interval."""
    return weigh_shares(acted.success, acted.failure, n, (1.0, -cost))
