"""What decisions like the one at hand came to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.calibration.advice import REVIEWS_ENOUGH, PastDecisions, PlannedDecision, summarize_past_decisions
from projections.calibration.calibration import CalibrationFilter
from tests.projections.short_decisions import calibration_of, judged


def reported(drafts: list, agent: str = "ada", **asked: object) -> PastDecisions:  # type: ignore[type-arg]
    wanted = PlannedDecision(agent=agent, **asked)  # type: ignore[arg-type]
    return summarize_past_decisions(calibration_of(drafts).table(CalibrationFilter(agent=agent)), wanted)


PAST = [
    *judged((0.9, "S" * 15 + "F" * 10), prefix="a", agent="ada", category="architecture", stakes="high"),
    *judged((0.9, "S" * 18 + "P" * 2), prefix="b", agent="ada", category="tooling", stakes="high"),
    *judged((0.88, "FFF"), prefix="c", agent="ada", category="architecture", stakes="low"),
    *judged((0.5, "F" * 30), prefix="d", agent="ada", category="architecture", stakes="high"),
    *judged((0.9, "F" * 30), prefix="e", agent="bo", category="architecture", stakes="high"),
    *judged((0.9, "-----"), prefix="f", agent="ada", category="security", stakes="high"),
]


def test_the_likest_decisions_are_taken() -> None:
    said = reported(PAST, category="architecture", stakes="high", confidence=0.9)
    assert (said.category, said.stakes, said.reviewed, said.success) == ("architecture", "high", 25, 0.6)
    assert said.confidence == (0.85, 0.95)
    assert said.interval is not None
    assert said.interval.low < 0.6 < said.interval.high < 0.9
    assert said.message == (
        "Decisions of ada in architecture at high stakes stated at 0.85 to 0.95 came to 0.60 (0.41 to 0.77), n=25. "
        "Consider stating about 0.60."
    )


def test_where_too_few_are_alike_wider_ones_are() -> None:
    low = reported(PAST, category="architecture", stakes="low", confidence=0.9)
    assert (low.category, low.stakes, low.reviewed) == ("architecture", None, 28)
    none = reported(PAST, category="security", stakes="high", confidence=0.9)
    assert (none.category, none.stakes, none.reviewed) == (None, None, 48)
    stakes = reported(PAST, stakes="high", confidence=0.9)
    assert (stakes.category, stakes.stakes, stakes.reviewed) == (None, "high", 45)


def test_without_a_confidence_all_decisions_count() -> None:
    said = reported(PAST, category="tooling", stakes="high")
    assert list(said.confidence) == [0, 1]
    assert said.message == (
        "Decisions of ada in tooling at high stakes stated 0.90 on average and came to 0.95 (0.76 to 0.99), n=20."
    )


def test_nothing_is_made_up() -> None:
    for drafts in ([], judged((0.2, "SSS"), agent="ada"), judged((0.9, "---"), (None, "SSS"), agent="ada")):
        said = reported(drafts, category="architecture", confidence=0.9)
        assert (said.reviewed, said.stated, said.success, said.interval) == (0, None, None, None)
        assert said.message == "No decision of ada stated at 0.85 to 0.95 is reviewed yet."
    few = reported(judged((0.9, "FFF"), agent="ada"), confidence=0.9)
    assert (few.reviewed, few.success) == (3, 0)
    assert "Consider" not in few.message


@pytest.mark.parametrize(
    ("stated", "counted"), [(0.949, True), (0.95, True), (0.951, False), (0.85, True), (0.849, False)]
)
def test_both_ends_of_about_the_same_are_in_it(stated: float, counted: bool) -> None:
    assert reported(judged((stated, "S"), agent="ada"), confidence=0.9).reviewed == counted


@given(st.floats(0, 1), st.lists(st.tuples(st.floats(0, 1), st.text("SPFA", min_size=1, max_size=25)), max_size=5))
def test_it_is_the_mean_of_those_near(confidence: float, past: list[tuple[float, str]]) -> None:
    said = reported(judged(*past, agent="ada", category="process"), category="process", confidence=confidence)
    near = [(c, letter) for c, letters in past for letter in letters if abs(c - confidence) <= 0.05 + 1e-9]
    assert said.reviewed == len(near)
    if near:
        worth = sum({"S": 1.0, "P": 0.5}.get(letter, 0.0) for _, letter in near)
        assert said.success == pytest.approx(worth / len(near), abs=1e-12)
    assert said.category == ("process" if len(near) >= REVIEWS_ENOUGH else None)
