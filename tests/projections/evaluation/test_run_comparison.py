"""Two evaluations compared: each rule with its numbers, and laws over any two runs."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from events.envelope import Draft
from events.evaluation import Component
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import Evaluation, RunComparison
from projections.stats.sign_flips import sign_flip_p_value
from tallystick.shapes.parts import Interval
from tests.projections.short_evaluations import (
    begin,
    evaluation,
    fail,
    found,
    score,
    skip,
)

A, B = "a" * 64, "b" * 64


def compared(before: list[Draft], after: list[Draft]) -> RunComparison:
    return compare_runs(evaluation(begin("old"), *before), evaluation(begin("new"), *after))


def digests(fixture: str, expectation: str) -> dict[str, str]:
    return {"fixture_digest": fixture, "expectation_digest": expectation}


def scorer(version: str) -> dict[str, str]:
    return {"scorer_id": "rca", "scorer_version": version}


def names(changes: tuple[Any, ...]) -> list[str]:
    return [change.scenario_id for change in changes]


@given(lost=st.integers(0, 60), won=st.integers(0, 60))
@settings(max_examples=30, deadline=None)
def test_with_one_attempt_at_each_scenario_it_is_mcnemars_test(lost: int, won: int) -> None:
    ids = [f"s{number}" for number in range(lost + won)]
    before = [score("old", name, 90 if number < lost else 20) for number, name in enumerate(ids)]
    after = [score("new", name, 20 if number < lost else 90) for number, name in enumerate(ids)]
    expected = stats.binomtest(lost, lost + won, 0.5).pvalue if lost + won else None
    assert compared(before, after).mcnemar.p == pytest.approx(expected)


def attempts(run: str, passed: npt.NDArray[np.bool_]) -> Evaluation:
    """A run in which each scenario, a row, has an attempt for each column."""
    scores = [
        score(run, f"s{row}", 90 if result else 20, column + 1)
        for row, results in enumerate(passed.tolist())
        for column, result in enumerate(results)
    ]
    return evaluation(begin(run), *scores)


@pytest.mark.defect(11)
def test_one_deterministic_scenario_that_fails_ten_times_is_one_scenario() -> None:
    """One of 20 scenarios flips, with 10 attempts: McNemar's test of the attempts gave p = 0.002."""
    before = np.ones((20, 10), dtype=bool)
    after = before.copy()
    after[0] = False
    found_ = compare_runs(attempts("old", before), attempts("new", after))
    assert (found_.mcnemar.passed_to_failed, found_.mcnemar.failed_to_passed, found_.mcnemar.p) == (10, 0, 1.0)


def test_scenarios_that_cancel_out_have_p_1() -> None:
    before = np.array([[True, True], [False, False]])
    found_ = compare_runs(attempts("old", before), attempts("new", ~before))
    assert (found_.mcnemar.passed_to_failed, found_.mcnemar.failed_to_passed, found_.mcnemar.p) == (2, 2, 1.0)


@pytest.mark.slow
@pytest.mark.defect(11)
@pytest.mark.parametrize("identical", [False, True], ids=["scenario by version", "identical attempts"])
@pytest.mark.parametrize("scenarios", [10, 20, 60])
def test_equal_versions_differ_in_at_most_6_percent(scenarios: int, *, identical: bool) -> None:
    """Each version is better at some scenarios by chance, and no better on the whole; 10 attempts at each."""
    rng = np.random.default_rng(scenarios)
    shape = (4_000, scenarios)
    rates = [stats.norm.cdf(rng.normal(0, 1, shape) + effect) for effect in rng.normal(0, 0.7, (2, *shape))]
    passes = [10 * (rng.random(shape) < rate) if identical else rng.binomial(10, rate) for rate in rates]
    nets = (passes[1] - passes[0]).astype(np.int64)
    p = np.array([sign_flip_p_value(net) for net in nets])
    assert (p <= 0.05).mean() <= 0.06


def test_the_difference_is_paired_over_scenarios_with_its_interval() -> None:
    before = [score("old", "a", 60), score("old", "b", 80), score("old", "c", 70)]
    after = [score("new", "a", 50), score("new", "b", 60), score("new", "c", 40)]
    found_ = compared(before, after)
    assert (found_.scenarios, found_.pairs) == (3, 3)
    assert (found_.mean_baseline, found_.mean_candidate, found_.difference) == (70, 50, -20)
    half = 4.302652729749464 * 10 / 3**0.5
    interval = found_.difference_interval
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([-20 - half, -20 + half])
    assert (found_.mcnemar.passed_to_failed, found_.mcnemar.failed_to_passed, found_.mcnemar.p) == (2, 0, 0.5)


