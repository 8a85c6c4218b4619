"""The scoreboard: each rule with its numbers, and every figure against a plain reading of the same history."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from events.envelope import Draft, source_of
from events.evaluation import EvalScored
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.run_summaries import summarize_runs
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.view_types import Scoreboard, ScoreboardRow, SuiteScoreboard
from tests.projections.drafts import post
from tests.projections.evaluation.test_evaluation_index import FIGURES, plain
from tests.projections.random_histories import NOON, evaluations, events_of
from tests.projections.short_evaluations import (
    begin,
    current,
    end,
    evaluation,
    fail,
    interval_of,
    mean_of,
    newest,
    pooled,
    report,
    score,
    skip,
    weights_of,
)

A, B = "a" * 64, "b" * 64


def board(*drafts: Draft, suite: str | None = None, agent: str | None = None) -> Scoreboard:
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    return build_scoreboard(projection.scores(), ScoreboardQuery(suite=suite, agent=agent))


def only(*drafts: Draft) -> SuiteScoreboard:
    (found,) = board(*drafts).suites
    return found


def versions(found: SuiteScoreboard) -> list[tuple[str | None, str | None]]:
    return [(row.agent, row.agent_version) for row in found.rows]


@pytest.mark.slow
@given(drafts=evaluations(60))
@settings(max_examples=200, deadline=None)
def test_the_board_is_what_a_plain_reading_says(drafts: list[Draft]) -> None:
    reported = report(events_of(drafts))
    shown = board(*drafts)
    assert [one.suite for one in shown.suites] == sorted({one.suite for one in reported})
    for found in shown.suites:
        scores = [one for one in reported if one.suite == found.suite]
        kept = current(scores)
        weights = {one.scenario: 1.0 for one in scores} | weights_of(sorted(kept, key=lambda one: one.time))
        assert found.scenarios == len({one.scenario for one in scores})
        assert found.scorer_id == newest(scores, "scorer")
        keys = {(one.agent, one.version, one.baseline) for one in scores}
        rows = {(row.agent, row.agent_version, row.baseline): row for row in found.rows}
        assert rows.keys() == keys
        assert len(found.trend) == sum(row.baseline is None for row in found.rows)
        for key, row in rows.items():
            own = [one for one in scores if (one.agent, one.version, one.baseline) == key]
            mine = [one for one in own if one in kept]
            expected = {name: figure for name, figure in pooled(mine, weights).items() if figure is not None}
            figures = plain(row, FIGURES)
            assert figures.keys() == expected.keys()
            for name, figure in expected.items():
                assert figures[name] == pytest.approx(figure, abs=1e-9), name
            assert row.superseded == len(own) - len(mine)
            assert row.runs == len({one.run for one in own})
            assert row.unfinished == len({one.run for one in own if not one.ended})
            assert row.first_at == datetime.fromisoformat(min(one.started for one in own))
            assert row.last_at == datetime.fromisoformat(max(one.started for one in own))


def test_runs_of_a_version_are_taken_together() -> None:
    found = only(
        begin("r1", agent_version="1"), score("r1", "a", 90), score("r1", "b", 60), end("r1"),
        begin("r2", agent_version="1"), score("r2", "a", 60), fail("r2", "b"), skip("r2", "c"),
    )  # fmt: skip
    (row,) = found.rows
    assert (row.runs, row.unfinished, row.scenarios, row.scored, row.errors, row.skipped) == (2, 1, 3, 3, 1, 1)
    assert (row.mean, row.mean_scored, row.pass_rate) == ((75 + 30) / 2, (75 + 60) / 2, 0.25)
    assert [(one.scenario_id, one.verdict, one.pass_rate) for one in row.results] == [
        ("a", "flaky", 0.5), ("b", "failing", 0.0), ("c", "skipped", None),
    ]  # fmt: skip
    assert all(not one.rows for one in row.results)


@pytest.mark.parametrize("failure", ["judge", "embeddings", "component"])
def test_an_error_of_what_scores_is_in_no_figure(failure: str) -> None:
    found = only(
        begin("r"), score("r", "a", 90), fail("r", "a", 2, failure=failure), score("r", "b", 80),
        fail("r", "b", 2, failure="crash"), fail("r", "c", failure=failure), end("r"),
    )  # fmt: skip
    (row,) = found.rows
    assert (row.scenarios, row.scored, row.errors, row.unmeasured) == (3, 2, 3, 2)
    assert (row.mean, row.mean_scored, row.pass_rate) == ((90 + 40) / 2, 85, 0.75)
    assert (row.stable, row.flaky, row.failing, row.broken) == (1, 1, 0, 1)
    assert [(one.scenario_id, one.verdict, one.measured, one.attempts, one.mean) for one in row.results] == [
        ("a", "stable", 1, 2, 90), ("b", "flaky", 2, 2, 40), ("c", "error", 0, 1, None),
    ]  # fmt: skip


def test_where_nothing_could_be_scored_there_is_no_figure() -> None:
    (row,) = only(begin("r"), *(fail("r", name, failure="judge") for name in "ab"), end("r")).rows
    assert (row.mean, row.mean_scored, row.pass_rate, row.pass_of) == (None, None, None, ())
    assert (row.broken, row.failing, row.unmeasured) == (2, 0, 2)


def test_the_interval_of_a_mean_is_over_scenarios_however_often_each_was_tried() -> None:
    once = only(begin("r"), *(score("r", name, points) for name, points in (("a", 60), ("b", 70), ("c", 80)))).rows[0]
    often = only(
        begin("r"),
        *(score("r", name, points, n) for name, points in (("a", 60), ("b", 70), ("c", 80)) for n in range(1, 9)),
    ).rows[0]
    half = 4.302652729749464 * 10 / 3**0.5
    assert once.mean_interval is not None
    assert [once.mean_interval.low, once.mean_interval.high] == pytest.approx([70 - half, 70 + half])
    assert (often.mean_interval, often.pass_interval) == (once.mean_interval, once.pass_interval)
    assert once.pass_interval is not None
    assert [once.pass_interval.low, once.pass_interval.high] == pytest.approx([0.2076597, 0.9385082])


def test_what_a_suite_held_before_is_counted_apart() -> None:
    old: dict[str, Any] = {"fixture_digest": A, "scorer_id": "rca", "scorer_version": "1"}
    found = only(
        begin("r1", agent_version="1"), score("r1", "a", 90, **old), score("r1", "b", 90, **old), end("r1"),
        begin("r2", agent_version="2"), score("r2", "b", 80, **old),
        score("r2", "a", 40, **old | {"fixture_digest": B}),
    )  # fmt: skip
    rows = {row.agent_version: row for row in found.rows}
    assert (rows["1"].mean, rows["1"].superseded, rows["1"].scenarios) == (90, 1, 1)
    assert (rows["2"].mean, rows["2"].difference, rows["2"].regressed) == (60, -10, ())
    again = only(
        begin("r1", agent_version="1"), score("r1", "a", 90, **old), end("r1"),
        begin("r2", agent_version="2"), score("r2", "a", 40, **old | {"scorer_version": "2"}), end("r2"),
    )  # fmt: skip
    rows = {row.agent_version: row for row in again.rows}
    assert (again.scorer_id, again.scorer_version) == ("rca", "2")
    assert (rows["1"].mean, rows["1"].superseded, rows["1"].runs, rows["2"].mean) == (None, 1, 1, 40)


def test_what_states_no_digest_or_scorer_counts() -> None:
    found = only(
        begin("r1"), score("r1", "a", 90, fixture_digest=A, scorer_id="rca", scorer_version="1"), end("r1"),
        begin("r2"), score("r2", "a", 50), end("r2"),
    )  # fmt: skip
    assert (found.rows[0].mean, found.rows[0].superseded) == (70, 0)


def test_the_newest_is_so_by_its_time_and_not_by_when_it_was_posted() -> None:
    found = only(
        begin("r1"),
        score("r1", "a", 90, fixture_digest=B),
        begin("r2", agent_version="old"),
        post(
            EvalScored(
                run_id="r2", scenario_id="a", attempt=1, state="scored", total_score=10, passed=False, fixture_digest=A
            ),
            time=NOON - timedelta(days=30),
        ),
    )
    assert {row.agent_version: row.superseded for row in found.rows} == {None: 0, "old": 1}


def test_baselines_come_after_the_agents_whatever_the_filter() -> None:
    drafts = [
        begin("r1", agent="baseline", baseline="empty"), score("r1", "a", 0),
        begin("r2", agent="baseline", baseline="most_frequent"), score("r2", "a", 100),
        begin("r3", agent="weak"), score("r3", "a", 10), begin("r4", agent="strong"), score("r4", "a", 90),
    ]  # fmt: skip
    assert versions(only(*drafts)) == [("strong", None), ("weak", None), ("baseline", None), ("baseline", None)]
    assert [row.baseline for row in only(*drafts).rows] == [None, None, "most_frequent", "empty"]
    (weak,) = board(*drafts, agent="weak").suites
    assert [(row.agent, row.baseline) for row in weak.rows] == [
        ("weak", None), ("baseline", "most_frequent"), ("baseline", "empty"),
    ]  # fmt: skip
    assert [point.agent for point in weak.trend] == ["weak"]


def test_suites_are_apart_and_one_can_be_asked_for() -> None:
    drafts = [begin("r1", "one"), score("r1", "a", 90), begin("r2", "two"), score("r2", "a", 10)]
    assert [(one.suite, one.rows[0].mean) for one in board(*drafts).suites] == [("one", 90), ("two", 10)]
    assert [one.suite for one in board(*drafts, suite="two").suites] == ["two"]
    assert board(*drafts, suite="three").suites == board().suites == ()


def test_the_trend_is_by_the_first_run_of_each_version() -> None:
    found = only(
        begin("r1", agent_version="9"), score("r1", "a", 50), begin("r2", agent_version="10"), score("r2", "a", 60),
        begin("r3", agent_version="9"), score("r3", "a", 90), begin("r4", agent="rival"), score("r4", "a", 1),
    )  # fmt: skip
    assert [(one.agent, one.agent_version, one.mean, one.runs) for one in found.trend] == [
        ("rca", "9", 70, 2), ("rca", "10", 60, 1), ("rival", None, 1, 1),
    ]  # fmt: skip
    rows = {(row.agent, row.agent_version): row for row in found.rows}
    assert (rows["rca", "10"].previous_version, rows["rca", "10"].difference) == ("9", -10)
    assert (rows["rca", "9"].previous_version, rows["rival", None].difference) == (None, None)


def test_the_newest_versions_of_each_agent_have_a_row_and_all_are_in_the_trend() -> None:
    drafts = [begin("b", agent="baseline", baseline="empty"), score("b", "a", 0)]
    for number in range(5):
        for agent in ("rca", "rival"):
            run = f"{agent}{number}"
            drafts += [begin(run, agent=agent, agent_version=f"{number}"), score(run, "a", 50 - number)]
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    (found,) = build_scoreboard(projection.scores(), ScoreboardQuery(versions=2)).suites
    assert versions(found) == [("rca", "3"), ("rival", "3"), ("rca", "4"), ("rival", "4"), ("baseline", None)]
    assert found.left_out == 6
    assert [point.agent_version for point in found.trend] == [*"01234"] * 2
    assert next(row.previous_version for row in found.rows) == "2"


def compare(before: list[bool | None], after: list[bool | None]) -> tuple[str, ...]:
    """What regressed in one scenario between two versions whose attempts passed, did not, or were errors."""
    drafts = [begin("r1", agent_version="1"), begin("r2", agent_version="2")]
    for run, passed in (("r1", before), ("r2", after)):
        for attempt, one in enumerate(passed, 1):
            drafts.append(fail(run, "a", attempt) if one is None else score(run, "a", 80 if one else 20, attempt))
    return next(row.regressed for row in only(*drafts).rows if row.agent_version == "2")


@pytest.mark.parametrize(
    ("before", "after", "regressed"),
    [
        ([True], [True], False),
        ([True], [False], True),
        ([True], [None], True),
        ([True, True], [True, False], True),
        ([True, False], [True, False, False], False),
        ([True, False], [False], True),
        ([False], [None], False),
        ([False], [True, False], False),
        ([True] * 9 + [False], [True] + [False] * 9, True),
        ([True] * 6 + [False] * 4, [True] * 4 + [False] * 6, False),
    ],
)
def test_regressed_is_a_worse_verdict_or_a_rate_that_is_surely_lower(
    before: list[bool | None], after: list[bool | None], regressed: bool
) -> None:
    assert compare(before, after) == (("a",) if regressed else ())


def test_the_difference_is_paired_over_the_scenarios_of_both_with_its_interval() -> None:
    found = only(
        begin("r1", agent_version="1"), score("r1", "a", 60, weight=2), score("r1", "b", 80), score("r1", "c", 10),
        begin("r2", agent_version="2"), score("r2", "a", 90, weight=2), score("r2", "b", 70), score("r2", "d", 99),
    )  # fmt: skip
    row = next(row for row in found.rows if row.agent_version == "2")
    gaps, weights = {"a": 30, "b": -10}, {"a": 2.0, "b": 1.0}
    exact = {name: mean_of({name: gap}, weights) or 0 for name, gap in gaps.items()}  # type: ignore[dict-item]
    assert row.difference == pytest.approx(50 / 3)
    assert row.difference_interval is not None
    assert tuple(msgspec.to_builtins(row.difference_interval)) == pytest.approx(interval_of(exact, weights, -100.0))  # type: ignore[arg-type]


def test_who_answered_a_score_has_the_row() -> None:
    found = only(begin("r"), score("r", "a", 90), score("r", "b", 10, agent="rival", agent_version="3"))
    rows: dict[str | None, ScoreboardRow] = {row.agent: row for row in found.rows}
    assert (rows["rca"].mean, rows["rival"].mean, rows["rival"].agent_version) == (90, 10, "3")
    nobody = only(begin("r", agent=None), score("r", "a", 90))
    assert versions(nobody) == [(None, None)]


@pytest.mark.trial("C1")
def test_a_row_says_who_recorded_it_in_the_agent_s_name() -> None:
    def by(agent: str, *drafts: Draft) -> list[Draft]:
        for draft in drafts:
            draft.source = source_of(agent)
        return list(drafts)

    first = by("rca", begin("r1"), score("r1", "pull", 80), end("r1"))
    second = by("bo", begin("r2")) + by("rca", score("r2", "pull", 90)) + by("cyd", score("r2", "push", 0))
    drafts = [*first, *second, *by("bo", end("r2"))]
    (row,) = only(*first).rows
    assert row.recorded_by == ()
    (row,) = only(*drafts).rows
    assert row.recorded_by == ("bo", "cyd")
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    projection = EvaluationIndex.decode(projection.encode())
    shown = summarize_runs(projection.scores(), projection.find(EvaluationSelection()))
    assert [one.recorded_by for one in shown] == [("bo", "cyd"), ()]
    assert evaluation(*second).recorded_by == ("bo", "cyd")
    (row,) = only(*by("bo", begin("r3", agent=None, baseline="empty"), score("r3", "pull", 0))).rows
    assert row.recorded_by == ()
