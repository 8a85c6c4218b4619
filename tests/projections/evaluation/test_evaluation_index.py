"""The index of evaluations: in short it says what the whole run says, and both what a plain reading says."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from events.envelope import Draft
from events.evaluation import EvalScenarioCaptured, EvalScenarioRevised, EvalStarted
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.evaluation.run_summaries import summarize_runs
from projections.evaluation.run_view import build_evaluation, evidence_digests
from projections.evaluation.view_types import EvaluationSummary, ScoreRow
from tests.projections.drafts import post
from tests.projections.random_histories import evaluations, events_of
from tests.projections.short_evaluations import (
    begin,
    end,
    evaluation,
    fail,
    pooled,
    report,
    score,
    skip,
    weights_of,
)

FIGURES = (
    "scenarios", "scored", "passed", "failed", "errors", "skipped", "stable", "flaky", "failing", "broken", "mean",
    "mean_interval", "mean_scored", "pass_rate",
)  # fmt: skip


def folded(*drafts: Draft) -> EvaluationIndex:
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    return projection


def listed(projection: EvaluationIndex, suite: str | None = None, agent: str | None = None) -> list[EvaluationSummary]:
    return summarize_runs(projection.scores(), projection.find(EvaluationSelection(suite=suite, agent=agent)))


def plain(view: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Some figures of a view, those that there are."""
    reported: dict[str, Any] = msgspec.to_builtins(view)
    return {name: reported[name] for name in names if reported.get(name) is not None}


@given(drafts=evaluations(60))
@settings(max_examples=150, deadline=None)
def test_short_whole_and_plain_agree(drafts: list[Draft]) -> None:
    events = events_of(drafts)
    projection = folded(*drafts)
    for head in listed(projection):
        stream = [event for event in events if event.subject == f"evaluation/{head.run_id}"]
        whole = build_evaluation(stream, projection.known, {})
        assert head == EvaluationSummary(**{name: getattr(whole, name) for name in EvaluationSummary.__struct_fields__})
        own = [reported for reported in report(events) if reported.run == head.run_id]
        expected = {name: reported for name, reported in pooled(own, weights_of(own)).items() if reported is not None}
        shown = plain(head, FIGURES)
        assert shown.keys() == expected.keys()
        for name, figure in expected.items():
            assert shown[name] == pytest.approx(figure, abs=1e-9), name
        rows = {(one.scenario_id, row.attempt) for one in whole.results for row in one.rows}
        assert rows == {(reported.scenario, reported.attempt) for reported in own}


def test_a_run_that_never_ended_is_shown_as_such() -> None:
    (going,) = listed(folded(begin("r", scenarios=2, attempts=3), score("r", "pull", 80)))
    assert (going.ended, going.finished_at, going.planned, going.scored) == (False, None, 6, 1)
    (ended,) = listed(folded(begin("r", scenarios=2), score("r", "pull", 80), end("r")))
    assert (ended.ended, ended.planned) == (True, 2)
    assert ended.finished_at is not None
    (bare,) = listed(folded(begin("r")))
    assert (bare.scenarios, bare.mean, bare.pass_rate, bare.planned) == (0, None, None, None)


def test_a_later_score_of_an_attempt_replaces_the_earlier() -> None:
    drafts = (
        begin("r"),
        score("r", "pull", 10),
        score("r", "oom", 90),
        score("r", "pull", 80),
        score("r", "pull", 0, 2),
    )
    (head,) = listed(folded(*drafts))
    assert (head.scored, head.passed, head.mean) == (3, 2, (40 + 90) / 2)
    pull = evaluation(*drafts).results[1]
    assert [(row.attempt, row.total_score, row.position) for row in pull.rows] == [(1, 80, 4), (2, 0, 5)]
    assert (pull.verdict, pull.passed, pull.pass_rate) == ("flaky", 1, 0.5)


def test_an_error_counts_nothing_and_apart_and_what_is_skipped_nowhere() -> None:
    whole = evaluation(
        begin("r"), score("r", "a", 90), fail("r", "b"), skip("r", "c"), fail("r", "d"), score("r", "d", 60, 2)
    )
    assert [(one.scenario_id, one.verdict, one.mean, one.mean_scored) for one in whole.results] == [
        ("a", "stable", 90, 90), ("b", "error", 0, None), ("c", "skipped", None, None), ("d", "failing", 30, 60),
    ]  # fmt: skip
    assert (whole.scenarios, whole.scored, whole.errors, whole.skipped) == (4, 2, 2, 1)
    assert (whole.stable, whole.flaky, whole.failing, whole.broken) == (1, 0, 1, 1)
    assert (whole.mean, whole.mean_scored) == (40, 75)
    assert whole.pass_rate == pytest.approx(1 / 3)


def test_weights_say_what_a_scenario_counts() -> None:
    whole = evaluation(begin("r"), score("r", "a", 100, weight=3), score("r", "b", 60), score("r", "c", 0, weight=0))
    assert whole.mean == (3 * 100 + 60) / 4
    assert [one.weight for one in whole.results] == [3, 1, 0]
    assert whole.pass_rate == pytest.approx(1 / 3), "a rate counts each scenario once"
    assert evaluation(begin("r"), score("r", "a", 80, weight=0)).mean is None


