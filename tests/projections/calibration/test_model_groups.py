"""Clusters and models of decisions: columns of the history, and figures by the model that names mean."""

from collections.abc import Sequence

import numpy as np
import pytest

from events.envelope import Draft
from events.model import ModelAliased, ModelRegistered
from events.model_names import join_names, split_names
from projections.calibration.agent_comparison import compare_agents
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.calibration_view import build_calibration_view
from projections.calibration.cell_groups import EVERY_GROUP
from projections.calibration.model_groups import decisions_by_model, table_of_model, with_models
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.discovery.model_names import ModelNames
from tests.projections.chunks import restored
from tests.projections.drafts import ask, record, review
from tests.projections.random_histories import events_of
from tests.projections.short_decisions import calibration_of, judged


def names() -> ModelNames:
    known = ModelNames()
    known.register(ModelRegistered(key="large-4"))
    known.alias(ModelAliased(key="large-4", alias="House Model"))
    return known


def resolve(joined: str) -> str | None:
    found = names().resolve_joined(joined)
    return None if found is None else found.key


def by_model(drafts: Sequence[Draft]) -> dict[str | None, tuple[int, int]]:
    selection = with_models(calibration_of(drafts).selection(CalibrationFilter()), resolve)
    view = build_calibration_view(selection.table(), "model", 1, curves=False, page=EVERY_GROUP)
    return {row.group: (row.reviewed, row.total) for row in view.groups}


def test_dated_prefixed_and_aliased_names_are_one_model() -> None:
    drafts = [
        *judged((0.9, "SS"), prefix="a", model="Large-4-20261001"),
        *judged((0.9, "SF"), prefix="b", model="vendor/large-4", category="x"),
        *judged((0.8, "S-"), prefix="c", model="house model"),
        *judged((0.8, "F"), prefix="d", model="other-2"),
        *judged((0.8, "FF"), prefix="e"),
    ]
    assert by_model(drafts) == {"large-4": (5, 6), "other-2": (1, 1), None: (2, 2)}


def test_the_reported_name_counts_where_the_claim_means_no_model() -> None:
    drafts = [
        *judged((0.9, "S"), prefix="a", model="cursor", reported_model="vendor/large-4"),
        *judged((0.9, "S"), prefix="b", reported_model="large-4"),
        *judged((0.9, "S"), prefix="c", model="unknown", reported_model="auto"),
        *judged((0.9, "S"), prefix="d", model="other-2", reported_model="large-4"),
        *judged((0.9, "S"), prefix="e", model="cursor"),
    ]
    assert by_model(drafts) == {"large-4": (2, 2), "other-2": (1, 1), "cursor": (1, 1), "unknown": (1, 1)}


def test_joined_names() -> None:
    assert join_names(None, None) is None
    assert join_names("a", None) == "a"
    for pair in (("a", "b"), ("", "b"), ("a b", "c\nd")):
        assert split_names(join_names(*pair) or "") == pair


def test_the_cells_of_one_model() -> None:
    drafts = [*judged((0.9, "SSF"), prefix="a", model="LARGE 4"), *judged((0.7, "S"), prefix="b", model="small")]
    table = table_of_model(calibration_of(drafts).table(CalibrationFilter()), "large-4", resolve)
    assert table.counts.sum() == 3
    assert set(table.confidence.tolist()) == {0.9}
    empty = table_of_model(calibration_of([]).table(CalibrationFilter()), "large-4", resolve)
    assert empty.counts.sum() == 0


def test_each_decision_has_its_cluster_in_the_history() -> None:
    drafts = [
        *judged((0.9, "SF"), prefix="a", cluster="task-1"),
        *judged((0.9, "S"), prefix="b"),
        *judged((0.7, "F"), prefix="c", cluster="task-2", agent="bo"),
        *judged((0.7, "S"), prefix="d", cluster="task-1", agent="bo"),
    ]
    calibration = calibration_of(drafts)
    for folded in (calibration, restored(calibration)):
        history = folded.history(CalibrationFilter())
        stated = [None if number < 0 else history.clusters[number] for number in history.cluster.tolist()]
        assert stated == ["task-1", "task-1", None, "task-2", "task-1"]
        assert folded.encode() == calibration.encode()
    bo = calibration.history(CalibrationFilter(agent="bo"))
    assert [bo.clusters[number] for number in bo.cluster.tolist()] == ["task-2", "task-1"]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_state_does_not_depend_on_the_sizes_of_batches(size: int) -> None:
    drafts = [
        *judged((0.9, "SF"), prefix="a", cluster="t", model="m"),
        *judged((0.9, "S-"), prefix="b"),
        *judged((0.7, "F"), prefix="c", reported_model="n"),
        *judged((0.7, "S"), prefix="d", cluster="u"),
    ]
    events = events_of(drafts)
    for kind in (Calibration, DecisionIndex):
        whole, parts = kind(), kind()
        whole.fold(events)
        for start in range(0, len(events), size):
            parts.fold(events[start : start + size])
        assert parts.digest() == whole.digest() == restored(whole).digest()


def test_decisions_are_found_by_cluster_and_model() -> None:
    index = DecisionIndex()
    index.fold(
        events_of([record("a", cluster="t", model="m"), record("b"), record("c", cluster="u"), record("d", model="m")])
    )
    assert index.find(DecisionSelection(cluster="t")).tolist() == [0]
    assert index.find(DecisionSelection(cluster="none")).tolist() == []
    assert index.find(DecisionSelection(models=frozenset({"m"}))).tolist() == [0, 3]
    assert index.find(DecisionSelection(models=frozenset())).tolist() == []
    assert index.names()["cluster"] == {"t", "u"}
    assert list(index.models) == ["m"]


def test_models_are_compared_on_the_questions_that_both_answered() -> None:
    drafts = []
    for number in range(40):
        for model, outcome, agent in (("large-4", "success", "ada"), ("other-2", "failure", "bo")):
            name = f"{model}-{number}"
            drafts += [record(name, 0.8, agent=agent, model=model), ask(name, f"q{number}"), review(name, outcome)]  # type: ignore[arg-type]
    drafts += judged((0.5, "SSS"), prefix="none")
    history = calibration_of(drafts).history(CalibrationFilter())
    compared = decisions_by_model(history, resolve)
    assert len(compared.time_us) == 80
    assert np.all(compared.group < len(compared.groups))
    (pair,) = compare_agents(compared).pairs
    assert (pair.agents, pair.paired, pair.shared) == (("large-4", "other-2"), True, 40)
    assert pair.mean_difference == pytest.approx(0.04 - 0.64)
    assert decisions_by_model(calibration_of([]).history(CalibrationFilter()), resolve).groups == []
