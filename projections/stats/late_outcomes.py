"""How often something happened by a time after a start, where some starts are too young to tell.

The Kaplan-Meier estimate is the share without any event by a time, with Greenwood's variance. The Aalen-Johansen
estimate is the share with an event of one cause by then, where events of other causes end the waiting: 1 minus
Kaplan-Meier by cause would be too high. Both also use the young ones as far as they have come (they are censored at
their age). They are right if young ones are like old ones, and if nothing but age censors. Events come before
censorings at the same time, and an event at a time counts as one by that time.

The interval is Wilson's for as many independent ones as have the same variance, at one time and one look. Greenwood's
interval on a log-log scale does not exist without an event and covers too little with few of them. With fewer than
AT_RISK_MIN at risk there is no interval. In simulations of 20 to 300 starts it covers 90 to 99%.

Source: Kaplan and Meier, JASA 1958; Aalen and Johansen, Scandinavian Journal of Statistics 1978; the variance by the
delta method: Marubini and Valsecchi, "Analysing survival data from clinical trials and observational studies", 1995,
which is Greenwood's if there is a single cause.
"""

from typing import Final, NamedTuple

import numpy as np

from projections.arrays import AnyInts, Floats, Ints
from projections.stats.intervals import wilson_interval
from tallystick.shapes.parts import Interval

AT_RISK_MIN: Final = 5
"""With fewer that are neither older nor had an event there is no interval."""

_ROUNDING: Final = 1e-12

CENSORED: Final = 0
"""The cause of no event so far."""


class ShareByTime(NamedTuple):
    """A share by a time, 0..1, its variance, and how many had no event before that time and are as old."""

    rate: float
    variance: float
    at_risk: int

    @property
    def effective_n(self) -> float:
        """The number of independent ones whose share has this variance; those at risk if it is 0, but for rounding."""
        spread = self.rate * (1 - self.rate)
        return spread / self.variance if min(spread, self.variance) > _ROUNDING else float(self.at_risk)

    @property
    def interval(self) -> Interval | None:
        """The 95% interval; None with too few at risk."""
        if self.at_risk < AT_RISK_MIN:
            return None
        return wilson_interval(self.rate * self.effective_n, self.effective_n)


def incidence(time: Ints, cause: AnyInts, of: int, at: int) -> ShareByTime:
    """Return the Aalen-Johansen estimate of the share with an event of cause `of` by a time.

    Shapes: n > 0 times from the start to the event, or to now without one; the cause of each event, CENSORED without.
    Units: any, the same for times and for `at`.
    """
    by_then = (cause != CENSORED) & (time <= at)
    points, place = np.unique(time[by_then], return_inverse=True)
    risk = (len(time) - np.searchsorted(np.sort(time), points)).astype(np.float64)
    events = np.bincount(place, minlength=len(points)).astype(np.float64)
    wanted = np.bincount(place, cause[by_then] == of, len(points))
    after = np.cumprod(1 - events / risk)
    before: Floats = np.concatenate([np.ones(1), after])[:-1]
    reached = np.cumsum(before * wanted / risk)
    rate = float(reached[-1]) if len(reached) else 0.0
    rest = rate - reached  # 0 where all that are at risk have an event
    spread = events / (risk * np.maximum(risk - events, 1))
    steps = wanted / risk**2
    variance = rest**2 @ spread + before**2 @ (steps * (1 - wanted / risk)) - 2 * (rest * before) @ steps
    return ShareByTime(rate, max(0.0, float(variance)), int(np.count_nonzero(time >= at)))


def kaplan_meier(time: Ints, cause: AnyInts, at: int) -> ShareByTime:
    """Return the Kaplan-Meier estimate of the share without any event by a time. Shapes: as of `incidence`."""
    found = incidence(time, (cause != CENSORED).astype(np.int8), 1, at)
    return found._replace(rate=1 - found.rate)
