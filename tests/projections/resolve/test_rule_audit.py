"""Rules that are checked against people: error rates, and the corrected success rate."""

from collections.abc import Sequence

import numpy as np
import pytest

from projections.resolve.rule_audit import Stratum, corrected_rate, error_of
from projections.stats.intervals import wilson_interval


def of(size: int, value: float, labels: Sequence[float]) -> Stratum:
    """The decisions of one verdict, and what people found."""
    return Stratum(size, value, [label - value for label in labels])


def test_a_simple_random_sample_gives_the_known_answer() -> None:
    """170 of 200 pass by the rule; of 40 at random people differ by +1 twice and by -1 six times."""
    found = corrected_rate([Stratum(200, 0.85, [1.0] * 2 + [-1.0] * 6 + [0.0] * 32)])
    assert found is not None
    assert found.by_rule == 0.85
    figures = [found.rate, found.se, found.interval.low, found.interval.high]
    assert figures == pytest.approx([0.75, 0.0742462, 0.604480, 0.895520], abs=1e-6)


def test_verdicts_are_weighted_by_their_sizes() -> None:
    strata = [of(170, 1.0, [1.0] * 17 + [0.0] * 3), of(30, 0.0, [0.0] * 18 + [1.0] * 2)]
    found = corrected_rate(strata)
    assert found is not None
    assert found.by_rule == 0.85
    assert found.rate == pytest.approx(0.85 * 17 / 20 + 0.15 * 2 / 20)
    within = 0.85**2 * (20 * 0.85 * 0.15 / 19) / 20 + 0.15**2 * (20 * 0.1 * 0.9 / 19) / 20
    assert found.se == pytest.approx((0.85 * 0.15 / 199 + within) ** 0.5)
    assert found.interval.low < found.rate < found.interval.high


def test_what_was_looked_at_as_a_whole_adds_nothing() -> None:
    found = corrected_rate([of(4, 1.0, [1.0] * 4), of(1, 0.0, [0.0])])
    assert found is not None
    assert (found.rate, round(found.se, 9)) == (0.8, round((0.8 * 0.2 / 4) ** 0.5, 9))


@pytest.mark.parametrize("strata", [[], [of(0, 1.0, [])], [of(9, 1.0, [1.0])], [of(1, 1.0, [1.0])],
                                    [of(9, 1.0, [1.0] * 3), of(9, 0.0, [])]])  # fmt: skip
def test_too_few_labels_give_no_rate(strata: list[Stratum]) -> None:
    assert corrected_rate(strata) is None


def test_errors_of_each_verdict() -> None:
    found = error_of([1.0, 0.5, 0.0, 1.0], passed=True)
    assert found is not None
    assert (found.wrong, found.n, found.rate, found.interval) == (2, 4, 0.5, wilson_interval(2, 4))
    failed = error_of([1.0, 0.0, 0.0], passed=False)
    assert failed is not None
    assert (failed.wrong, failed.n) == (1, 3)
    assert error_of([], passed=True) is None


def test_the_interval_covers_what_people_would_find() -> None:
    """A rule that is wrong in 5% of successes and 30% of failures, 300 decisions, 40 looked at."""
    rng, covered, draws = np.random.default_rng(7), 0, 1_000
    for _ in range(draws):
        true = rng.random(300) < 0.8
        rule = np.where(true, rng.random(300) < 0.92, rng.random(300) < 0.2)
        strata = []
        for verdict, value in ((True, 1.0), (False, 0.0)):
            rows = np.flatnonzero(rule == verdict)
            chosen = rng.permutation(rows)[:20]
            strata.append(of(len(rows), value, true[chosen].astype(float).tolist()))
        found = corrected_rate(strata)
        assert found is not None
        covered += found.interval.low <= 0.8 <= found.interval.high
    assert 0.92 <= covered / draws <= 0.98
