"""What the index of decisions knows of days of review, pull requests and patterns, against a plain model."""

import json
from collections import defaultdict
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from projections.decisions.decision_selection import STATUSES, DecisionSelection
from tests.projections import reference_model
from tests.projections.decisions.test_decision_index import narrow
from tests.projections.drafts import record
from tests.projections.named_index import NamedIndex
from tests.projections.random_histories import MOMENTS, events_of, histories, lines_of


def index_of(drafts: list[Draft]) -> NamedIndex:
    index = NamedIndex()
    index.fold(events_of(drafts))
    return index


def reported(drafts: list[Draft], field: str) -> dict[str, Any]:
    """A field of each decision that has it, as its events leave it, in the order in which they were recorded."""
    events = [json.loads(line) for line in lines_of(drafts)]
    names = [event["subject"] for event in events if event["type"] == "decision.recorded.v1"]
    latest: dict[str, Any] = {}
    for event in events:
        if event["type"].startswith("decision.") and field in event["data"]:
            latest[event["subject"]] = event["data"][field]
    return {name: latest[name] for name in names if name in latest}


@pytest.mark.slow
@given(drafts=histories(), before=st.sampled_from([moment for moment in MOMENTS if moment is not None]))
@settings(max_examples=200, deadline=None)
def test_review_dates_are_those_stated(drafts: list[Draft], before: datetime) -> None:
    index = index_of(drafts)
    every = index.find(DecisionSelection(status=STATUSES))
    dues = {name: datetime.fromisoformat(text) for name, text in reported(drafts, "review_by").items()}
    assert index.subjects(index.find(DecisionSelection(status=STATUSES, dated=True))) == list(dues)
    assert set(index.subjects(index.find(DecisionSelection(status=STATUSES, dated=False)))) == set(
        index.subjects(every)
    ) - set(dues)
    due = index.find(DecisionSelection(status=STATUSES, due_before=before))
    assert index.subjects(due) == [name for name, moment in dues.items() if moment < before]
    names = index.subjects(every)
    assert {names[place]: moment for place, moment in index.review_times(every).items()} == dues
    assert set(index.review_times(due)) == set(due.tolist())


@pytest.mark.slow
@given(drafts=histories(), wanted=narrow)
@settings(max_examples=200, deadline=None)
def test_pull_requests_and_patterns_are_those_stated(drafts: list[Draft], wanted: DecisionSelection) -> None:
    index = index_of(drafts)
    every, places = index.subjects(index.find(DecisionSelection(status=STATUSES))), index.find(wanted)
    kept = {one.subject for one in reference_model.find(reference_model.report(lines_of(drafts)), wanted)}
    prs = {every[place]: pr for place, pr in index.pull_requests(places).items()}
    assert prs == {name: pr for name, pr in reported(drafts, "pr").items() if name in kept}
    named: dict[str, list[str]] = defaultdict(list)
    for name, pattern in reported(drafts, "pattern").items():
        if name in kept:
            named[pattern].append(name)
    several = sorted((group for group in named.values() if len(group) > 1), key=lambda group: -len(group))
    total, groups = index.shared_patterns(places, 2)
    assert total == len(several)
    assert [len(group) for group in groups] == [len(group) for group in several[:2]]
    assert all(index.subjects(group) in several for group in groups)
    assert index.shared_patterns(places, 0) == (total, [])


def test_of_two_patterns_named_alike_the_older_comes_first() -> None:
    rules = ["b", "a", "c", "a", "b", "", "", None, None]
    drafts = [record(f"d{number}", pattern=rule) for number, rule in enumerate(rules)]
    index = index_of(drafts)
    total, groups = index.shared_patterns(index.find(DecisionSelection()), 5)
    assert (total, [index.subjects(group) for group in groups]) == (
        2,
        [["decision/d0", "decision/d4"], ["decision/d1", "decision/d3"]],
    )
