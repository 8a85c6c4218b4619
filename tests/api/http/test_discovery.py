"""The loop of discovery over HTTP: each row of it, as agents that spawn their own answers see it."""

import re

import httpx
import msgspec
import pytest

from api.service.discovery import run_types
from events.discovery import DiscoveryStarted
from events.registry import VOCABULARY
from instruments.answer import RouterAnswer
from instruments.discovery import PROMPT_VERSION, Session
from instruments.probes import find_probe
from tests.api.http.discovery_agent import (
    EMPTY,
    FAILED,
    GARBAGE,
    PROBE,
    REFUSED,
    TIMEOUT,
    WORK,
    WRAPPER,
    Asker,
    checked,
    model,
    problem,
)
from tests.api.http.posts import (
    Json,
    fresh,
    head,
    post,
)


@pytest.fixture
def asker(client: httpx.Client) -> Asker:
    return Asker(client)


def test_a_run_begins_with_its_first_prompt(asker: Asker) -> None:
    response = asker.ask(
        "POST",
        "/discovery",
        {"probe_id": PROBE, "max_iterations": 3, "router": "subagents", "requested_model": "auto"},
    )
    step = checked(response, 201)
    assert response.headers["location"] == f"/discovery/{step['run_id']}/prompt"
    assert (step["attempt"], step["excluded"], step["exclusion_prompt"], step["ending"]) == (1, [], "", None)
    assert "model_name" in step["prompt"]
    assert asker.prompt(step["run_id"]) == step
    [started] = asker.stream(step["run_id"])
    assert started["data"] == {
        "run_id": step["run_id"], "probe_id": PROBE, "probe_version": started["data"]["probe_version"],
        "prompt_version": PROMPT_VERSION,
        "max_iterations": 3, "max_attempts": 40, "terminate_on_repeat": True, "keep_going": False,
        "router": "subagents", "requested_model": "auto",
    }  # fmt: skip


def test_a_start_without_a_body_takes_the_defaults(asker: Asker) -> None:
    step = checked(asker.ask("POST", "/discovery"), 201)
    data = asker.stream(step["run_id"])[0]["data"]
    assert (data["probe_id"], data["max_iterations"], data["max_attempts"]) == (run_types.PROBE, 15, 40)


@pytest.mark.slow
def test_code_is_scored_as_the_probe_says(asker: Asker) -> None:
    step = asker.begin(probe_id="refactor-python")
    (original,) = re.findall(r"```python\n(.*?)```", step["prompt"], re.DOTALL)
    better = f"# Accountants put losses in parentheses.\n{original.replace('if c == True', 'if c')}"
    better = better.replace("for i in range(len(a)):", "for v in a:").replace("a[i]", "v")
    came = [
        asker.respond(step["run_id"], model(name, f"Here it is:\n\n```python\n{code}```"))
        for name, code in (("a", original), ("b", better), ("c", "def d(a, b, c):\n    return 0, b\n"))
    ]
    assert [one["outcome"] for one in came] == ["accepted"] * 3
    assert [one["analysis"]["score"]["counts"]["comments_added"] for one in came] == [0, 1, 0]
    assert [one["analysis"]["score"]["dimensions"]["behaviour"] < 1 for one in came] == [False, False, True]
    assert came[2]["score"] == 0 < came[0]["score"] < came[1]["score"]
    assert asker.respond(step["run_id"], model("d"))["outcome"] == "unparsable"


def test_keep_going_does_not_end_on_repeats(asker: Asker) -> None:
    run = asker.begin(keep_going=True)["run_id"]
    data = asker.stream(run)[0]["data"]
    assert (data["keep_going"], data["terminate_on_repeat"]) == (True, False)


def test_a_start_that_is_retried_begins_once(asker: Asker) -> None:
    run = fresh()
    first = asker.begin(run_id=run, max_attempts=5)
    again = checked(asker.ask("POST", "/discovery", {"probe_id": PROBE, "run_id": run, "max_attempts": 5}), 200)
    assert again == first
    assert len(asker.stream(run)) == 1
    other = problem(asker.ask("POST", "/discovery", {"run_id": run}), 409, "lifecycle-violation")
    assert run in other["detail"]


