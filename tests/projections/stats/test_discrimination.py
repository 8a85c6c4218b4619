"""discrimination: known answers, the plain count of pairs, the textbook's analysis of variance, and its level."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.stats import discrimination
from projections.stats.discrimination import DIFFERENCE_MIN, SIGNIFICANCE_LEVEL, Discrimination, measure_discrimination

KNOWN = {
    "no scores": ([], (None, None, None)),
    "one model": ([[0.2, 0.9]], (None, 1.0, None)),
    "all the same": ([[1.0, 1.0], [1.0, 1.0], [1.0]], (0.0, 0.0, 0.0)),
    "each its own": ([[0.1], [0.5], [0.9]], (1.0, None, None)),
    "two alike of three": ([[0.5], [0.5], [0.9]], (2 / 3, None, None)),
    "steady models": ([[0.2, 0.21], [0.8, 0.82]], (1.0, 0.0, 1.0)),
    "dice": ([[0.0, 1.0], [0.0, 1.0]], (0.5, 1.0, -0.5)),
    "a difference that is just one": ([[0.8], [0.85]], (1.0, None, None)),
    "a difference that is none": ([[0.8], [0.849]], (0.0, None, None)),
    "a model that never answered": ([[0.1], [], [0.9]], (1.0, None, None)),
    "36 of 37 saturated": ([[1.0]] * 36 + [[0.95]], (36 / 666, None, None)),
}


@pytest.mark.parametrize(("groups", "reported"), KNOWN.values(), ids=KNOWN)
def test_known_answers(groups: list[list[float]], reported: tuple[float | None, ...]) -> None:
    found = measure_discrimination(groups)
    assert isinstance(found, Discrimination)
    assert (found.between, found.within, found.discrimination) == pytest.approx(reported)


@given(st.lists(st.lists(st.integers(0, 100), max_size=6), max_size=6))
def test_it_is_the_plain_count_of_pairs(groups: list[list[int]]) -> None:
    scores = [(model, score) for model, group in enumerate(groups) for score in group]
    reported: dict[bool, list[bool]] = {True: [], False: []}
    for (one, low), (other, high) in combinations(scores, 2):
        reported[one == other].append(abs(low - high) >= round(DIFFERENCE_MIN * 100))
    found = measure_discrimination([[score / 100 for score in group] for group in groups])
    for share, pairs in ((found.between, reported[False]), (found.within, reported[True])):
        assert share == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


# The six targets rated by four judges of Shrout and Fleiss (1979): ICC(1) is .17.
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]

NO_REPEATS = "too few repeats to compare models: at least 2 models with 2 scores each are needed; found 0"
ALIKE = "not shown to tell models apart: 4 scores of 2 models are all the same"
BY_CHANCE = "not shown to tell models apart: 4 scores of 2 models could differ as far by chance (p = 0.328)"
APART = "tells models apart: 98% of the variance of 12 scores of 3 models is between models (p = 0.001)"
ONE_OF_MANY = "tells models apart: 100% of the variance of 80 scores of 40 models is between models (p = 0.020)"

SAID = {
    "no scores": ([], (), "no scores yet"),
    "one score each": ([[0.2], [0.4], [0.9]], (), NO_REPEATS),
    "one with repeats": ([[0.2, 0.3], [0.4]], (), NO_REPEATS.replace("found 0", "found 1")),
    "one value": ([[1.0] * 6, [1.0] * 6], (), "saturated: all 12 scores are 1.00"),
    "saturated": ([[1.0]] * 36 + [[0.95]], (), f"saturated: 36 of 37 scores are 1.00; {NO_REPEATS}"),
    "others count for that": ([[0.5]], [0.0] * 9, f"saturated: 9 of 10 scores are 0.00; {NO_REPEATS}"),
    "the same, but few": ([[1.0, 1.0], [1.0, 1.0]], (), ALIKE),
    "few": ([[0.1, 0.1], [0.9, 0.9]], (), BY_CHANCE),
    "enough": ([[0.1, 0.2, 0.1, 0.2], [0.8, 0.9, 0.9, 0.8], [0.5, 0.5, 0.6, 0.5]], (), APART),
    "one of many": ([[1.0, 1.0]] * 39 + [[0.2, 0.2]], (), f"saturated: 78 of 80 scores are 1.00; {ONE_OF_MANY}"),
}


def test_the_share_is_that_of_the_textbook() -> None:
    found = measure_discrimination([[rating / 10 for rating in ratings] for ratings in SHROUT])
    assert found.variance_share == pytest.approx(0.1657, abs=5e-5)
    assert (found.models, found.compared, found.scores) == (6, 24, 24)


def test_the_share_of_groups_of_unlike_size_is_that_of_the_components() -> None:
    groups = [[0.1, 0.2], [0.4, 0.5, 0.6], [0.9, 0.7, 0.8, 0.6], [0.3]]
    compared = groups[:3]
    every = [score for group in compared for score in group]
    mean, n = sum(every) / 9, 9
    between = sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in compared) / 2
    within = sum(sum((score - sum(group) / len(group)) ** 2 for score in group) for group in compared) / (n - 3)
    component = (between - within) / ((n - sum(len(group) ** 2 for group in compared) / n) / 2)
    assert measure_discrimination(groups).variance_share == pytest.approx(component / (component + within))


@pytest.mark.parametrize(("groups", "others", "says"), SAID.values(), ids=SAID)
def test_it_is_said_in_words(groups: list[list[float]], others: list[float], says: str) -> None:
    assert measure_discrimination(groups, others).says == says


def test_without_repeats_nothing_is_claimed() -> None:
    found = measure_discrimination([[0.1], [0.9], [0.5]])
    claims = (found.variance_share, found.p, found.tells_apart, found.within, found.discrimination)
    assert claims == (None,) * 5
    assert (found.distinct, found.ceiling_share) == (3, 0.0)


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=5), max_size=5),
    st.lists(st.integers(0, 20), max_size=4),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50, deadline=None)
def test_the_order_makes_no_difference(groups: list[list[int]], others: list[int], order: Random) -> None:
    scores = [[one / 20 for one in group] for group in groups]
    rest = [one / 20 for one in others]
    found = measure_discrimination(scores, rest)
    for group in [scores, rest, *scores]:
        order.shuffle(group)  # type: ignore[arg-type]
    assert measure_discrimination(scores, rest) == found
    assert found.variance_share is None or 0 <= found.variance_share <= 1
    assert (found.p is None) == (found.variance_share is None)


@pytest.mark.parametrize("shuffled_max", [discrimination.SHUFFLED_MAX, 0], ids=["shuffled", "by the F distribution"])
def test_equal_models_are_rarely_reported_apart(monkeypatch: pytest.MonkeyPatch, shuffled_max: int) -> None:
    monkeypatch.setattr(discrimination, "SHUFFLED_MAX", shuffled_max)
    rng = np.random.default_rng([5, shuffled_max])
    samples = 400
    reported = sum(
        measure_discrimination(rng.choice([1.0, 1.0, 1.0, 0.75, 0.5], (6, 5)).tolist()).tells_apart or False
        for _ in range(samples)
    )
    assert (
        reported / samples
        <= SIGNIFICANCE_LEVEL + 2.6 * (SIGNIFICANCE_LEVEL * (1 - SIGNIFICANCE_LEVEL) / samples) ** 0.5
    )


def test_models_that_differ_are_reported_apart() -> None:
    rng = np.random.default_rng(8)
    truth = np.linspace(0.4, 0.8, 5)[:, np.newaxis]
    found = [measure_discrimination(np.clip(truth + rng.normal(0, 0.1, (5, 6)), 0, 1).tolist()) for _ in range(100)]
    assert sum(one.tells_apart or False for one in found) >= 95
    shares = [one.variance_share or 0.0 for one in found]
    assert sum(shares) / len(shares) == pytest.approx(truth.var(ddof=1) / (truth.var(ddof=1) + 0.01), abs=0.03)
