"""Runs over HTTP: events posted, runs listed and shown, now and as of the past."""

from typing import Any
from uuid import uuid4

import httpx

from tests.api.http.posts import get, post


def run(agent_probe: str, *outcomes: str) -> tuple[str, list[dict[str, Any]]]:
    """A run's id, and the events of a run with attempts of some outcomes."""
    name = f"run-{uuid4().hex[:12]}"
    started = {"run_id": name, "probe_id": agent_probe, "router": "command:x", "max_iterations": 3}
    events: list[dict[str, Any]] = [{"type": "discovery.started.v1", "data": started}]
    for number, outcome in enumerate(outcomes, 1):
        data: dict[str, Any] = {"run_id": name, "attempt": number, "outcome": outcome, "exclusion_prompt": ""}
        if outcome == "accepted":
            data |= {"claimed": {"model_name": f"m{number}"}, "response": "code", "elapsed_ns": 5}
        events.append({"type": "discovery.attempted.v1", "data": data})
    return name, events


def test_a_run_is_shown_while_it_goes_on_and_when_it_ended(client: httpx.Client) -> None:
    probe = f"probe-{uuid4().hex[:12]}"
    name, events = run(probe, "timeout", "accepted")
    last = post(client, events)["last"]
    going = get(client, f"/runs/{name}")
    assert [result["model"] for result in going["results"]] == [{"model_name": "m2"}]
    assert going["results"][0]["probe"] == {"probe_id": probe, "raw_output": "code", "elapsed_ns": 5}
    assert not {"end_time", "termination_reason", "attempts", "signals"} & set(going)
    signal = {"run_id": name, "event": "ORANGE", "meta": {"length": "7"}}
    finished = {"run_id": name, "reason": "enough", "ending": "requested"}
    post(
        client,
        [
            {"type": "discovery.signalled.v1", "data": signal},
            {"type": "discovery.finished.v1", "data": finished},
        ],
    )
    ended = get(client, f"/runs/{name}", include="attempts")
    assert ended["termination_reason"] == "enough"
    assert [attempt["outcome"] for attempt in ended["attempts"]] == ["timeout", "accepted"]
    assert [(one["event"], one["meta"]) for one in ended["signals"]] == [("ORANGE", {"length": "7"})]
    assert get(client, f"/runs/{name}", as_of=last) == going
    (listed,) = get(client, "/runs", probe=probe)["runs"]
    assert listed["outcomes"] == {"timeout": 1, "accepted": 1}
    assert (listed["ending"], listed["reason"], listed["signals"]) == ("requested", "enough", 1)
    (then,) = get(client, "/runs", probe=probe, as_of=last)["runs"]
    assert (then["ending"], then["end_time"]) == (None, None)


def test_runs_are_listed_filtered_and_paged(client: httpx.Client) -> None:
    probe = f"probe-{uuid4().hex[:12]}"
    names: list[str] = []
    for _ in range(3):
        name, events = run(probe)
        post(client, events)
        names.insert(0, name)
    first = get(client, "/runs", probe=probe, limit=2)
    assert ([one["run_id"] for one in first["runs"]], first["total"], first["next"]) == (names[:2], 3, 2)
    rest = get(client, "/runs", probe=probe, limit=2, offset=2)
    assert ([one["run_id"] for one in rest["runs"]], rest["next"]) == (names[2:], None)
    assert get(client, "/runs", probe=probe, router="other")["total"] == 0
    assert get(client, "/runs", probe=probe, agent="anonymous", router="command:x")["total"] == 3
    assert get(client, "/runs", probe=probe, until="2001-01-01")["total"] == 0


def test_refusals(client: httpx.Client) -> None:
    for path, status, field in (
        ("/runs/nothing", 404, None),
        ("/runs?limit=0", 400, "limit"),
        ("/runs?model=x", 400, "model"),
        ("/runs?since=soon", 400, "since"),
        ("/runs?as_of=999999999", 400, "as_of"),
        ("/runs/nothing?include=all", 400, "include"),
    ):
        answered = client.get(path)
        assert (answered.status_code, answered.json().get("field")) == (status, field), path


def test_scores_come_from_wherever_they_stand(client: httpx.Client) -> None:
    probe = f"probe-{uuid4().hex[:12]}"
    name, events = run(probe, "accepted")
    post(client, events)
    scored = {"probe_id": probe, "scorer_id": "s", "run_id": name, "attempt": 1, "counts": {"renames": 2}}
    post(client, {"type": "probe.scored.v1", "data": {**scored, "total_score": 0.5}})
    for start in range(0, 600, 300):
        post(client, [{"type": "probe.scored.v1", "data": {"probe_id": probe, "scorer_id": "s"}}] * 300)
        post(client, {"type": "probe.scored.v1", "data": {**scored, "scorer_id": f"t{start}"}})
    shown = get(client, f"/runs/{name}", include="attempts")
    assert shown["results"][0]["probe"]["score"] == {"renames": 2, "total_score": 0.5}
    assert [score["scorer_id"] for score in shown["attempts"][0]["scores"]] == ["s", "t0", "t300"]


def test_a_run_is_shown_with_its_summary_and_by_the_beginning_of_its_id(client: httpx.Client) -> None:
    probe = f"probe-{uuid4().hex[:12]}"
    name, events = run(probe, "accepted")
    post(client, events)
    shown = get(client, f"/runs/{name}")
    assert "summary" not in shown
    (listed,) = get(client, "/runs", probe=probe)["runs"]
    assert get(client, f"/runs/{name}", include="summary") == {**shown, "summary": listed}
    assert client.get(f"/runs/{name[:-1]}").status_code == 404
    assert get(client, f"/runs/{name[:-1]}", prefix="true") == shown
