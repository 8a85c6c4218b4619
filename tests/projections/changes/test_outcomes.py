"""The outcomes of changes as of a watermark: answers worked out by hand."""

from datetime import UTC, datetime

import pytest

from projections.changes.outcomes import BORN_LINES_MAX, DAY_S, ChangeFacts, Fix, outcomes_by_agent
from tallystick.shapes.changes import ChangeOutcomes


def change(
    landed: float,
    *,
    reverted: float | None = None,
    fixed: float | None = None,
    by: int = 99,
    agents: tuple[str, ...] = ("claude",),
    born: int = 10,
    alive: tuple[int, ...] = (),
) -> ChangeFacts:
    """A change that landed on a day, and what happened to it on which day."""
    return ChangeFacts(
        agents=agents, marks=("trailer",) * bool(agents), models=("m",) * bool(agents), landed_s=int(landed * DAY_S),
        born=born, reverted_s=None if reverted is None else int(reverted * DAY_S),
        fix=None if fixed is None else Fix(int(fixed * DAY_S), by), alive=alive,
    )  # fmt: skip


def seen(changes: list[ChangeFacts], day: float) -> list[ChangeFacts]:
    """What is known of changes at a day."""
    end_s = day * DAY_S
    return [
        ChangeFacts(
            agents=one.agents, marks=one.marks, models=one.models, landed_s=one.landed_s, born=one.born,
            reverted_s=one.reverted_s if one.reverted_s is not None and one.reverted_s <= end_s else None,
            fix=one.fix if one.fix is not None and one.fix.at_s <= end_s else None, alive=one.alive,
        )
        for one in changes
        if one.landed_s <= end_s
    ]  # fmt: skip


def only(changes: list[ChangeFacts], day: float) -> ChangeOutcomes:
    (figures,) = outcomes_by_agent(changes, int(day * DAY_S))
    return figures


TEN = [
    change(0, reverted=2), change(1, fixed=6), change(12, fixed=20), *(change(day) for day in (3, 4, 5, 6, 6, 14, 17)),
]  # fmt: skip


def test_ten_changes_at_day_20() -> None:
    figures = only(TEN, 20)
    assert figures.matured is not None
    kept = figures.matured.kept
    assert (kept.count, kept.n) == (5, 7)
    assert (kept.rate, kept.interval.low, kept.interval.high) == pytest.approx((5 / 7, 0.358934, 0.917781), abs=1e-6)
    assert (figures.matured.reverted.count, figures.matured.fixed.count) == (1, 1)
    assert figures.estimated is not None
    assert figures.estimated.kept.interval is not None
    interval = figures.estimated.kept.interval
    assert (figures.estimated.kept.rate, interval.low, interval.high) == pytest.approx(
        (21 / 32, 0.336790, 0.877706), abs=1e-6
    )
    assert figures.estimated.reverted.rate == pytest.approx(1 / 10)
    assert figures.estimated.fixed.rate == pytest.approx(39 / 160)
    assert (figures.pending, figures.failed_early) == (2, 1)
    assert figures.first_due == datetime.fromtimestamp(28 * DAY_S, UTC)


def test_ten_changes_at_day_6_have_no_rate_yet() -> None:
    figures = only(seen(TEN, 6), 6)
    assert figures.matured is None
    assert figures.estimated is None
    assert figures.so_far is not None
    assert (figures.so_far.days, figures.so_far.kept.count, figures.so_far.kept.n) == (3, 2, 3)
    assert (figures.pending, figures.failed_early) == (5, 2)


def test_an_early_failure_of_a_young_change_makes_no_rate_worse() -> None:
    old = [change(0) for _ in range(5)]
    before, after = only(old, 15), only([*old, *(change(14, reverted=14.5) for _ in range(50))], 15)
    assert before.matured == after.matured
    assert after.failed_early == 50


def test_a_change_that_is_reverted_and_fixed_is_in_both_counts_and_failed_once() -> None:
    figures = only([change(0, reverted=2, fixed=1), change(0)], 20)
    assert figures.matured is not None
    counts = figures.matured
    assert (counts.kept.count, counts.reverted.count, counts.fixed.count) == (1, 1, 1)
    assert counts.fixed_within_a_day == 1


def test_a_failure_after_the_window_is_none() -> None:
    figures = only([change(0, reverted=14 + 1e-4), change(0, fixed=14)], 40)
    assert figures.matured is not None
    assert (figures.matured.kept.count, figures.matured.reverted.count, figures.matured.fixed.count) == (1, 0, 1)


def test_one_fix_may_repair_several_changes() -> None:
    figures = only([change(0, fixed=3, by=7), change(1, fixed=3, by=7), change(1, fixed=4, by=8)], 20)
    assert figures.matured is not None
    assert (figures.matured.fixed.count, figures.matured.fixes) == (3, 2)


def test_lines_alive_are_pooled_and_by_change() -> None:
    figures = only([change(0, born=30, alive=(30, 15)), change(0, born=10, alive=(0,))], 40)
    assert [(one.days, one.changes, one.lines, one.rate, one.mean_rate) for one in figures.lines_alive] == [
        (14, 2, 40, 0.75, 0.5), (30, 1, 30, 0.5, 0.5),
    ]  # fmt: skip


def test_changes_without_code_or_with_too_much_are_left_out_and_counted() -> None:
    figures = only([change(0), change(0, born=0), change(0, born=BORN_LINES_MAX + 1)], 20)
    assert (figures.landed, figures.with_code, figures.too_large) == (3, 1, 1)
    assert figures.matured is not None
    assert figures.matured.kept.n == 1


def test_agents_with_most_changes_come_first_and_unmarked_last() -> None:
    changes = [change(0, agents=()) for _ in range(9)]
    changes += [change(0, agents=("b",)), *(change(0, agents=("a", "b")) for _ in range(2))]
    found = outcomes_by_agent(changes, 20 * DAY_S)
    assert [(figures.agent, figures.landed) for figures in found] == [("a+b", 2), ("b", 1), ("unmarked", 9)]
    assert (found[0].recognised_by, found[0].models, found[2].recognised_by) == ({"trailer": 2}, {"m": 2}, {})


def test_no_change_has_no_figures() -> None:
    assert list(outcomes_by_agent([], 0)) == []
    figures = only([change(0, born=0)], 20)
    assert (figures.matured, figures.so_far, figures.estimated, figures.lines_alive) == (None, None, None, [])
