"""The intervals of shares by a time on simulated histories: how often they contain the true share."""

from typing import NamedTuple

import numpy as np
import pytest

from projections.arrays import Floats
from projections.stats.late_outcomes import AT_RISK_MIN, CENSORED, incidence, kaplan_meier

HISTORIES = 400
SECONDS = 86_400


class Delays(NamedTuple):
    """Days from decisions to their reviews: exponential with these means, success after `due` days within one more."""

    rate: float
    span: float
    failure: float
    success: float = 0.0
    due: float = 0.0

    def drawn(self, right: Floats, rng: np.random.Generator) -> Floats:
        """The delays of successes (1) and failures (0)."""
        late = self.due + rng.random(len(right)) if self.due else rng.exponential(self.success, len(right))
        return np.where(right, late, rng.exponential(self.failure, len(right)))

    def shares(self, day: float) -> tuple[float, float]:
        """The true shares of successes and failures that are reviewed by a day."""
        good = min(max(day - self.due, 0.0), 1.0) if self.due else 1 - np.exp(-day / self.success)
        return self.rate * float(good), (1 - self.rate) * float(1 - np.exp(-day / self.failure))


CASES = {
    "failures first": Delays(0.8, 60, failure=3, success=30),
    "fast": Delays(0.9, 40, failure=1, success=7),
    "success at the date": Delays(0.8, 90, failure=5, due=30),
    "few failures": Delays(0.98, 25, failure=3, success=30),
    "just due": Delays(0.9, 20, failure=3, due=14),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100, 300])
@pytest.mark.parametrize("case", CASES)
def test_intervals_contain_the_true_shares(case: str, n: int) -> None:
    """At the latest time with five at risk: success, failure and no review each in at least 89% of 400 histories."""
    rng, delays = np.random.default_rng([n, len(case)]), CASES[case]
    within = np.zeros(3)
    for _ in range(HISTORIES):
        age, right = delays.span * rng.random(n), (rng.random(n) < delays.rate).astype(float)
        delay = delays.drawn(right, rng)
        seen = delay <= age
        time = np.ceil(SECONDS * np.where(seen, delay, age)).astype(np.int64)
        cause = np.where(seen, np.where(right, 1, 2), CENSORED)
        at = int(np.sort(time)[-AT_RISK_MIN])
        success, failure = delays.shares(at / SECONDS)
        found = incidence(time, cause, 1, at), incidence(time, cause, 2, at), kaplan_meier(time, cause, at)
        for place, (share, true) in enumerate(zip(found, (success, failure, 1 - success - failure), strict=True)):
            assert share.interval is not None
            within[place] += share.interval.low - 1e-9 <= true <= share.interval.high + 1e-9
    assert (within / HISTORIES >= 0.89).all()
