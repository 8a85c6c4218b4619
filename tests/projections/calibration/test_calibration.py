"""The calibration view over real events: filters, edges, groups, which confidence counts; and against the model."""

import csv
import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.admission import prepare
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.calibration_view import build_calibration_view
from projections.calibration.cell_groups import GroupPage
from projections.calibration.view_evidence import find_evidence
from projections.calibration.words import GROUP_SORTS, GROUPINGS, MIN_DECISIONS, GroupBy, GroupSort
from projections.query_check import no_check
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationGroup
from tests.projections import reference_model
from tests.projections.drafts import amend, record, review, think
from tests.projections.random_histories import (
    AGENTS,
    CATEGORIES,
    FEATURES,
    MOMENTS,
    NOON,
    PROJECTS,
    STAKES,
    events_of,
    histories,
    lines_of,
)
from tests.projections.short_decisions import (
    KNOWN,
    OUTCOMES,
    calibration_of,
    judged,
)

CSV = KNOWN.with_name("llm_confidence.csv")

moments = st.sampled_from(MOMENTS)
filters = st.builds(
    CalibrationFilter,
    agent=st.none() | st.sampled_from(AGENTS),
    category=st.sampled_from(CATEGORIES),
    stakes=st.sampled_from(STAKES),
    project=st.sampled_from(PROJECTS),
    feature=st.sampled_from(FEATURES),
    range=st.builds(TimeRange, moments, moments),
)
questions = st.one_of(
    st.just(CalibrationFilter()), filters, st.builds(CalibrationFilter, range=st.builds(TimeRange, moments, moments))
)


@pytest.mark.slow
@given(
    drafts=histories(),
    wanted=questions,
    group_by=st.sampled_from(GROUPINGS),
    min_decisions=st.integers(1, 7),
)
@settings(max_examples=400, deadline=None)
def test_the_view_is_the_models(
    drafts: list[Draft], wanted: CalibrationFilter, group_by: GroupBy, min_decisions: int
) -> None:
    seen = calibration_of(drafts).view(wanted, group_by, min_decisions)
    reference_model.view_agrees(seen, reference_model.report(lines_of(drafts)), wanted, group_by, min_decisions)


@pytest.mark.slow
@given(drafts=histories(), order=st.randoms(use_true_random=False), group_by=st.sampled_from(GROUPINGS))
@settings(max_examples=60, deadline=None)
def test_decisions_may_come_in_any_order(drafts: list[Draft], order: Any, group_by: GroupBy) -> None:  # noqa: ANN401
    """Each stream's events keep their order; between streams there is none."""
    timed = [draft if draft.time is not None else _at(draft, NOON) for draft in drafts]
    streams: dict[str, list[Draft]] = {}
    for draft in timed:
        streams.setdefault(prepare(VOCABULARY, draft, 0).subject, []).append(draft)
    names = [name for name, events in streams.items() for _ in events]
    order.shuffle(names)
    remaining = {name: iter(events) for name, events in streams.items()}
    mixed = [next(remaining[name]) for name in names]
    reference_model.view_agrees(
        calibration_of(mixed).view(CalibrationFilter(), group_by, 2),
        reference_model.report(lines_of(timed)),
        CalibrationFilter(),
        group_by,
        2,
    )


def _at(draft: Draft, moment: datetime) -> Draft:
    draft.time = moment
    return draft


@pytest.mark.skipif(not CSV.is_file(), reason="the confidences are not beside this checkout")
def test_the_figures_of_four_language_models() -> None:
    """8,815 confidences, written by the models themselves, as the events of four agents."""
    known = json.loads(KNOWN.read_bytes())["real_llm"]["per_agent"]
    drafts: list[Draft] = []
    with CSV.open(newline="") as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            stated = float(row["confidence"])
            drafts.append(record(f"q{number}", stated, agent=row["agent"], category=row["category"]))
            drafts.append(review(f"q{number}", "success" if row["outcome"] == "1" else "failure"))
    calibration = calibration_of(drafts)
    for agent, exact in known.items():
        overall = calibration.view(CalibrationFilter(agent=agent)).overall
        assert overall is not None
        assert overall.reviewed == overall.total == exact["n"]
        assert overall.accuracy == pytest.approx(exact["mean_outcome"], abs=1e-12)
        assert overall.mean_confidence == pytest.approx(exact["mean_confidence"], abs=1e-12)
        assert overall.gap == pytest.approx(exact["gap"], abs=1e-12)
        assert overall.brier_score == pytest.approx(exact["brier"], abs=1e-12)
    rows_by_agent = {group.group: group for group in calibration.view(CalibrationFilter(), "agent").groups}
    assert {agent: group.reviewed for agent, group in rows_by_agent.items()} == {
        agent: exact["n"] for agent, exact in known.items()
    }
    assert [rows_by_agent[agent].brier_score for agent in known] == [
        pytest.approx(exact["brier"], abs=1e-12) for exact in known.values()
    ]


