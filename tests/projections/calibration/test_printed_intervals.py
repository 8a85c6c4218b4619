"""No interval excludes the figure beside it, whatever was corrected, undated, clustered or imported at once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.history_view import build_history
from projections.calibration.plot_data import build_plot_data
from projections.calibration.words import HISTORY_PARTS
from tallystick.shapes.decisions import Outcome
from tests.projections.drafts import record, retract, review
from tests.projections.random_histories import NOON
from tests.projections.short_decisions import calibration_of

FIGURES = {"success_interval": None, "rank_interval": "rank", "gap_sequence": "gap"}
"""The figure of an interval that is named otherwise; None: it is not in the answer."""

PLAIN = ("gap", "auc", "meant", "mean_difference", "amount", "rate")
"""The figure of an interval that has no name of its own: the first of these that is beside it."""

OUTCOMES: tuple[Outcome, ...] = ("success", "partial", "failure", "abandoned")


class Decided(NamedTuple):
    """A decision: what it states, and its reviews, of which the last counts."""

    confidence: float | None
    hour: int | None
    due: int | None
    cluster: str | None
    category: str
    agent: str
    outcomes: tuple[Outcome, ...]
    retracted: bool


decided = st.builds(
    Decided,
    confidence=st.none() | st.sampled_from([0.0, 0.5, 0.6, 0.8, 0.9, 0.99, 1.0]),
    hour=st.none() | st.integers(0, 40),
    due=st.none() | st.integers(-50, 50),
    cluster=st.none() | st.sampled_from(["k1", "k2", "k3"]),
    category=st.sampled_from(["a", "b"]),
    agent=st.sampled_from(["ada", "bo"]),
    outcomes=st.lists(st.sampled_from(OUTCOMES), max_size=3).map(tuple),
    retracted=st.booleans(),
)
decisions = st.lists(decided, max_size=60)


def drafts_of(history: list[Decided], *, at_once: bool) -> list[Draft]:
    """Record and review each decision; `at_once`: all as one import without times."""
    drafts = []
    for number, one in enumerate(history):
        name, due = f"d{number}", None if one.due is None else NOON + timedelta(hours=one.due)
        time = None if at_once or one.hour is None else NOON + timedelta(hours=one.hour)
        about: dict[str, Any] = {"cluster": one.cluster, "category": one.category, "review_by": due, "time": time}
        drafts.append(record(name, one.confidence, agent=one.agent, **about))
        drafts += [review(name, outcome) for outcome in one.outcomes]
        if one.retracted and number % 7 == 0:
            drafts.append(retract(name))
    return drafts


def misplaced(value: object, path: str = "") -> Iterator[str]:
    """Yield the intervals that exclude their figure."""
    if isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from misplaced(inner, f"{path}.{number}")
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        yield from misplaced(inner, f"{path}.{name}")
        if not (name.endswith(("interval", "_sequence")) and isinstance(inner, list | tuple)):
            continue
        if name == "interval":
            figure = next((one for one in PLAIN if one in value), None)
        else:
            figure = FIGURES.get(name, name.removesuffix("_interval"))
        if figure is None or value.get(figure) is None:
            continue
        low, high = inner
        if not low - 1e-8 <= value[figure] <= high + 1e-8:
            yield f"{path}.{name} {inner} excludes {figure} {value[figure]}"


def answers(calibration: Calibration, *, curves: bool) -> Iterator[object]:
    everything = CalibrationFilter()
    for group_by in ("confidence_bucket", "category", "agent"):
        yield calibration.view(everything, group_by, 1, curves=curves)
    yield build_history(calibration.history(everything), HISTORY_PARTS)
    yield build_plot_data(calibration.drawn(everything, calibration.selection(everything)))


def check(history: list[Decided], *, at_once: bool, curves: bool) -> None:
    calibration = calibration_of(drafts_of(history, at_once=at_once))
    for answer in answers(calibration, curves=curves):
        assert list(misplaced(msgspec.to_builtins(answer))) == []


@given(decisions, st.booleans())
@settings(deadline=None)
def test_figures_are_inside_their_intervals(history: list[Decided], at_once: bool) -> None:
    check(history, at_once=at_once, curves=False)


@pytest.mark.slow
@given(decisions, st.booleans())
@settings(max_examples=60, deadline=None)
def test_figures_with_curves_are_inside_their_intervals(history: list[Decided], at_once: bool) -> None:
    check(history, at_once=at_once, curves=True)


def test_an_interval_beside_its_figure_is_found() -> None:
    assert list(misplaced({"rows": [{"gap": 0.2, "gap_interval": [0.3, 0.4]}]})) == [
        ".rows.0.gap_interval [0.3, 0.4] excludes gap 0.2"
    ]
