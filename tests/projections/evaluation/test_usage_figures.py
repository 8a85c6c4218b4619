"""What answers used: totals over all tries, medians over the last ones, and nothing invented."""

from fractions import Fraction
from statistics import median
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from events.envelope import Draft
from events.evaluation import EvalScored, EvalScoredV1
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.run_summaries import summarize_runs
from projections.evaluation.run_view import build_evaluation
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.usage_figures import USAGE_NAMES, Quantity, UsageFigures
from tests.projections.drafts import post
from tests.projections.random_histories import evaluations, events_of
from tests.projections.short_evaluations import begin, end, evaluation, fail, score, skip

RETRIED = (
    begin("r", agent_version="1"),
    score("r", "pull", 80, input_tokens=1_000, output_tokens=100, cost_usd=0.125, elapsed_ns=1_000_000_000, model="m1"),
    fail("r", "oom", cost_usd=0.0625, elapsed_ns=30_000_000_000),
    fail("r", "oom", retry=1, elapsed_ns=30_000_000_000),
    score("r", "oom", 90, retry=2, input_tokens=3_000, output_tokens=500, cost_usd=0.25, elapsed_ns=2_000_000_000),
    fail("r", "dns", elapsed_ns=4_000_000_000),
    skip("r", "tls"),
    end("r"),
)
"""Three attempts that were tried five times, and one that was skipped."""


def folded(*drafts: Draft) -> EvaluationIndex:
    projection = EvaluationIndex()
    projection.fold(events_of(drafts))
    return projection


def used(view: object) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(view)["usage"]
    return found


def test_totals_are_over_all_tries_and_medians_over_the_last_ones() -> None:
    assert evaluation(*RETRIED).usage == UsageFigures(
        tries=5,
        attempts=3,
        input_tokens=Quantity(stated=2, total=4_000, attempts=2, median=2_000.0, p95=2_900.0),
        output_tokens=Quantity(stated=2, total=600, attempts=2, median=300.0, p95=480.0),
        cost_usd=Quantity(stated=3, total=0.4375, attempts=2, median=0.1875, p95=0.24375),
        elapsed_ns=Quantity(stated=5, total=67_000_000_000, attempts=3, median=2e9, p95=3.8e9),
    )


def test_a_scenario_has_the_figures_of_its_own_tries() -> None:
    results = {result.scenario_id: result for result in evaluation(*RETRIED).results}
    oom = results["oom"].usage
    assert oom is not None
    assert (oom.tries, oom.attempts) == (3, 1)
    assert oom.cost_usd == Quantity(stated=2, total=0.3125, attempts=1, median=0.25, p95=0.25)
    dns = results["dns"].usage
    assert dns is not None
    assert (dns.cost_usd, dns.elapsed_ns) == (
        None,
        Quantity(stated=1, total=4 * 10**9, attempts=1, median=4e9, p95=4e9),
    )
    assert results["tls"].usage is None
    (row,) = results["oom"].rows
    assert (row.retry, row.input_tokens, row.output_tokens, row.cost_usd) == (2, 3_000, 500, 0.25)


def test_the_scoreboard_counts_the_earlier_tries_of_the_scores_that_it_counts() -> None:
    later = (begin("s", agent_version="2"), score("s", "oom", 90, cost_usd=5.0), fail("s", "oom", 2, cost_usd=7.0))
    (suite,) = build_scoreboard(folded(*RETRIED, *later).scores(), ScoreboardQuery()).suites
    by_version = {row.agent_version: row for row in suite.rows}
    assert used(by_version["1"]) == msgspec.to_builtins(evaluation(*RETRIED).usage)
    assert used(by_version["2"])["cost_usd"]["total"] == 12.0


def test_superseded_scores_cost_nothing_on_the_scoreboard() -> None:
    drafts = (
        begin("r", agent_version="1"),
        fail("r", "oom", cost_usd=1.0, fixture_digest="a" * 64),
        score("r", "oom", 80, retry=1, cost_usd=2.0, fixture_digest="a" * 64),
        begin("s", agent_version="2"),
        score("s", "oom", 80, cost_usd=4.0, fixture_digest="b" * 64),
    )
    (suite,) = build_scoreboard(folded(*drafts).scores(), ScoreboardQuery()).suites
    rows = {row.agent_version: row for row in suite.rows}
    assert (rows["1"].superseded, rows["1"].usage) == (1, None)
    assert used(rows["2"])["cost_usd"]["total"] == 4.0