def test_two_reviews_are_too_few_and_the_advice_says_so() -> None:
    view = calibration_of(judged((0.95, "S"), (0.92, "S"))).view(CalibrationFilter())
    assert (view.overall, view.buckets) == (None, ())
    (advice,) = view.recommendations
    assert advice.type == "insufficient_data"
    assert "Only 2 reviewed" in advice.message


@pytest.mark.parametrize("least", [1, 2, 3, 5, 7])
def test_min_decisions_is_honoured_exactly(least: int) -> None:
    enough = calibration_of(judged((0.8, "S" * least + "---"), (None, "S")))
    short = calibration_of(judged((0.8, "S" * (least - 1) + "---"), (None, "S")))
    assert enough.view(CalibrationFilter(), min_decisions=least).overall is not None
    view = short.view(CalibrationFilter(), min_decisions=least)
    assert view.overall is None
    assert f"Only {least - 1} reviewed decisions found. Need at least {least}" in view.recommendations[0].message
    (group,) = enough.view(CalibrationFilter(), "agent", least).groups
    assert (group.reviewed, group.total, group.accuracy) == (least, least + 4, 1.0)
    (group,) = short.view(CalibrationFilter(), "agent", least).groups
    assert (group.reviewed, group.total, group.accuracy) == (least - 1, least + 3, None)


def test_below_the_minimum_buckets_and_spread_are_still_shown() -> None:
    view = calibration_of(judged((0.95, "SSS"))).view(CalibrationFilter())
    assert view.overall is None
    assert [bucket.decisions for bucket in view.buckets] == [3]
    assert view.confidence_stats is not None


def test_a_missing_confidence_is_never_a_half() -> None:
    calibration = calibration_of(judged((0.9, "SSSSF"), (None, "FFFFF--")))
    overall = calibration.view(CalibrationFilter()).overall
    assert overall is not None
    assert (overall.reviewed, overall.total) == (5, 12)
    assert overall.mean_confidence == pytest.approx(0.9, abs=1e-12)
    stats = calibration.view(CalibrationFilter()).confidence_stats
    assert stats is not None
    assert (stats.count, list(stats.tenths)) == (5, ["0.9-1.0"])
    assert [group.group for group in calibration.view(CalibrationFilter()).groups] == ["0.9-1.0"]


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        ([review("d")], 0.9),
        ([amend("d", confidence=0.6), review("d")], 0.6),
        ([amend("d", confidence=0.6), amend("d", confidence=0.3), review("d")], 0.3),
        ([amend("d", confidence=0.6), amend("d", confidence=0.9), review("d")], 0.9),
        ([amend("d", tags=("a",)), think("d", "hmm"), review("d")], 0.9),
        ([review("d"), amend("d", confidence=0.1)], 0.9),
        ([review("d", "failure"), amend("d", confidence=0.1), review("d")], 0.9),
        ([amend("d", confidence=0.6), review("d", "partial"), amend("d", confidence=0.1), review("d")], 0.6),
    ],
)
def test_the_confidence_before_the_first_review_counts(changes: list[Draft], counted: float) -> None:
    view = calibration_of([record("d", 0.9), *changes]).view(CalibrationFilter(), min_decisions=1)
    assert view.overall is not None
    assert view.confidence_stats is not None
    assert (view.overall.mean_confidence, view.overall.accuracy) == (counted, 1.0)
    assert (view.confidence_stats.min, view.confidence_stats.max, view.overall.total) == (counted, counted, 1)


