"""Figures by model, clusters, and all that happened under a correlation id, through a real server."""

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posted_evaluations import Json, finished, scored, started
from tests.api.http.posted_evaluations import fresh as fresh_run
from tests.api.http.posts import fresh, get, post, reviewed


def made(decision_id: str, **fields: object) -> Json:
    data = {"decision_id": decision_id, "decision": "ship it", "confidence": 0.8, **fields}
    return {"type": "decision.recorded.v2", "data": data}


def probed(**fields: object) -> Json:
    data = {"probe_id": "p", "scorer_id": "s", "scorer_version": "1", **fields}
    return {"type": "probe.scored.v2", "data": data}


@pytest.fixture
def model(client: httpx.Client) -> str:
    """A registered model with an alias, of this test alone."""
    key = f"big-{fresh()}"
    post(
        client,
        [
            {"type": "model.registered.v1", "data": {"key": key}},
            {"type": "model.aliased.v1", "data": {"key": key, "alias": f"House {key}"}},
        ],
    )
    return key


def test_calibration_by_model_resolves_names(client: httpx.Client, model: str) -> None:
    project = fresh()
    events: list[Json] = []
    for number, name in enumerate((f"{model}-20261001", f"vendor/{model}", f"House {model}", None)):
        decision_id = f"{project}-{number}"
        stated = {} if name is None else {"model": name, "cluster": f"{project}-task"}
        events += [made(decision_id, project=project, **stated), reviewed(decision_id, "failure")]
    wrapped = {"model": "cursor", "reported_model": model}
    post(client, [*events, made(f"{project}-w", project=project, **wrapped), reviewed(f"{project}-w")])
    found = get(client, "/calibration", project=project, group_by="model", min_decisions=1)
    assert [(row["group"], row["reviewed"], row["accuracy"]) for row in found["groups"]] == [
        (model, 4, 0.25), (None, 1, 0.0),
    ]  # fmt: skip
    listed = get(client, "/decisions", project=project, model=f"House {model}")
    assert {one["decision_id"] for one in listed["decisions"]} == {f"{project}-{number}" for number in (0, 1, 2, "w")}
    clustered = get(client, "/decisions", cluster=f"{project}-task")
    assert clustered["total"] == 3
    assert clustered["decisions"][0]["decision"]["cluster"] == f"{project}-task"
    unknown = get(client, "/decisions", cluster=f"{project}-tusk")["unknown_names"]
    assert (unknown[0]["parameter"], unknown[0]["nearest"]) == ("cluster", f"{project}-task")


def test_one_model_with_its_decisions_evaluations_and_probes(client: httpx.Client, model: str) -> None:
    name, suite, run = fresh(), fresh_run("suite"), fresh_run()
    events = [made(f"{name}-{number}", model=model) for number in range(4)]
    events += [reviewed(f"{name}-{number}", "success" if number else "failure") for number in range(4)]
    post(client, events)
    answers = [
        {**scored(run, f"s{number}", points, model=said, confidence=0.9), "type": "eval.scored.v2"}
        for number, (points, said) in enumerate([(80, model), (20, f"House {model}"), (100, "other-1")])
    ]
    post(client, [started(run, suite, agent="rca"), *answers, finished(run)])
    post(client, [probed(model_name=model, total_score=0.25), probed(model_name=f"House {model}", total_score=0.75)])
    figures = get(client, "/inventory", model=f"house {model}")["figures"]
    decided = figures["decisions"]
    assert (figures["model"], decided["decisions"], decided["reviewed"]) == (model, 4, 4)
    assert decided["gap"] == pytest.approx(-0.05)
    assert decided["brier_score"] == pytest.approx((0.64 + 3 * 0.04) / 4)
    (evaluated,) = figures["evaluations"]
    assert (evaluated["suite"], evaluated["answers"], evaluated["mean"]) == (suite, 2, 50)
    assert evaluated["stated"]["n"] == 2
    assert evaluated["stated"]["gap"] == pytest.approx(-0.4)
    (probe,) = [probe for probe in figures["probes"] if probe["probe_id"] == "p"]
    assert (probe["scores"], probe["mean"]) == (2, 0.5)
    assert "figures" not in get(client, "/inventory")
    (board,) = get(client, "/scoreboard", suite=suite, group_by="model")["suites"]
    assert [(row.get("model"), row["scored"], row["mean"]) for row in board["rows"]] == [
        ("other-1", 1, 100), (model, 2, 50),
    ]  # fmt: skip
    (by_agent,) = get(client, "/scoreboard", suite=suite)["suites"]
    (row,) = by_agent["rows"]
    assert (row["agent"], row["stated"]["n"], "model" in row) == ("rca", 3, False)
    (shown, *_) = get(client, f"/evaluations/{run}")["results"]
    assert (shown["rows"][0]["model"], shown["rows"][0]["confidence"]) == (model, 0.9)


