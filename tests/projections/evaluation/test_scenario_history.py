"""The history of a scenario: its results by run and by version, against the views of whole runs."""

import msgspec
import pytest
from hypothesis import given, settings

from events.envelope import Draft, EventFacts
from events.evaluation import EvalFinished, EvalScored, EvalStarted
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection, ScoreFilter
from projections.evaluation.query_params import ScenarioQuery, ScoreboardQuery
from projections.evaluation.run_summaries import summarize_runs
from projections.evaluation.run_view import build_evaluation
from projections.evaluation.scenario_history import VERSIONS_MAX, ScenarioHistory, build_history
from projections.evaluation.scoreboard import build_scoreboard
from tests.projections.random_evaluations import SCENARIOS, SUITES
from tests.projections.random_histories import evaluations, events_of
from tests.projections.short_evaluations import begin, end, fail, score, skip

A, B = "a" * 64, "b" * 64


def history(*drafts: Draft, scenario: str = "s", **asked: object) -> ScenarioHistory:
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    query = ScenarioQuery(scenario_id=scenario, **{"limit": 50, **asked})  # type: ignore[arg-type]
    return build_history(projection.scores(ScoreFilter(scenario=scenario)), query)


def test_runs_are_the_last_begun_first_and_versions_the_first_begun_first() -> None:
    found = history(
        begin("r1", agent_version="1"), score("r1", "s", 40), score("r1", "other", 100), end("r1"),
        begin("r2", agent_version="2"), score("r2", "s", 90), fail("r2", "s", attempt=2), skip("r2", "s", attempt=3),
    )  # fmt: skip
    assert [(run.run_id, run.verdict, run.ended) for run in found.runs] == [
        ("r2", "flaky", False),
        ("r1", "failing", True),
    ]
    newest = found.runs[0]
    assert (newest.attempts, newest.passed, newest.errors, newest.skipped) == (2, 1, 1, 1)
    assert (newest.mean, newest.mean_scored, newest.pass_rate) == (45, 90, 0.5)
    assert [(each.agent_version, each.attempts, each.passed, each.runs) for each in found.versions] == [
        ("1", 1, 0, 1),
        ("2", 2, 1, 1),
    ]
    assert (found.total, found.next) == (2, None)


def test_scores_of_an_older_content_or_scorer_are_superseded() -> None:
    found = history(
        begin("r1", agent_version="1"), score("r1", "s", 40, fixture_digest=A),
        begin("r2", agent_version="1"), score("r2", "s", 90, fixture_digest=B), score("r2", "s", 90, attempt=2),
        begin("r3", agent_version="1", scorer_id="rca", scorer_version="2"), score("r3", "s", 100, fixture_digest=B),
    )  # fmt: skip
    assert [(run.run_id, run.attempts, run.superseded) for run in found.runs] == [
        ("r3", 1, 0),
        ("r2", 2, 0),
        ("r1", 1, 1),
    ]
    (version,) = found.versions
    assert (version.attempts, version.passed, version.runs) == (3, 3, 2)


def test_baselines_are_the_last_and_other_suites_and_agents_can_be_left_out() -> None:
    drafts = (
        begin("b", agent=None, baseline="empty"), score("b", "s", 0),
        begin("r1", agent="z"), score("r1", "s", 90),
        begin("r2", "drills", agent="a"), score("r2", "s", 90),
        begin("r3", agent="a"), score("r3", "s", 90),
    )  # fmt: skip
    found = history(*drafts)
    assert [(each.suite, each.agent, each.baseline) for each in found.versions] == [
        ("drills", "a", None),
        ("incidents", "a", None),
        ("incidents", "z", None),
        ("incidents", None, "empty"),
    ]
    assert [run.run_id for run in history(*drafts, suite="incidents", agent="a").runs] == ["r3"]
    assert history(*drafts, suite="none").runs == ()


def test_pages_of_runs_and_the_latest_versions() -> None:
    drafts = [
        draft
        for number in range(VERSIONS_MAX + 3)
        for draft in (begin(f"r{number}", agent_version=str(number)), score(f"r{number}", "s", 90))
    ]
    found = history(*drafts, limit=2, offset=1)
    assert [run.run_id for run in found.runs] == [f"r{VERSIONS_MAX + 1}", f"r{VERSIONS_MAX}"]
    assert (found.total, found.next) == (VERSIONS_MAX + 3, 3)
    assert (len(found.versions), found.versions_left_out) == (VERSIONS_MAX, 3)
    assert found.versions[0].agent_version == "3"
    assert history(*drafts, offset=500).runs == ()
    assert history(*drafts, scenario="unknown").total == 0


@pytest.mark.slow
@settings(max_examples=150)
@given(evaluations())
def test_results_by_run_are_those_of_the_runs(drafts: list[Draft]) -> None:
    events = events_of(drafts)
    projection = EvaluationIndex()
    projection.fold(events)
    streams: dict[str | None, list[EventFacts]] = {}
    for event in events:
        if isinstance(event.data, EvalScored | EvalStarted | EvalFinished):
            streams.setdefault(event.data.run_id, []).append(event)
    results = {
        (run_id, result.scenario_id): result
        for run_id, stream in streams.items()
        for result in build_evaluation(stream, {}, {}).results
    }
    for scenario in SCENARIOS:
        scores = projection.scores(ScoreFilter(scenario=scenario))
        found = build_history(scores, ScenarioQuery(scenario_id=scenario, limit=100))
        by_run = {run_id: result for (run_id, scenario_id), result in results.items() if scenario_id == scenario}
        assert {run.run_id for run in found.runs} == by_run.keys()
        for run in found.runs:
            same = ("verdict", "attempts", "passed", "errors", "skipped", "pass_rate", "pass_interval", "mean_scored")
            for name in same:
                assert getattr(run, name) == getattr(by_run[run.run_id], name)
        assert sum(each.attempts for each in found.versions) <= sum(run.attempts for run in found.runs)


@pytest.mark.slow
@settings(max_examples=150)
@given(evaluations())
def test_lists_and_scoreboards_of_filtered_scores_are_those_of_all(drafts: list[Draft]) -> None:
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    for suite in SUITES:
        query = ScoreboardQuery(suite=suite)
        filtered = build_scoreboard(projection.scores(ScoreFilter(suite=suite)), query)
        assert msgspec.json.encode(filtered) == msgspec.json.encode(build_scoreboard(projection.scores(), query))
    rows = projection.find(EvaluationSelection())[:3]
    filtered_rows = summarize_runs(projection.scores(ScoreFilter(runs=rows)), rows)
    assert filtered_rows == summarize_runs(projection.scores(), rows)
