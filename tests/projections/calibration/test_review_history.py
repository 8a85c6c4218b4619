"""The decisions behind the counts, in the order in which they were made; and the questions they answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Draft, agent_of
from ledger.clock import microseconds
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.outcome_codes import OUTCOMES
from projections.time_range import TimeRange
from tests.projections import reference_model
from tests.projections.calibration.test_calibration import filters, moments
from tests.projections.chunks import restored
from tests.projections.drafts import ask, record, review
from tests.projections.random_histories import events_of, histories, lines_of
from tests.projections.short_decisions import calibration_of

wanted = st.one_of(
    st.just(CalibrationFilter()), filters, st.builds(CalibrationFilter, range=st.builds(TimeRange, moments, moments))
)


def rows(history: ReviewedDecisions) -> list[tuple[Any, ...]]:
    """Time, confidence, outcome, group by its attributes, question."""
    return [
        (
            int(history.time_us[row]),
            float(history.confidence[row]),
            OUTCOMES[history.outcome[row]],
            (agent_of(history.groups[history.group[row]][0]), *history.groups[history.group[row]][1:]),
            history.questions[history.question[row]] if history.question[row] >= 0 else None,
        )
        for row in range(len(history.time_us))
    ]


@given(histories(), wanted)
def test_the_history_is_the_models(drafts: list[Draft], asked: CalibrationFilter) -> None:
    counted = reference_model.counting(
        one for one in reference_model.report(lines_of(drafts)) if reference_model.about(one, asked)
    )
    counted.sort(key=lambda one: one.time)
    assert rows(calibration_of(drafts).history(asked)) == [
        (
            microseconds(one.time),
            one.counted,
            one.outcome,
            (one.agent, one.category, one.stakes, one.project, one.feature),
            one.question,
        )
        for one in counted
    ]


@given(histories(), st.integers(0, 40))
def test_questions_are_kept(drafts: list[Draft], cut: int) -> None:
    """However the history is cut, and whether or not the state was kept and read in between."""
    whole, events = calibration_of(drafts), events_of(drafts)
    first = Calibration()
    first.fold(events[:cut])
    again = restored(first)
    again.fold(events[cut:])
    assert again.encode() == whole.encode()
    assert rows(again.history(CalibrationFilter())) == rows(whole.history(CalibrationFilter()))


def test_the_latest_question_counts() -> None:
    found = calibration_of([record("d", 0.5), ask("d", "one"), ask("d", "two"), review("d"), ask("d", "one")])
    assert [row[-1] for row in rows(found.history(CalibrationFilter()))] == ["one"]


def test_the_arrays_are_copies() -> None:
    events = events_of([record("d", 0.5), review("d"), record("e", 0.9), review("e")])
    calibration = Calibration()
    calibration.fold(events[:2])
    before = calibration.history(CalibrationFilter())
    calibration.fold(events[2:])
    before.confidence[0] = 0.25
    assert [row[1] for row in rows(calibration.history(CalibrationFilter()))] == pytest.approx([0.5, 0.9])