def test_a_confidence_stated_only_after_the_review_never_counts() -> None:
    view = calibration_of([record("d"), review("d"), amend("d", confidence=0.9)]).view(
        CalibrationFilter(), min_decisions=1
    )
    assert (view.overall, view.confidence_stats) == (None, None)
    before = calibration_of([record("d"), amend("d", confidence=0.9), review("d")]).view(
        CalibrationFilter(), min_decisions=1
    )
    assert before.overall is not None


@pytest.mark.parametrize("last", "SPFA")
def test_the_latest_review_counts_once(last: str) -> None:
    drafts = [record("d", 0.5), *(review("d", OUTCOMES[one]) for one in "SPFASS"), review("d", OUTCOMES[last])]
    overall = calibration_of(drafts).view(CalibrationFilter(), min_decisions=1).overall
    assert overall is not None
    assert overall.reviewed == 1
    assert overall.accuracy == {"S": 1.0, "P": 0.5}.get(last, 0.0)


ABOUT = {"agent": "bo", "category": "tooling", "stakes": "high", "project": "ledger", "feature": "export"}
OTHER = {"agent": "ada", "category": "process", "stakes": "low", "project": "probes", "feature": "import"}


@pytest.mark.parametrize("number", range(1, len(ABOUT) + 1))
def test_filters_each_and_combined(number: int) -> None:
    """The decisions that share all the named values pass, and no other."""
    fields = list(ABOUT)
    drafts: list[Draft] = []
    for index in range(2 ** len(fields)):
        chosen = {name: (ABOUT if index >> bit & 1 else OTHER)[name] for bit, name in enumerate(fields)}
        drafts += [record(f"d{index}", 0.5, **chosen), review(f"d{index}")]
    calibration = calibration_of(drafts)
    for names in combinations(fields, number):
        overall = calibration.view(
            replace(CalibrationFilter(), **{name: ABOUT[name] for name in names}), min_decisions=1
        ).overall
        assert overall is not None
        assert overall.total == 2 ** (len(fields) - number)


def test_a_filter_that_nothing_passes() -> None:
    calibration = calibration_of(judged((0.5, "SSSSS"), project="ledger"))
    for wanted in (
        CalibrationFilter(project="led"),
        CalibrationFilter(agent="/agents/ada"),
        CalibrationFilter(category="process"),
        CalibrationFilter(project=""),
    ):
        view = calibration.view(wanted, "project")
        assert (view.overall, view.groups, view.buckets, view.confidence_stats) == (None, (), (), None)


MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, 3),
        (NOON, None, 2),
        (None, NOON, 2),
        (NOON, NOON, 1),
        (NOON - MICROSECOND, NOON + MICROSECOND, 3),
        (NOON + MICROSECOND, None, 1),
        (None, NOON - MICROSECOND, 1),
        (NOON + 2 * MICROSECOND, None, 0),
        (NOON + MICROSECOND, NOON, 0),
    ],
)
@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
def test_both_ends_of_a_range_are_in_it_to_the_microsecond(
    since: datetime | None, until: datetime | None, expected: int, zone: timezone
) -> None:
    drafts: list[Draft] = []
    for offset in (-1, 0, 1):
        name = f"d{offset + 1}"
        drafts += [record(name, 0.5, time=NOON + offset * MICROSECOND), review(name)]
    ends = [None if end is None else end.astimezone(zone) for end in (since, until)]
    view = calibration_of(drafts).view(CalibrationFilter(range=TimeRange(*ends)), "agent", 1)
    assert sum(group.total for group in view.groups) == expected
    assert (view.overall.total if view.overall is not None else 0) == expected


def test_a_range_is_of_the_decisions_own_times_and_not_of_their_reviews() -> None:
    drafts = [record("old", 0.5, time=NOON), review("old"), record("new", 0.5), review("new")]
    overall = calibration_of(drafts).view(CalibrationFilter(range=TimeRange(until=NOON)), min_decisions=1).overall
    assert overall is not None
    assert (overall.reviewed, overall.total) == (1, 1)


