"""GET /inventory and GET /probes: the same answers as the command line gives, now and as of the past."""

import httpx
import msgspec
import pytest

from tests.api.cli.command import done
from tests.api.http.posts import (
    Json,
    fresh,
    get,
    post,
)
from tests.support.server import Served


def attempted(run: str, number: int, name: str, **more: object) -> Json:
    claimed = {"model_name": name}
    data = {"run_id": run, "attempt": number, "outcome": "accepted", "claimed": claimed, **more}
    return {"type": "discovery.attempted.v1", "data": data}


def scored(probe: str, name: str, total: float) -> Json:
    data = {"probe_id": probe, "scorer_id": "s", "model_name": name, "total_score": total}
    return {"type": "probe.scored.v1", "data": data}


def test_the_inventory_now_and_as_it_stood(client: httpx.Client) -> None:
    run, name = fresh(), f"model-{fresh()}"
    first = post(client, [
        {"type": "discovery.started.v1", "data": {"run_id": run, "router": "command:ide"}},
        attempted(run, 1, name.upper()),
        attempted(run, 2, f"lab/{name}", reported_model="another"),
    ])["first"]  # fmt: skip
    found = get(client, "/inventory", model=name)
    (model,) = found["models"]
    assert (model["key"], model["sightings"], model["known"]) == (name, 2, False)
    assert model["by_router"] == [{"router": "command:ide", "sightings": 2, "runs": 1}]
    assert [one["where"] for one in found["contradictions"]] == [[{"run_id": run, "attempt": 2}]]
    assert get(client, "/inventory", model=name, as_of=first)["models"] == []
    assert get(client, "/inventory", model=name, as_of=first + 1)["models"][0]["sightings"] == 1
    post(client, {"type": "model.registered.v1", "data": {"key": name}})
    post(client, {"type": "model.aliased.v1", "data": {"key": name, "alias": "another"}})
    settled = get(client, "/inventory", model="ANOTHER")
    assert [(one["key"], one["known"], one["aliases"]) for one in settled["models"]] == [(name, True, ["another"])]
    assert settled["contradictions"] == []
    assert get(client, "/inventory", model=name, as_of=first + 2) == found


def test_scores_now_and_as_they_stood(client: httpx.Client) -> None:
    probe = fresh()
    first = post(client, [scored(probe, f"model-{n % 3}", n % 3 / 4 + n / 100) for n in range(9)])["first"]
    ((table),) = get(client, "/probes", probe=probe)["probes"]
    assert [(row["model"], row["scores"]) for row in table["models"]] == [
        ("model-2", 3),
        ("model-1", 3),
        ("model-0", 3),
    ]
    assert [row["percentile"] for row in table["models"]] == [pytest.approx(100 * n / 6) for n in (5, 3, 1)]
    assert table["discrimination"]["tells_apart"] is True
    ((then),) = get(client, "/probes", probe=probe, as_of=first + 2)["probes"]
    assert (then["scores"], then["discrimination"]["variance_share"]) == (3, None)
    assert get(client, "/probes", probe=probe, scorer="other")["probes"] == []
    one = get(client, "/probes", probe=probe, scorer="s", model="MODEL-1")["probes"][0]
    assert one == {**table, "models": [table["models"][1]]}


@pytest.mark.parametrize(("path", "field"), [("/inventory", "probe"), ("/probes", "scorers")])
def test_what_is_no_parameter_is_refused(client: httpx.Client, path: str, field: str) -> None:
    response = client.get(path, params={field: "x"})
    assert (response.status_code, response.json()["field"]) == (400, field)
    assert client.get(path, params={"as_of": "never"}).status_code == 400


@pytest.mark.slow
def test_the_command_line_gives_the_same_answers(server: Served, served_client: httpx.Client) -> None:
    ledger = server.errors.with_name("ledger.db")
    for path, verb in (("/inventory", ("inventory",)), ("/probes", ("probe", "scores"))):
        assert msgspec.json.decode(done(ledger, *verb, "--json").out) == get(served_client, path)
