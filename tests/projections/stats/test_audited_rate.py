"""The corrected rate of a rule: a known answer."""

import numpy as np
import pytest

from projections.stats.audited_rate import audited_rate


def test_known_answer() -> None:
    """170 of 200 pass by the rule; of 40 audited, people say more twice and less six times."""
    found = audited_rate(170, 200, np.repeat([1.0, -1.0, 0.0], [2, 6, 32]))
    assert found.rate == pytest.approx(0.75)
    assert found.error == pytest.approx(0.0742462, abs=1e-7)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.604480, 0.895520), abs=1e-6)