def test_a_name_that_nothing_has(client: httpx.Client) -> None:
    found = get(client, "/inventory", model="no-such-model-9")
    assert found["figures"]["decisions"] == {
        "decisions": 0, "reviewed": 0, "mean_confidence": None, "accuracy": None, "gap": None, "gap_interval": None,
        "brier_score": None,
    }  # fmt: skip
    assert found["unknown_names"][0]["value"] == "no-such-model-9"


def test_all_that_happened_under_one_correlation_id(client: httpx.Client) -> None:
    order, name, run = f'order "{fresh()}" \u00e9', fresh(), fresh_run()
    under = {"correlationid": order}
    post(client, [made(f"{name}-later"), made(f"{name}-other")])
    post(
        client,
        [
            {**made(name, model="m"), **under},
            {**reviewed(f"{name}-later"), **under},
            started(run, "suite"),
            {**scored(run, "s", 80), **under},
            {**probed(model_name="m", total_score=0.5), **under},
            {**made(f"{name}-text", context=f'"correlationid":"{order}"'), "correlationid": "other"},
        ],
    )
    listed = get(client, "/events", correlationid=order)
    assert [event["correlationid"] for event in listed["events"]] == [order] * 4
    found = get(client, "/related", correlationid=order)
    assert [event["type"] for event in found["events"]] == [
        "decision.recorded.v2", "decision.reviewed.v1", "eval.scored.v1", "probe.scored.v2",
    ]  # fmt: skip
    decisions = {one["decision_id"]: one.get("review", {}).get("outcome") for one in found["decisions"]}
    assert decisions == {name: None, f"{name}-later": "success"}
    assert [(one["run_id"], one["passed"]) for one in found["evaluation_scores"]] == [(run, True)]
    assert [(one["model_name"], one["total_score"]) for one in found["probe_scores"]] == [("m", 0.5)]
    assert (found["next"], found["correlationid"]) == (None, order)
    first = get(client, "/related", correlationid=order, limit=1)
    assert len(first["events"]) == 1
    rest = get(client, "/related", correlationid=order, after=first["next"])
    assert [event["position"] for event in rest["events"]] == [event["position"] for event in found["events"][1:]]
    assert get(client, "/related", correlationid="none of these")["events"] == []
    assert client.get("/related").json()["field"] == "correlationid"
    assert client.get("/related", params={"correlationid": ""}).status_code == 400


@pytest.mark.parametrize(("of_ada", "of_bo", "clusters"), [(8, 8, 5), (8, None, 5), (None, None, 40)])
def test_agents_are_compared_by_the_clusters_that_decisions_name(
    client: httpx.Client, of_ada: int | None, of_bo: int | None, clusters: int
) -> None:
    """Forty questions that two agents answered, in named clusters of eight."""
    project = fresh()
    events: list[Json] = []
    for agent, confidence, size in (("ada", 0.9, of_ada), ("bo", 0.7, of_bo)):
        for number in range(40):
            decision_id = f"{project}-{agent}-{number}"
            named = {} if size is None else {"cluster": f"{project}-task-{number // size}"}
            decision = made(decision_id, project=project, **{"confidence": confidence, **named})
            question = {"decision_id": decision_id, "question": f"q{number}"}
            asked = {"type": "decision.asked.v1", "data": question}
            outcome = reviewed(decision_id, "failure" if number * 7 % 10 < 2 else "success")
            events += [{**one, "source": f"/agents/{agent}"} for one in (decision, asked, outcome)]
    post(client, events)
    (pair,) = get(client, "/calibration", project=project, include="comparison")["comparison"]["pairs"]
    assert (pair["agents"], pair["shared"], pair["clusters"]) == (["ada", "bo"], 40, clusters)


def test_cstp_states_cluster_and_model(cstp: Caller) -> None:
    task = fresh()
    stated = {"cluster": task, "model": "big-1", "reportedModel": "vendor/big-1"}
    made_id = cstp.result("recordDecision", {"decision": "Use it", **stated})["id"]
    row = cstp.result("getDecision", {"id": made_id})["decision"]
    assert (row["cluster"], row["model"], row["reported_model"]) == (task, "big-1", "vendor/big-1")
    plain = cstp.result("getDecision", {"id": cstp.result("recordDecision", {"decision": "Use it"})["id"]})["decision"]
    assert not {"cluster", "model", "reported_model"} & plain.keys()


def test_a_repeated_post_of_either_version_is_a_retry(client: httpx.Client) -> None:
    for fields, kind in (({}, "decision.recorded.v1"), ({"cluster": "t"}, "decision.recorded.v2")):
        body = {"data": {"decision_id": fresh(), "decision": "ship it", **fields}}
        answers = [client.post("/decisions", json=body) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 200]
        assert get(client, f"/decisions/{body['data']['decision_id']}")["history"][0]["type"] == kind