def test_a_board_of_models_groups_what_answers_used_by_the_model_of_the_last_try() -> None:
    drafts = (
        begin("r"),
        score("r", "a", 80, model="m1", cost_usd=1.0),
        fail("r", "b", cost_usd=2.0),
        score("r", "b", 80, retry=1, model="m2", cost_usd=4.0),
    )
    (suite,) = build_scoreboard(folded(*drafts).scores(), ScoreboardQuery(group_by="model"), str).suites
    assert {row.model: used(row)["cost_usd"]["total"] for row in suite.rows} == {"m1": 1.0, "m2": 6.0}


def test_old_scores_state_nothing_and_nothing_is_invented() -> None:
    old = EvalScoredV1(run_id="r", scenario_id="a", attempt=1, state="scored", total_score=80.0, passed=True)
    fields = {name: getattr(old, name) for name in EvalScoredV1.__struct_fields__}
    drafts = (begin("r"), post(EvalScored(**fields)))
    whole = evaluation(*drafts)
    assert (whole.usage, whole.results[0].usage) == (None, None)
    assert summarize_runs(folded(*drafts).scores(), [0])[0].usage is None
    assert b"usage" not in msgspec.json.encode(whole)


def test_zero_is_a_value() -> None:
    usage = evaluation(begin("r"), score("r", "a", 80, cost_usd=0.0, input_tokens=0)).usage
    assert usage is not None
    assert usage.cost_usd == Quantity(stated=1, total=0, attempts=1, median=0.0, p95=0.0)
    assert usage.output_tokens is None


@pytest.mark.slow
@given(drafts=evaluations(60))
@settings(max_examples=150, deadline=None)
def test_totals_are_the_sums_of_the_events_and_medians_those_of_the_last_tries(drafts: list[Draft]) -> None:
    events = events_of(drafts)
    index = folded(*drafts)
    for head in summarize_runs(index.scores(), index.find(EvaluationSelection())):
        scores = [e.data for e in events if isinstance(e.data, EvalScored) and e.data.run_id == head.run_id]
        last = {(data.scenario_id, data.attempt): data for data in scores}
        tries = [data for data in scores if data.state != "skipped"]
        counted = [data for data in last.values() if data.state != "skipped"]
        shown = msgspec.to_builtins(head).get("usage")
        if shown is not None:
            assert (shown["tries"], shown["attempts"]) == (len(tries), len(counted))
        for name in USAGE_NAMES:
            stated = [value for data in tries if (value := getattr(data, name)) is not None]
            quantity = (shown or {}).get(name)
            assert (quantity is None) == (not stated)
            if quantity is not None:
                assert quantity["stated"] == len(stated)
                assert quantity["total"] == pytest.approx(float(sum(map(Fraction, stated))), rel=1e-15)
                ends = [value for data in counted if (value := getattr(data, name)) is not None]
                assert quantity["attempts"] == len(ends)
                assert quantity.get("median") == (None if not ends else pytest.approx(median(ends)))
                assert quantity.get("p95") == (None if not ends else pytest.approx(np.percentile(ends, 95)))
        stream = [event for event in events if event.subject == f"evaluation/{head.run_id}"]
        whole = build_evaluation(stream, {}, {})
        assert whole.usage == head.usage
        parts = [result.usage for result in whole.results if result.usage is not None]
        for name in USAGE_NAMES if head.usage is not None else ():
            totals = [quantity.total for part in parts if (quantity := getattr(part, name)) is not None]
            of_run = getattr(head.usage, name)
            assert sum(totals) == (0 if of_run is None else pytest.approx(of_run.total))


@given(drafts=evaluations(40))
@settings(max_examples=60, deadline=None)
def test_folds_of_any_parts_and_decoded_states_are_equal(drafts: list[Draft]) -> None:
    events = events_of(drafts)
    whole = folded(*drafts)
    for size in (1, 3):
        parts = EvaluationIndex()
        for start in range(0, len(events), size):
            parts.fold(events[start : start + size])
        assert parts.encode() == whole.encode()
    decoded = EvaluationIndex.decode(whole.encode())
    assert decoded.encode() == whole.encode()
    rows = whole.find(EvaluationSelection())
    assert summarize_runs(decoded.scores(), rows) == summarize_runs(whole.scores(), rows)
