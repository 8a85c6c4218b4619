"""Signals of a run over HTTP: checked, and read from where one left off."""

import httpx
import pytest

from tests.api.http.discovery_agent import (
    GARBAGE,
    Asker,
    checked,
    model,
    problem,
)
from tests.api.http.posts import head


@pytest.fixture
def asker(client: httpx.Client) -> Asker:
    return Asker(client)


def test_a_signal_is_answered_as_it_stands(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    body = {
        "event": "stuck", "agent": "scout", "case_id": "c-7", "step": "spawn", "meta": {"tries": "3"},
        "ts": "yesterday, about noon",
    }  # fmt: skip
    placed = checked(asker.ask("POST", f"/discovery/{run}/signals", body), 201)
    event = asker.stream(run)[-1]
    assert placed == {"position": event["position"], "time": event["time"], **body}
    assert event["data"] == {"run_id": run, **body}
    assert asker.get(f"/discovery/{run}/signals") == {"signals": [placed], "next": placed["position"]}


def test_a_signal_without_an_agent_is_of_who_sent_it(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    assert checked(asker.ask("POST", f"/discovery/{run}/signals", {"event": "x"}), 201)["agent"] == "anonymous"


def test_a_poller_sees_each_signal_once(asker: Asker) -> None:
    run = asker.begin(keep_going=True)["run_id"]
    seen, cursor = [], 0
    for number in range(4):
        asker.ask("POST", f"/discovery/{run}/signals", {"event": f"s{number}"})
        asker.respond(run, model(f"m{number}"))
        if number == 2:
            asker.respond(run, GARBAGE)
        page = asker.get(f"/discovery/{run}/signals", since=cursor)
        seen += [signal["event"] for signal in page["signals"]]
        cursor = page["next"]
    assert seen == ["s0", "s1", "s2", "ORANGE", "s3"]
    again = asker.get(f"/discovery/{run}/signals", since=cursor)
    assert again == {"signals": [], "next": cursor}
    others = asker.begin()["run_id"]
    assert asker.get(f"/discovery/{others}/signals")["signals"] == []


def test_signals_since_a_time_are_those_recorded_from_then_on(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    placed = [checked(asker.ask("POST", f"/discovery/{run}/signals", {"event": name}), 201) for name in ("a", "b")]
    for since, names in (
        (placed[0]["time"], ["a", "b"]), (placed[1]["time"], ["b"]), ("2020-01-01", ["a", "b"]), ("2999-01-01", []),
    ):  # fmt: skip
        page = asker.get(f"/discovery/{run}/signals", since=since)
        assert [signal["event"] for signal in page["signals"]] == names
        assert page["next"] == placed[1]["position"]


@pytest.mark.parametrize("since", ["soon", "-1", "9" * 25, "2026-13-01"])
def test_a_since_that_is_none_is_refused(asker: Asker, since: str) -> None:
    run = asker.begin()["run_id"]
    assert problem(asker.ask("GET", f"/discovery/{run}/signals", since=since), 400, "invalid-query")["field"] == "since"


def test_a_cursor_beyond_the_head_is_refused(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    beyond = asker.ask("GET", f"/discovery/{run}/signals", since=head(asker.client) + 1)
    assert "another ledger" in problem(beyond, 400, "invalid-query")["advice"]


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "event"), ({"event": ""}, "event"), ({"event": "x", "meta": {"n": 1}}, "meta[...]"),
     ({"event": "x", "level": "red"}, "level")],
)  # fmt: skip
def test_a_signal_that_does_not_fit_is_refused_by_name(asker: Asker, body: dict[str, object], field: str) -> None:
    run = asker.begin()["run_id"]
    assert problem(asker.ask("POST", f"/discovery/{run}/signals", body), 422, "invalid-event")["field"] == field
    assert len(asker.stream(run)) == 1