def test_one_scenario_or_differences_all_alike_have_no_interval() -> None:
    one = compared([score("old", "a", 60)], [score("new", "a", 50)])
    assert (one.difference, one.difference_interval) == (-10, None)
    alike = compared([score("old", n, 60) for n in "abc"], [score("new", n, 50) for n in "abc"])
    assert (alike.difference, alike.difference_interval) == (-10, None)
    nothing = compared([], [])
    assert (nothing.difference, nothing.mean_baseline, nothing.mcnemar.p) == (None, None, None)


def test_weights_are_those_of_the_candidate() -> None:
    before = [score("old", "a", 60, weight=9), score("old", "b", 80)]
    after = [score("new", "a", 60, weight=3), score("new", "b", 40)]
    assert compared(before, after).difference == -10


def test_regressed_is_what_passed_and_does_not_the_most_points_lost_first() -> None:
    before = [score("old", name, 90) for name in ("a", "b", "c", "d", "e")] + [score("old", "f", 30)]
    after = [
        score("new", "a", 60), score("new", "b", 10), fail("new", "c", failure="crash", detail="exit 1"),
        score("new", "d", 80), score("new", "e", 95), score("new", "f", 30),
    ]  # fmt: skip
    reported = compared(before, after)
    assert [(one.scenario_id, one.difference, one.reason) for one in reported.regressed] == [
        ("c", -90, "crash: exit 1"), ("b", -80, None), ("a", -30, None),
    ]  # fmt: skip
    assert [(one.scenario_id, one.before, one.after) for one in reported.lower] == [("d", 90, 80)]
    assert names(reported.improved) == ["e"]
    assert [(one.scenario_id, one.errors_after) for one in reported.errors] == [("c", 1)]
    assert (reported.regressions, reported.unchanged) == (3, 1)


def test_what_is_missing_or_skipped_now_is_a_regression_and_what_is_new_is_none() -> None:
    before = [score("old", "a", 90), score("old", "b", 20), skip("old", "c"), score("old", "d", 90)]
    after = [score("new", "d", 90), skip("new", "b"), score("new", "c", 50), score("new", "e", 10)]
    reported = compared(before, after)
    assert [(one.scenario_id, one.reason, one.before) for one in reported.missing] == [
        ("a", "not scored", 90),
        ("b", "skipped", 20),
    ]
    assert [(one.scenario_id, one.before, one.after) for one in reported.added] == [("c", None, 50), ("e", None, 10)]
    assert (reported.regressions, reported.regressed, reported.scenarios) == (2, (), 1)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"fixture_digest": A}, {"fixture_digest": B}, "fixture changed"),
        (
            {"fixture_digest": A, "expectation_digest": A},
            {"fixture_digest": B, "expectation_digest": B},
            "expectations changed",
        ),
        (
            {"fixture_digest": A, "expectation_digest": A},
            {"fixture_digest": B, "expectation_digest": A},
            "fixture changed",
        ),
        ({"expectation_digest": A}, {"expectation_digest": B}, "expectations changed"),
        ({"fixture_digest": A}, {}, "fixture known on one side alone"),
        ({}, {"expectation_digest": A}, "expectations known on one side alone"),
        ({"fixture_digest": A, "expectation_digest": A}, {"fixture_digest": A}, None),
        (
            {"scorer_id": "rca", "scorer_version": "1"},
            {"scorer_id": "rca", "scorer_version": "2"},
            "scorer changed: rca@1, now rca@2",
        ),
        ({}, {"scorer_id": "rca"}, "scorer changed: unknown, now rca"),
        ({}, {}, None),
    ],
)
def test_what_is_not_known_to_be_alike_does_not_compare(
    before: dict[str, Any], after: dict[str, Any], reason: str | None
) -> None:
    reported = compared([score("old", "a", 90, **before)], [score("new", "a", 10, **after)])
    assert [one.reason for one in reported.not_comparable] == ([] if reason is None else [reason])
    assert reported.regressions == (reason is None)
    if reason is not None:
        (one,) = reported.not_comparable
        assert (one.before, one.after, one.attempts, reported.scenarios) == (90, 10, 0, 0)


def test_an_error_need_not_say_what_it_is_of() -> None:
    reported = compared([score("old", "a", 90, fixture_digest=A, scorer_id="rca")], [fail("new", "a")])
    assert (names(reported.regressed), reported.not_comparable) == (["a"], ())
    changed = compared([score("old", "a", 90, fixture_digest=A)], [fail("new", "a", fixture_digest=B)])
    assert [one.reason for one in changed.not_comparable] == ["fixture changed"]
    assert [(one.scenario_id, one.reason) for one in changed.errors] == [("a", "error")]


