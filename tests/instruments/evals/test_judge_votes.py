"""Votes of a judge are joined by their majority, whatever their order, and a tie of verdicts does not pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from events.judge import JudgeVote, PairVote, Preferred
from instruments.evals.judging.votes import by_order, join_preferences, join_votes

PREFERRED: tuple[Preferred, ...] = ("first", "second", "tie")

_confidence = st.floats(0.5, 1).map(lambda number: round(number, 3))
votes = st.lists(
    st.builds(JudgeVote, passed=st.booleans(), confidence=_confidence, reason=st.just("r"), quote=st.none()),
    min_size=1,
    max_size=15,
)
pair_votes = st.lists(
    st.builds(PairVote, swapped=st.booleans(), preferred=st.sampled_from(PREFERRED), confidence=_confidence,
              reason=st.just("r")),
    min_size=1,
    max_size=15,
)  # fmt: skip


def vote(passed: bool, confidence: float) -> JudgeVote:
    return JudgeVote(passed=passed, confidence=confidence, reason="r")


def pair(swapped: bool, preferred: Preferred, confidence: float = 0.9) -> PairVote:
    return PairVote(swapped=swapped, preferred=preferred, confidence=confidence, reason="r")


@pytest.mark.parametrize(
    ("given_votes", "passed", "confidence"),
    [
        ([vote(True, 0.9)], True, 0.9),
        ([vote(False, 0.8)], False, 0.8),
        ([vote(True, 0.9), vote(True, 0.7), vote(False, 0.6)], True, (0.9 + 0.7 + 0.4) / 3),
        ([vote(True, 1.0), vote(False, 0.6), vote(False, 0.5)], False, (0.0 + 0.6 + 0.5) / 3),
        ([vote(True, 0.9), vote(False, 0.9)], False, 0.5),
    ],
)
def test_most_votes_decide(given_votes: list[JudgeVote], passed: bool, confidence: float) -> None:
    found, sure = join_votes(given_votes)
    assert found is passed
    assert sure == pytest.approx(confidence, abs=1e-6)


@given(votes, st.randoms())
def test_the_order_of_votes_has_no_effect(given_votes: list[JudgeVote], chance: object) -> None:
    shuffled = list(given_votes)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert join_votes(shuffled) == join_votes(given_votes)


@given(votes)
def test_opposite_votes_give_the_opposite_verdict_unless_they_tie(given_votes: list[JudgeVote]) -> None:
    passed, confidence = join_votes(given_votes)
    opposite, other = join_votes([structs.replace(each, passed=not each.passed) for each in given_votes])
    if 2 * sum(each.passed for each in given_votes) == len(given_votes):
        assert (passed, opposite) == (False, False)
        assert confidence + other == pytest.approx(1, abs=1e-5)
    else:
        assert (passed, confidence) == (not opposite, other)
    assert 0 <= confidence <= 1


@given(votes)
def test_a_further_vote_for_the_verdict_keeps_it(given_votes: list[JudgeVote]) -> None:
    passed, _ = join_votes(given_votes)
    assert join_votes([*given_votes, vote(passed, 0.5)])[0] is passed


@pytest.mark.parametrize(
    ("given_votes", "preferred"),
    [
        ([pair(False, "first"), pair(True, "first")], "first"),
        ([pair(False, "first"), pair(True, "second")], "tie"),
        ([pair(False, "tie"), pair(True, "second")], "tie"),
        ([pair(False, "second"), pair(True, "second"), pair(False, "first"), pair(True, "second")], "tie"),
        ([pair(False, "second")] * 2 + [pair(False, "first")] + [pair(True, "second")] * 3, "second"),
    ],
)
def test_both_orders_must_agree(given_votes: list[PairVote], preferred: Preferred) -> None:
    assert join_preferences(given_votes)[0] == preferred


def test_the_confidence_of_a_preference_is_that_of_all_votes() -> None:
    _, agreed = join_preferences([pair(False, "first", 0.8), pair(True, "first", 0.6)])
    assert agreed == pytest.approx(0.7)
    _, split = join_preferences([pair(False, "first", 0.8), pair(True, "second", 0.6)])
    assert split == pytest.approx((0.1 + 0.2) / 2)


@given(pair_votes)
def test_swapping_the_names_of_the_answers_swaps_the_preference(given_votes: list[PairVote]) -> None:
    other: dict[Preferred, Preferred] = {"first": "second", "second": "first", "tie": "tie"}
    renamed = [structs.replace(each, preferred=other[each.preferred]) for each in given_votes]
    preferred, confidence = join_preferences(given_votes)
    assert join_preferences(renamed) == (other[preferred], confidence)
    assert tuple(other[each] for each in by_order(given_votes)) == by_order(renamed)