def test_the_agent_is_the_one_that_scores_agree_on_if_the_start_names_none() -> None:
    reported: dict[str, Any] = {"agent": "scout", "agent_version": "2", "scorer_id": "rca", "scorer_version": "1"}
    (head,) = listed(folded(begin("r", agent=None), score("r", "a", 80, **reported), score("r", "b", 80)))
    assert (head.agent, head.agent_version, head.scorer_id, head.scorer_version) == ("scout", "2", "rca", "1")
    (split,) = listed(folded(begin("r", agent=None), score("r", "a", 80, agent="x"), score("r", "b", 80, agent="y")))
    assert (split.agent, split.agent_version) == (None, None)
    (named,) = listed(folded(begin("r", agent_version="1"), score("r", "a", 80, agent="other", agent_version="9")))
    assert (named.agent, named.agent_version) == ("rca", "1")
    row = evaluation(begin("r", scorer_id="rca", scorer_version="1"), score("r", "a", 80)).results[0].rows[0]
    assert (row.scorer_id, row.scorer_version) == ("rca", "1")


def test_evaluations_are_found_by_suite_and_by_who_answered() -> None:
    projection = folded(
        begin("r1"), begin("r2", "drills"), begin("r3", agent="rival"), begin("r4", agent=None), begin("r5"),
        score("r4", "a", 80, agent="rival"),
    )  # fmt: skip
    assert [head.run_id for head in listed(projection)] == ["r5", "r4", "r3", "r2", "r1"]
    assert [head.run_id for head in listed(projection, suite="incidents", agent="rival")] == ["r4", "r3"]
    assert [head.run_id for head in listed(projection, suite="drills")] == ["r2"]
    assert listed(projection, agent="nobody") == []
    assert (projection.ids_starting_with("r"), projection.ids_starting_with("r2"), projection.has("r")) == (
        ["r1", "r2"],
        ["r2"],
        False,
    )


def test_the_latest_is_the_newest_that_ended_before_on_the_same_selection() -> None:
    projection = folded(
        begin("r1"), end("r1"), begin("r2", selection="image"), end("r2"), begin("r3"),
        begin("r4", agent="baseline", baseline="empty"), end("r4"), begin("r5", agent="rival"), end("r5"),
        begin("r6"), end("r6"), begin("r7", "drills"), end("r7"), begin("r8"),
    )  # fmt: skip
    assert projection.latest("incidents") == "r6"
    assert projection.latest("incidents", before="r6") == "r5"
    assert projection.latest("incidents", before="r6", agent="rca") == "r1", "r2 chose scenarios, r3 has not ended"
    assert projection.latest("incidents", before="r8") == "r6"
    assert projection.latest("incidents", before="r1") is None
    assert projection.latest("elsewhere") is None


def test_scenarios_are_called_what_their_own_events_say() -> None:
    drafts = [
        post(EvalScenarioCaptured(scenario_id="pull", name="Image", family="pods", fixture_digest="a" * 64)),
        post(EvalScenarioRevised(scenario_id="pull", name="Image pull", failure_type="x", fixture_digest="b" * 64)),
        begin("r"),
        score("r", "pull", 80),
        score("r", "oom", 80),
    ]
    projection = folded(*drafts)
    whole = build_evaluation(events_of(drafts)[2:], projection.known, {})
    assert [(one.name, one.family, one.failure_type) for one in whole.results] == [
        (None, None, None),
        ("Image pull", None, "x"),
    ]
    assert projection.summary()["scenarios"] == 2


def test_a_breakdown_kept_as_evidence_is_read_and_a_broken_one_is_not() -> None:
    digest, parts = "d" * 64, b'[{"name":"root_cause","applicable":true,"score":90}]'
    drafts = [begin("r"), score("r", "a", 90, breakdown_digest=digest, analysis_digest="e" * 64)]
    events = events_of(drafts)
    assert (evidence_digests(events), evidence_digests(events, analyses=True)) == ({digest}, {digest, "e" * 64})

    def row(texts: dict[str, bytes | None], *, analyses: bool = False) -> ScoreRow:
        return build_evaluation(events, {}, texts, analyses=analyses).results[0].rows[0]

    assert [one.score for one in row({digest: parts}).components] == [90]
    assert (row({digest: b"\xff{"}).components, row({}).components, row({}).erased) == ((), (), None)
    assert (row({digest: None}).components, row({digest: None}).erased) == ((), True)
    assert row({"e" * 64: b'{"rca":{}}'}, analyses=True).analysis == '{"rca":{}}'
    assert row({"e" * 64: b'{"rca":{}}'}).analysis is None


def test_a_history_without_evaluations_costs_nothing() -> None:
    projection = folded(post(EvalStarted(run_id="r", suite="s")))
    assert len(projection.encode()) < 400
    assert EvaluationIndex().scores().run.size == 0
    assert listed(EvaluationIndex()) == []
