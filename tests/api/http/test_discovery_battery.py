"""A battery and the golden response over HTTP, and the profiles that follow."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api.http.discovery_agent import GARBAGE, REFUSED, WORK, Asker, checked, model, problem
from tests.support.server import Served, served

PROBES = ["debugging", "weighting"]
DIGEST = "S2 measured it and outweighs S1, which only repeats what others said."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("battery") / "ledger.db") as running:
        yield running


@pytest.fixture
def asker(server: Served) -> Iterator[Asker]:
    with httpx.Client(base_url=server.url, timeout=None) as client:
        yield Asker(client)


def both(first: str = WORK, second: str = DIGEST) -> str:
    return f"=== PART 1 ===\n{first}\n\n=== PART 2 ===\n{second}"


def test_a_run_with_a_battery_scores_each_probe_and_is_listed_under_each(empty_client: httpx.Client) -> None:
    asker = Asker(empty_client)
    run = asker.begin(probes=PROBES, run_id="battery")["run_id"]
    prompt = asker.prompt(run)["prompt"]
    assert "=== PART 1 ===" in prompt
    assert "Part 2:" in prompt
    came = asker.respond(run, model("nova-1", both()))
    assert set(came["scores"]) == set(PROBES)
    assert came["score"] == came["scores"]["debugging"]
    assert [part["probe_id"] for part in came["analysis"]["parts"]] == PROBES
    declined = asker.respond(run, model("nova-2", f"=== PART 1 ===\n{WORK}\n"))
    assert declined["scores"]["weighting"] is None
    started, *_ = asker.stream(run)
    assert started["type"] == "discovery.started.v2"
    assert [one["probe_id"] for one in started["data"]["battery"]] == PROBES
    for probe in PROBES:
        (entry,) = asker.get("/runs", probe=probe)["runs"]
        assert (entry["run_id"], entry["probe_id"], entry["probes"]) == (run, "debugging", PROBES)
    again = asker.respond(run, model("nova-2", f"=== PART 1 ===\n{WORK}\n", attempt=2))
    assert again == declined
    checked(asker.ask("POST", "/discovery", {"run_id": run, "probes": PROBES}), 200)
    profiles = asker.get("/profiles")
    assert profiles["models_min"] == 3
    assert [(one["model"], one["overall"], one["rests_on"]) for one in profiles["profiles"]] == [
        ("nova-1", None, 0), ("nova-2", None, 0),
    ]  # fmt: skip
    asker.respond(run, model("nova-3", both()))
    (best,) = asker.get("/profiles", model="nova-1")["profiles"]
    rates = {
        probe["probe_id"]: (probe["answers"], probe["declining_rate"], probe["models"]) for probe in best["probes"]
    }
    assert best["rests_on"] == len(rates)
    assert rates["debugging"] == (1, 0.0, 3)


def test_a_single_probe_is_a_run_as_before(asker: Asker) -> None:
    run = asker.begin(probes=["debugging"])["run_id"]
    (started,) = asker.stream(run)
    assert (started["type"], started["data"]["probe_id"]) == ("discovery.started.v1", "debugging")
    assert "scores" not in asker.respond(run, model("nova-1"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"probes": ["debugging", "debugging"]}, "names one twice"),
        ({"probes": []}, "probes"),
        ({"probes": ["debugging", "juggling"]}, "juggling"),
        ({"probes": ["debugging", "weighting"], "probe_id": "weighting"}, "not the first of probes"),
    ],
)
def test_a_battery_that_cannot_be_is_refused(asker: Asker, config: dict[str, object], said: str) -> None:
    response = asker.ask("POST", "/discovery", {"probe_id": "debugging", **config})
    error = problem(response, 422, "invalid-event")
    assert said in error["detail"]
    assert error["field"] == "probes"


def test_the_golden_response_is_the_first_accepted_one_byte_for_byte(asker: Asker) -> None:
    answer = model("nova-1", "The pool, \u00e9\u00e8.\r\n")
    run = asker.begin(keep_going=True)["run_id"]
    for one in (GARBAGE, answer, model("nova-2")):
        asker.respond(run, one)
    got = asker.ask("GET", f"/discovery/{run}/golden")
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert got.content == answer["response"].encode()
    none = asker.drive([REFUSED])[0]["run_id"]
    problem(asker.ask("GET", f"/discovery/{none}/golden"), 404, "not-found")
    problem(asker.ask("GET", "/discovery/nobody/golden"), 404, "not-found")