def test_a_new_model_is_recorded_and_excluded_from_then_on(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    answer = model("Nova-1", elapsed_ms=12.5, reported_model="nova-1-2026", tokens_used=7)
    came = asker.respond(run, answer)
    assert (came["attempt"], came["outcome"], came["iteration"]) == (1, "accepted", 0)
    analysis = came["analysis"]
    assert (analysis["identity"], analysis["key"]) == ({"model_name": "Nova-1", "provider": "Acme"}, "nova-1")
    assert (analysis["code"], analysis["known"], analysis["wrapper"]) == (WORK, False, False)
    assert (analysis["verdict"], analysis["score"]["total"]) == ("identified", came["score"])
    assert came["lines"] == [f"iteration 0: Nova-1 (score={came['score']:.2f}) [12ms]"]
    step = came["next"]
    assert (step["attempt"], step["excluded"], step["ending"]) == (2, ["Nova-1"], None)
    assert "Nova-1" in step["exclusion_prompt"]
    assert step["prompt"].startswith(step["exclusion_prompt"])
    assert asker.prompt(run) == step
    _, attempted = asker.stream(run)
    data = attempted["data"]
    assert (data["elapsed_ns"], data["tokens_used"], data["reported_model"]) == (12_500_000, 7, "nova-1-2026")
    assert (data["response"], data["output"]) == (answer["response"], WORK)


@pytest.mark.parametrize(
    ("answers", "outcome", "ending", "reason", "signals"),
    [
        ([model("a-1"), model("b-1"), model("A-1")], "repeat", "repeat",
         "repeat at iteration 2: model a-1 seen at iteration 0", 0),
        ([model("a-1"), WRAPPER], "wrapper", "wrapper",
         "wrapper at iteration 1: 'Cursor Agent' is a host's name, not a model's", 1),
        ([model("a-1"), REFUSED], "refused", "refused", "refused at iteration 1: the answer begins with EXCLUDED", 1),
        ([model("a-1"), EMPTY], "empty", "empty", "empty answer at iteration 1", 1),
        ([model("a-1"), {"response": ""}], "empty", "empty", "empty answer at iteration 1", 1),
        ([model("a-1"), GARBAGE], "unparsable", "unparsable",
         "unparsable answer at iteration 1: no identity is in the answer", 1),
        ([model("a-1"), TIMEOUT, TIMEOUT], "timeout", "timeout",
         "timeout at iteration 1: no answer, twice, to the same prompt", 2),
        ([model("a-1"), FAILED], "failed", "failed", "router failed at iteration 1: connection refused", 1),
        ([model("a-1"), model("b-1"), model("c-1")], "accepted", "max_iterations", "max iterations reached", 0),
    ],
)  # fmt: skip
def test_each_row_of_the_loop(
    asker: Asker, answers: list[Json], outcome: str, ending: str, reason: str, signals: int
) -> None:
    came = asker.drive(answers, max_iterations=3)
    last = came[-1]
    assert last["outcome"] == outcome
    step = last["next"]
    assert (step["ending"], step["reason"], step["attempt"], step["prompt"]) == (ending, reason, None, None)
    run = last["run_id"]
    assert asker.prompt(run) == step
    assert "a-1" in step["excluded"]
    events = [event["type"] for event in asker.stream(run)]
    assert events.count("discovery.attempted.v1") == len(answers)
    assert events[-1] == "discovery.finished.v1"
    recorded = asker.get(f"/discovery/{run}/signals")["signals"]
    assert [signal["event"] for signal in recorded] == ["ORANGE"] * signals


def test_a_timeout_is_asked_again_with_the_same_prompt(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    before = asker.respond(run, model("a-1"))["next"]
    came = asker.respond(run, TIMEOUT)
    assert (came["outcome"], came["analysis"], came["detail"]) == ("timeout", None, "nothing within 5 s")
    assert came["next"] == before | {"attempt": 3}


def test_the_attempts_are_bounded_whatever_is_answered(asker: Asker) -> None:
    answers = [model("a"), model("a"), WRAPPER, REFUSED, EMPTY, GARBAGE, TIMEOUT, TIMEOUT, FAILED, model("b")]
    came = asker.drive(answers, keep_going=True, max_attempts=len(answers))
    assert [one["next"]["ending"] for one in came[:-1]] == [None] * 9
    assert came[-1]["next"]["ending"] == "max_attempts"
    problem(asker.reply(came[0]["run_id"], model("c")), 409, "run-ended")


def test_the_events_are_those_of_the_decider_alone(asker: Asker) -> None:
    answers = [model("a", elapsed_ns=5), TIMEOUT, model("b"), model("a", "No idea."), GARBAGE, WRAPPER, FAILED]
    run = asker.drive(answers, keep_going=True, max_attempts=7)[0]["run_id"]
    events = asker.stream(run)
    started = msgspec.convert(events[0]["data"], DiscoveryStarted)
    probe = find_probe(PROBE)
    assert probe is not None
    session, made = Session(started=started), []
    for fields in answers:
        text = {"text": fields["response"]} if "response" in fields else {}
        rest = {name: value for name, value in fields.items() if name != "response"}
        batch = session.decide(RouterAnswer(**text, **rest), probe)
        session = session.then(batch)
        made += batch
    stored = [*events[1:], *_scores(asker, events)]
    assert sorted(map(repr, (event["data"] for event in stored))) == sorted(repr(msgspec.to_builtins(p)) for p in made)


def _scores(asker: Asker, events: list[Json]) -> list[Json]:
    """Return the scores in the whole log, which are not in a run's own stream."""
    found: list[Json] = asker.get("/events", type="probe.scored.v1", after=events[0]["position"], limit=1000)["events"]
    return [event for event in found if event["data"]["run_id"] == events[0]["data"]["run_id"]]


def test_an_attempt_and_its_score_and_the_end_stand_side_by_side(asker: Asker) -> None:
    run = asker.drive([model("a"), model("a")])[0]["run_id"]
    events = asker.stream(run)
    scores = _scores(asker, events)
    positions = sorted(event["position"] for event in [*events, *scores])
    assert positions == list(range(positions[0], positions[0] + 6))
    assert [score["data"]["attempt"] for score in scores] == [1, 2]


def test_the_same_answer_to_an_attempt_gives_the_same_result(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    first = asker.respond(run, model("a", attempt=1))
    asker.respond(run, TIMEOUT | {"attempt": 2})
    asker.respond(run, model("b", attempt=3))
    before = head(asker.client)
    assert asker.respond(run, model("a", attempt=1)) == first
    assert asker.respond(run, TIMEOUT | {"attempt": 2})["outcome"] == "timeout"
    assert head(asker.client) == before


def test_an_attempt_that_ended_the_run_gives_the_same_result_again(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    first = asker.respond(run, GARBAGE | {"attempt": 1})
    assert first["next"]["ending"] == "unparsable"
    assert asker.respond(run, GARBAGE | {"attempt": 1}) == first


def test_another_answer_to_an_answered_attempt_is_refused_with_what_stands(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    asker.respond(run, model("a", attempt=1))
    digest = asker.stream(run)[1]["data"]["response_digest"]
    for other in (model("b", attempt=1), FAILED | {"attempt": 1}, {"response": "", "attempt": 1}):
        refused = problem(asker.reply(run, other), 409, "attempt-taken")
        assert f"outcome accepted, response {digest}" in refused["detail"]
    assert len(asker.stream(run)) == 2


def test_an_attempt_that_is_not_due_is_refused(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    refused = problem(asker.reply(run, model("a", attempt=2)), 409, "attempt-taken")
    assert "attempt 1 is" in refused["detail"]
    assert len(asker.stream(run)) == 1


def test_a_registered_model_is_known_by_every_name(asker: Asker) -> None:
    key = f"nova-{fresh()}"
    post(asker.client, {"type": "model.registered.v1", "data": {"key": key}})
    post(asker.client, {"type": "model.aliased.v1", "data": {"key": key, "alias": f"Super {key}"}})
    names = (f"acme/{key}-20250514", f"SUPER {key}", f"other-{key}")
    came = asker.drive([model(name) for name in names], terminate_on_repeat=False)
    assert [one["analysis"]["known"] for one in came] == [True, True, False]


def test_the_answer_has_the_command_that_registers_an_unknown_model(asker: Asker) -> None:
    key = f"nova-{fresh()}"
    post(asker.client, {"type": "model.registered.v2", "data": {"key": key, "version": "2026"}})
    came = asker.drive([model(key), model(f"Other {key}", version="3 beta"), REFUSED])
    command = f"tallystick model register other-{key} --provider Acme --name 'Other {key}' --version '3 beta'"
    assert [one.get("register") for one in came] == [None, command, None]
    (registered,) = asker.get("/inventory", model=key)["models"]
    assert (registered["version"], registered["known"]) == ("2026", True)
    (other,) = asker.get("/inventory", model=f"other-{key}")["models"]
    assert "version" not in other


def test_a_run_that_has_ended_says_when_and_why(asker: Asker) -> None:
    run = asker.drive([REFUSED])[0]["run_id"]
    end = asker.stream(run)[-1]
    for path, body in (("responses", model("a")), ("finish", {"reason": "enough"})):
        refused = problem(asker.ask("POST", f"/discovery/{run}/{path}", body), 409, "run-ended")
        assert f"ended at {end['time']}: {end['data']['reason']}" in refused["detail"]
        assert refused["advice"]


def test_a_signal_is_possible_after_the_run_ended(asker: Asker) -> None:
    run = asker.drive([TIMEOUT, TIMEOUT])[0]["run_id"]
    end = asker.stream(run)[-1]
    sent = [
        checked(asker.ask("POST", f"/discovery/{run}/signals", {"event": event, "meta": {"by": "a person"}}), 201)
        for event in ("checked", "closed")
    ]
    assert [one["event"] for one in sent] == ["checked", "closed"]
    listed = asker.get(f"/discovery/{run}/signals")
    assert [one["event"] for one in listed["signals"]] == ["ORANGE", "ORANGE", "checked", "closed"]
    assert listed["signals"][2:] == sent
    assert asker.get(f"/discovery/{run}/signals", since=sent[0]["position"])["signals"] == sent[1:]
    assert asker.stream(run)[-1] == end
    report = asker.get(f"/runs/{run}", include="attempts,summary")
    assert [signal["event"] for signal in report["signals"]] == ["ORANGE", "ORANGE", "checked", "closed"]
    assert (report["summary"]["signals"], report["summary"]["ending"]) == (4, "timeout")
    assert report["termination_reason"] == end["data"]["reason"]


def test_a_run_that_is_not_there_is_not_found(asker: Asker) -> None:
    for method, path, body in (
        ("GET", "prompt", None), ("POST", "responses", model("a")),
        ("GET", "signals", None), ("POST", "finish", None),
    ):  # fmt: skip
        for run in ("nobody", "%C3%A4", "a%2Cb"):
            problem(asker.ask(method, f"/discovery/{run}/{path}", body), 404, "not-found")


def test_a_signal_is_possible_without_a_run_and_says_so(asker: Asker) -> None:
    run = fresh()
    sent = checked(asker.ask("POST", f"/discovery/{run}/signals", {"event": "before"}), 201)
    assert sent.pop("unknown") == [run]
    assert asker.get(f"/discovery/{run}/signals")["signals"] == [sent]
    asker.begin(run_id=run)
    later = checked(asker.ask("POST", f"/discovery/{run}/signals", {"event": "begun"}), 201)
    assert "unknown" not in later
    assert asker.get(f"/discovery/{run}/signals")["signals"] == [sent, later]
    for none in ("%C3%A4", "a%2Cb"):
        problem(asker.ask("POST", f"/discovery/{none}/signals", {"event": "x"}), 404, "not-found")


def test_a_run_of_a_probe_that_is_not_here_says_so(asker: Asker) -> None:
    run = fresh()
    data = {"run_id": run, "probe_id": "long-gone", "probe_version": "7"}
    post(asker.client, {"type": "discovery.started.v1", "data": data})
    refused = problem(asker.ask("GET", f"/discovery/{run}/prompt"), 409, "lifecycle-violation")
    assert "long-gone@7" in refused["detail"]
    problem(asker.reply(run, model("a")), 409, "lifecycle-violation")
    checked(asker.ask("POST", f"/discovery/{run}/finish"), 200)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, None),
        (b"[]", 422, None),
        ({"probe_id": "nothing"}, 422, "probe_id"),
        ({"max_iterations": 0}, 422, "max_iterations"),
        ({"max_attempts": 1001}, 422, "max_attempts"),
        ({"max_attempts": 1.5}, 422, "max_attempts"),
        ({"probes": "x"}, 422, "probes"),
        ({"run_id": "a/b"}, 422, "data.run_id"),
        ({"run_id": ""}, 422, "run_id"),
        ({"router": "x" * 257}, 422, "router"),
        ({"router": "openai:https://me:secret@host/v1"}, 422, "router"),
    ],
)
def test_a_start_that_does_not_fit_is_refused_by_name(
    asker: Asker, body: object, status: int, field: str | None
) -> None:
    before = head(asker.client)
    refused = problem(
        asker.ask("POST", "/discovery", body), status, "malformed-input" if status == 400 else "invalid-event"
    )
    assert refused.get("field") == field
    assert refused["advice"]
    assert "secret" not in refused["detail"]
    assert head(asker.client) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "response"),
        (None, "response"),
        ({"response": "a", "failure": "timeout"}, "response"),
        ({"failure": "bored"}, "failure"),
        ({"response": "a", "attempt": 0}, "attempt"),
        ({"response": "a", "elapsed_ns": -1}, "elapsed_ns"),
        ({"response": "a", "elapsed_ns": 1, "elapsed_ms": 1}, "elapsed_ms"),
        ({"response": "a", "elapsed_ms": 1e300}, "elapsed_ms"),
        ({"response": 7}, "response"),
        ({"text": "a"}, "text"),
    ],
)
def test_a_response_that_does_not_fit_is_refused_by_name(asker: Asker, body: object, field: str) -> None:
    run = asker.begin()["run_id"]
    refused = problem(asker.reply(run, body), 422, "invalid-event")
    assert refused["field"] == field
    assert len(asker.stream(run)) == 1