def test_groups_are_in_order_with_the_unnamed_last() -> None:
    drafts = [
        *judged((0.95, "SSSSF"), prefix="a", project="zeta", category="b", stakes="low", agent="bo"),
        *judged((0.6, "SSF"), prefix="b", project="alpha", category="a", agent="ada"),
        *judged((None, "SS"), prefix="c", feature="x", agent="cyd"),
    ]
    calibration = calibration_of(drafts)

    def rows(group_by: GroupBy) -> list[tuple[str | None, int, int]]:
        return [(row.group, row.reviewed, row.total) for row in calibration.view(CalibrationFilter(), group_by).groups]

    assert rows("confidence_bucket") == [("0.9-1.0", 5, 5), ("0.5-0.7", 3, 3)]
    assert rows("agent") == [("ada", 3, 3), ("bo", 5, 5), ("cyd", 0, 2)]
    assert rows("project") == [("alpha", 3, 3), ("zeta", 5, 5), (None, 0, 2)]
    assert rows("category") == [("a", 3, 3), ("b", 5, 5), (None, 0, 2)]
    assert rows("stakes") == [("low", 5, 5), (None, 3, 5)]
    assert rows("feature") == [("x", 0, 2), (None, 8, 8)]
    bo = next(row for row in calibration.view(CalibrationFilter(), "agent").groups if row.group == "bo")
    assert bo.brier_score == pytest.approx(0.1825, abs=1e-12)
    assert bo.interpretation == "overconfident"
    assert calibration.view(CalibrationFilter(), "stakes").groups[1].accuracy is None, (
        f"3 are fewer than {MIN_DECISIONS}"
    )


def test_the_summary_is_the_view_of_everything() -> None:
    summary = calibration_of(judged((0.8, "SSSSF"))).summary()
    assert summary["overall"] is not None
    assert json.dumps(summary)
    assert Calibration().summary()["overall"] is None


def test_a_view_taken_stays_as_it_was() -> None:
    """What is handed out holds nothing of the state: folding goes on, and the view does not move."""
    drafts = judged((0.8, "SSSSF"), (0.6, "SF"))
    events = events_of([*drafts, *judged((0.9, "FFF"), prefix="later")])
    calibration = Calibration()
    calibration.fold(events[: len(drafts)])
    before = calibration.view(CalibrationFilter(range=TimeRange(until=NOON + timedelta(days=999))), "agent")
    kept = repr(before)
    calibration.fold(events[len(drafts) :])
    assert repr(before) == kept
    assert repr(calibration.view(CalibrationFilter(), "agent")) != kept


@pytest.mark.slow
@pytest.mark.trial("C5")
@given(
    drafts=histories(),
    group_by=st.sampled_from(GROUPINGS),
    limit=st.integers(1, 3),
    sort=st.sampled_from(GROUP_SORTS),
)
@settings(max_examples=100, deadline=None)
def test_pages_of_groups_are_the_whole(drafts: list[Draft], group_by: GroupBy, limit: int, sort: GroupSort) -> None:
    calibration = calibration_of(drafts)
    whole = calibration.view(CalibrationFilter(), group_by, 1)
    assert whole.groups_total is None
    rows: list[CalibrationGroup] = []
    selection, offset = calibration.selection(CalibrationFilter()), 0
    table = selection.table()
    evidence = find_evidence(selection, calibration.decisions(CalibrationFilter()), group_by, no_check)
    while True:
        page = build_calibration_view(
            table, group_by, 1, curves=False, page=GroupPage(limit, offset, sort), evidence=evidence
        )
        rows += page.groups
        assert page.overall == whole.overall
        if not page.groups_next:
            break
        assert (page.groups_total, page.groups_next) == (len(whole.groups), offset + limit)
        offset = page.groups_next
    ordered = whole.groups if sort == "name" else sorted(whole.groups, key=lambda group: -group.total)
    for row, expected in zip(rows, ordered, strict=True):
        assert replace(row, shrunk_gap=None, shrunk_weight=None) == replace(
            expected, shrunk_gap=None, shrunk_weight=None
        )
        assert row.shrunk_gap == pytest.approx(expected.shrunk_gap, abs=1e-9)
        assert row.shrunk_weight == pytest.approx(expected.shrunk_weight, abs=1e-6)


def test_a_computation_is_stopped_between_groups() -> None:
    table = calibration_of([*judged((0.9, "SSSSF"), agent="ada"), *judged((0.6, "SSF"), agent="bo", prefix="b")]).table(
        CalibrationFilter()
    )
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_calibration_view(table, "agent", 1, curves=False, check=check)
