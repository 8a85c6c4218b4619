"""When a mix of categories changes: alarms that come soon after a change, and seldom without one."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from projections.stats import mix_change
from projections.stats.mix_change import _Terms, find_mix_changes


def test_a_new_category_raises_an_alarm_soon() -> None:
    (change,) = find_mix_changes(np.repeat([0, 1], [30, 8]))
    assert (change.first, change.alarm) == (30, 35)
    assert exp(change.log_gain) >= mix_change.GAIN
    assert find_mix_changes(np.repeat([0, 1], [30, 3])) == []
    assert find_mix_changes(np.repeat([0, 1], [3, 3])) == []
    assert find_mix_changes(np.zeros(0, np.intp)) == []


def test_each_change_is_found() -> None:
    found = find_mix_changes(np.repeat([4, 7, 4], [50, 40, 40]))
    assert [change.first for change in found] == [50, 90]


def test_a_later_bet_needs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    units = np.repeat([0, 1], [mix_change.LEARNT + 40, 40])
    (soon,) = find_mix_changes(units)
    monkeypatch.setattr(mix_change, "BLOCK", 40)
    assert find_mix_changes(units) == []  # a bet that begins with the change sees none
    monkeypatch.setattr(mix_change, "BLOCK", 30)
    (late,) = find_mix_changes(units)
    assert late.first == soon.first
    assert late.log_gain >= log(2 * mix_change.GAIN)


def test_the_gain_of_all_sequences_adds_up_to_at_most_one() -> None:
    """The predictions before and after every moment are probabilities, so that the gain is that of a fair bet."""
    units, categories = 6, 3
    terms, total = _Terms(units, categories), 0.0
    for sequence in product(range(categories), repeat=units):
        counts = np.array([np.bincount(sequence[:n], minlength=categories) for n in range(units + 1)])
        whole = terms.predicted(counts)
        moments = np.arange(1, units)
        parts = np.exp(whole[1:units] + terms.predicted(counts[units] - counts[1:units])) / (moments * (moments + 1))
        total += float(parts.sum()) + exp(whole[units]) / units
        assert terms.largest(counts[units]) >= max(whole[units], -units * log(categories)) - 1e-12
    assert total == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("mix", [(1.0,), (0.5, 0.5), (0.9, 0.1), (0.98, 0.02), (0.4, 0.3, 0.2, 0.1)])
def test_without_a_change_alarms_are_rare(mix: tuple[float, ...]) -> None:
    rng = np.random.default_rng(20_261_129)
    alarms = sum(bool(find_mix_changes(rng.choice(len(mix), 400, p=mix))) for _ in range(400))
    assert alarms <= 20  # 5% of 400