def test_other_parameters_and_other_media_are_refused(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    refused = problem(asker.ask("GET", f"/discovery/{run}/prompt", attempt=1), 400, "invalid-query")
    assert refused["field"] == "attempt"
    response = asker.client.post(f"/discovery/{run}/responses", content=b"hi", headers={"content-type": "text/plain"})
    problem(response, 415, "unsupported-media")
    huge = model("a", "x" * (4 * 1024 * 1024))
    assert problem(asker.reply(run, huge), 413, "line-too-long")["field"] == "response"


def test_a_run_finishes_when_it_is_asked_to(asker: Asker) -> None:
    run = asker.drive([model("a")])[0]["run_id"]
    first = checked(asker.ask("POST", f"/discovery/{run}/finish", {"reason": "enough seen"}), 200)
    assert checked(asker.ask("POST", f"/discovery/{run}/finish", {"reason": "enough seen"}), 200) == first
    assert first == asker.get(f"/runs/{run}")
    assert (first["run_id"], first["termination_reason"]) == (run, "enough seen")
    assert [result["model"]["model_name"] for result in first["results"]] == ["a"]
    end = asker.stream(run)[-1]["data"]
    assert end == {"run_id": run, "ending": "requested", "reason": "enough seen"}
    step = asker.prompt(run)
    assert (step["ending"], step["reason"], step["excluded"]) == ("requested", "enough seen", ["a"])
    refused = asker.ask("POST", f"/discovery/{run}/finish", {"reason": ""})
    assert problem(refused, 422, "invalid-event")["field"] == "reason"


def test_every_event_of_a_run_is_in_the_vocabulary_and_of_who_sent_it(asker: Asker) -> None:
    run = asker.drive([model("a"), GARBAGE])[0]["run_id"]
    for event in asker.stream(run):
        assert VOCABULARY.stored(msgspec.json.encode(event)).source == "/agents/anonymous"
