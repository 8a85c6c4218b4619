"""discrimination: known answers, and the plain count of pairs."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections import Discrimination, discriminate
from projections.discrimination import TELLING

KNOWN = {
    "no scores": ([], (None, None, None)),
    "one model": ([[0.2, 0.9]], (None, 1.0, None)),
    "all the same": ([[1.0, 1.0], [1.0, 1.0], [1.0]], (0.0, 0.0, 0.0)),
    "each its own": ([[0.1], [0.5], [0.9]], (1.0, None, 1.0)),
    "two alike of three": ([[0.5], [0.5], [0.9]], (2 / 3, None, 2 / 3)),
    "steady models": ([[0.2, 0.21], [0.8, 0.82]], (1.0, 0.0, 1.0)),
    "dice": ([[0.0, 1.0], [0.0, 1.0]], (0.5, 1.0, -0.5)),
    "a difference that is just one": ([[0.8], [0.85]], (1.0, None, 1.0)),
    "a difference that is none": ([[0.8], [0.849]], (0.0, None, 0.0)),
    "a model that never answered": ([[0.1], [], [0.9]], (1.0, None, 1.0)),
    "36 of 37 saturated": ([[1.0]] * 36 + [[0.95]], (36 / 666, None, 36 / 666)),
}


@pytest.mark.parametrize(("groups", "told"), KNOWN.values(), ids=KNOWN)
def test_known_answers(groups: list[list[float]], told: tuple[float | None, ...]) -> None:
    found = discriminate(groups)
    assert isinstance(found, Discrimination)
    assert (found.between, found.within, found.discrimination) == pytest.approx(told)


@given(st.lists(st.lists(st.integers(0, 100), max_size=6), max_size=6))
def test_it_is_the_plain_count_of_pairs(groups: list[list[int]]) -> None:
    scores = [(model, score) for model, group in enumerate(groups) for score in group]
    told: dict[bool, list[bool]] = {True: [], False: []}
    for (one, low), (other, high) in combinations(scores, 2):
        told[one == other].append(abs(low - high) >= round(TELLING * 100))
    found = discriminate([[score / 100 for score in group] for group in groups])
    for share, pairs in ((found.between, told[False]), (found.within, told[True])):
        assert share == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