def test_attempts_are_paired_and_those_of_one_side_have_no_part() -> None:
    before = [score("old", "a", 90, 1), score("old", "a", 20, 2)]
    after = [score("new", "a", 20, 1), score("new", "a", 90, 2), score("new", "a", 20, 3)]
    reported = compared(before, after)
    assert (reported.pairs, reported.regressed, reported.unchanged) == (2, (), 1)
    assert (reported.mcnemar.passed_to_failed, reported.mcnemar.failed_to_passed, reported.mcnemar.p) == (1, 1, 1)
    fell = compared(before, [score("new", "a", 20, 1), score("new", "a", 20, 2)])
    (worse,) = fell.regressed
    assert (worse.attempts, worse.passed_before, worse.passed_after, worse.difference) == (2, 1, 0, -35)
    apart = compared([score("old", "a", 90, 1)], [score("new", "a", 20, 2)])
    assert [one.reason for one in apart.not_comparable] == ["no attempt of the same number"]


def test_an_error_before_counts_as_no_pass() -> None:
    reported = compared([fail("old", "a")], [score("new", "a", 80)])
    assert [(one.scenario_id, one.difference) for one in reported.improved] == [("a", 80)]
    assert reported.mcnemar.failed_to_passed == 1


def test_lost_and_gained_are_the_patterns_that_match_less_and_more_often() -> None:
    rows = [("root_cause.patterns[0]", "limit"), ("root_cause.patterns[1]", "OOM"), ("root_cause.none_of[0]", "not")]

    def parts(*matched: bool) -> tuple[Component, ...]:
        return found(*((*row, hit) for row, hit in zip(rows, matched, strict=True)))

    before = [
        score("old", "a", 90, 1, components=parts(True, True, False)),
        score("old", "a", 90, 2, components=parts(False, True, False)),
    ]
    after = [
        score("new", "a", 20, 1, components=parts(False, False, True)),
        score("new", "a", 20, 2, components=parts(True, True, False)),
    ]
    (worse,) = compared(before, after).regressed
    assert [(one.expectation, one.pattern) for one in worse.lost] == [rows[1]], "limit matches as often as before"
    assert [(one.expectation, one.pattern) for one in worse.gained] == [rows[2]]


@st.composite
def runs(draw: st.DrawFn, run: str) -> Evaluation:
    """A run over a few scenarios, of one fixture."""
    drafts = [begin(run)]
    for name in draw(st.lists(st.sampled_from("abcde"), unique=True)):
        for attempt in range(1, draw(st.integers(1, 3)) + 1):
            points = draw(st.none() | st.sampled_from((0.0, 50.0, 70.0, 100.0)))
            drafts.append(fail(run, name, attempt) if points is None else score(run, name, points, attempt))
    return evaluation(*drafts)


@pytest.mark.slow
@given(before=runs("old"), after=runs("new"))
@settings(max_examples=150, deadline=None)
def test_every_scenario_is_in_one_list(before: Evaluation, after: Evaluation) -> None:
    reported = compare_runs(before, after)
    places = [
        reported.regressed,
        reported.lower,
        reported.improved,
        reported.missing,
        reported.added,
        reported.not_comparable,
    ]
    named = [name for place in places for name in names(place)]
    assert len(named) == len(set(named))
    either = {one.scenario_id for one in (*before.results, *after.results)}
    assert len(either) - len(named) == reported.unchanged
    assert reported.scenarios == reported.unchanged + len(reported.regressed) + len(reported.lower) + len(
        reported.improved
    )
    assert reported.regressions == len(reported.regressed) + len(reported.missing)
    assert sorted(names(reported.errors)) == [one.scenario_id for one in after.results if one.errors]
    if reported.difference is not None:
        assert reported.mean_candidate is not None
        assert reported.difference == pytest.approx(reported.mean_candidate - (reported.mean_baseline or 0))


@pytest.mark.slow
@given(before=runs("old"), after=runs("new"))
@settings(max_examples=100, deadline=None)
def test_the_other_way_round_is_the_opposite(before: Evaluation, after: Evaluation) -> None:
    there, back = compare_runs(before, after), compare_runs(after, before)
    assert names(there.missing) == names(back.added)
    assert (there.mcnemar.passed_to_failed, there.mcnemar.p) == (back.mcnemar.failed_to_passed, back.mcnemar.p)
    assert set(names(there.regressed)) <= set(names(back.improved))
    assert there.difference == (None if back.difference is None else pytest.approx(-back.difference))
    same = compare_runs(before, before)
    assert (same.regressions, same.unchanged, same.difference_interval) == (0, same.scenarios, None)
    assert same.difference in (None, 0)


def test_an_interval_stays_within_what_points_can_differ_by() -> None:
    reported = compared([score("old", "a", 0), score("old", "b", 0)], [score("new", "a", 100), score("new", "b", 0)])
    assert reported.difference_interval == Interval(-100, 100)
