"""GET /calibration?model=NAME: the figures of the decisions by one model, whichever agents used it."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from projections.calibration.words import HISTORY_PARTS
from tests.api.cli.command import done
from tests.api.http.posts import Json, post
from tests.api.simulated_ledger import import_simulated_agents
from tests.support.server import serving

EVERYTHING = {"detail": "curves", "include": ",".join(HISTORY_PARTS), "group_by": "category", "threshold": "0.8"}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated agents: novice alone uses vega; pilot and ranger use orion; scout changed from lyra-1 to lyra-2."""
    return import_simulated_agents(tmp_path_factory.mktemp("models") / "t.db")


@pytest.fixture(scope="module")
def models(ledger: Path) -> Iterator[httpx.Client]:
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as client:
        yield client


def figures(client: httpx.Client, **parameters: str) -> Json:
    answer = client.get("/calibration", params=parameters)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


@pytest.mark.slow
def test_a_model_of_one_agent_has_its_figures_in_every_part(models: httpx.Client) -> None:
    of_agent = figures(models, agent="novice", **EVERYTHING)
    assert figures(models, model="vega", **EVERYTHING) == of_agent
    assert of_agent["overall"]["reviewed"] == 600
    assert figures(models, model="vega", agent="pilot")["coverage"]["total"] == 0


@pytest.mark.parametrize("model", ["orion", "lyra-1", "lyra-2"])
def test_the_figures_are_those_of_its_group(models: httpx.Client, model: str) -> None:
    (group,) = (each for each in figures(models, group_by="model")["groups"] if each["group"] == model)
    overall = figures(models, model=model)["overall"]
    same = ("reviewed", "total", "accuracy", "mean_confidence", "gap", "gap_interval", "brier_score", "gap_sequence")
    assert {name: overall[name] for name in same} == {name: group[name] for name in same}
    assert [each["group"] for each in figures(models, model=model, group_by="model")["groups"]] == [model]


def test_one_model_after_another_in_any_order(models: httpx.Client) -> None:
    """What is kept of the evidence of one selection is not used for another."""
    before = [
        figures(models, **asked) for asked in ({}, {"model": "orion"}, {"model": "vega"}, {"category": "tooling"})
    ]
    after = [figures(models, **asked) for asked in ({"model": "vega"}, {"category": "tooling"}, {}, {"model": "orion"})]
    assert [after[2], after[3], after[0], after[1]] == before


def test_a_range_of_time_and_a_position(models: httpx.Client) -> None:
    asked = {"since": "2025-03-01", "until": "2025-05-01"}
    assert figures(models, model="vega", **asked) == figures(models, agent="novice", **asked)
    assert figures(models, model="vega", as_of="3000") == figures(models, agent="novice", as_of="3000")


def test_any_name_of_a_model(models: httpx.Client) -> None:
    before = figures(models, model="vega")["overall"]
    post(models, [{"type": "model.registered.v1", "data": {"key": "vega"}}])
    post(models, [{"type": "model.aliased.v1", "data": {"key": "vega", "alias": "the latest"}}])
    assert figures(models, model="the latest")["overall"] == before


def test_a_name_that_no_decision_has_is_named(models: httpx.Client) -> None:
    answer = figures(models, model="oryon")
    assert answer["overall"] is None
    assert answer["unknown_names"] == [{"parameter": "model", "value": "oryon", "nearest": "orion"}]
    assert "unknown_names" not in figures(models, model="vega", stakes="critical")


def test_the_command_line_selects_it_too(ledger: Path, models: httpx.Client) -> None:
    found = json.loads(done(ledger, "calibration", "--model", "orion", "--json").out)
    assert found["overall"] == figures(models, model="orion")["overall"]
