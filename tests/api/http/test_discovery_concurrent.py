"""Runs of discovery under stress: several agents at once, agents with tokens, and a server that is killed."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import httpx
import pytest

from api.principal import DEFAULT_SCOPES, Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.discovery_agent import (
    EMPTY,
    WORK,
    Asker,
    checked,
    model,
    problem,
)
from tests.api.http.posts import Json
from tests.support.server import served

AGENTS = 20


@pytest.fixture
def asker(client: httpx.Client) -> Asker:
    return Asker(client)


def at_once(asker: Asker, ask: Callable[[Asker, int], httpx.Response]) -> list[httpx.Response]:
    """What AGENTS agents are answered that ask at the same time, each in a thread of its own."""
    ready = Barrier(AGENTS)

    def one(number: int) -> httpx.Response:
        ready.wait()
        return ask(asker, number)

    with ThreadPoolExecutor(AGENTS) as pool:
        return list(pool.map(one, range(AGENTS)))


def attempts_of(asker: Asker, run: str) -> list[Json]:
    """The attempts of a run, which are numbered without a gap and each once."""
    found = [event["data"] for event in asker.stream(run) if event["type"] == "discovery.attempted.v1"]
    assert [data["attempt"] for data in found] == list(range(1, len(found) + 1))
    return found


def test_many_agents_at_once_answer_one_run_and_each_counts_once(asker: Asker) -> None:
    run = asker.begin(max_iterations=100)["run_id"]
    came = [checked(one, 200) for one in at_once(asker, lambda agent, number: agent.reply(run, model(f"m{number}")))]
    assert sorted(one["attempt"] for one in came) == list(range(1, AGENTS + 1))
    attempts = attempts_of(asker, run)
    assert sorted(one["iteration"] for one in came) == [data["iteration"] for data in attempts] == list(range(AGENTS))
    by_attempt = {one["attempt"]: one["analysis"]["key"] for one in came}
    assert [data["claimed"]["model_name"] for data in attempts] == [by_attempt[n] for n in range(1, AGENTS + 1)]
    for earlier, later in pairwise(attempts):
        assert earlier["claimed"]["model_name"] in later["exclusion_prompt"]


def test_many_agents_at_once_answer_one_attempt_and_one_is_taken(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    came = at_once(asker, lambda agent, number: agent.reply(run, model(f"m{number}", attempt=1)))
    assert Counter(one.status_code for one in came) == {200: 1, 409: AGENTS - 1}
    for one in came:
        if one.status_code == 409:
            problem(one, 409, "attempt-taken")
    assert len(attempts_of(asker, run)) == 1


def test_one_answer_that_many_send_at_once_is_recorded_once_for_all(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    came = at_once(asker, lambda agent, number: agent.reply(run, model("m", attempt=1)))
    assert len({one.content for one in came}) == 1
    assert {one.status_code for one in came} == {200}
    assert len(attempts_of(asker, run)) == 1


def test_many_agents_at_once_stop_at_the_limit(asker: Asker) -> None:
    run = asker.begin(max_attempts=7, keep_going=True)["run_id"]
    came = at_once(asker, lambda agent, number: agent.reply(run, model(f"m{number}") if number % 2 else EMPTY))
    assert Counter(one.status_code for one in came) == {200: 7, 409: AGENTS - 7}
    assert len(attempts_of(asker, run)) == 7
    assert asker.prompt(run)["ending"] == "max_attempts"


@pytest.mark.slow
def test_many_long_answers_at_once_are_kept_each_once(asker: Asker) -> None:
    run = asker.begin(max_iterations=100)["run_id"]
    work = f"{WORK}\n" + "So it waited. " * 6_000
    for one in at_once(asker, lambda agent, number: agent.reply(run, model(f"m{number}", work))):
        checked(one, 200)
    attempts = attempts_of(asker, run)
    assert len(attempts) == AGENTS
    assert {data["output_digest"] for data in attempts} == {sha256(work.strip().encode()).hexdigest()}
    for data in attempts:
        text = asker.client.get(f"/evidence/{data['response_digest']}").text
        assert text == model(data["claimed"]["model_name"], work)["response"]


def test_signals_answers_and_an_end_at_once_leave_one_whole_run(asker: Asker) -> None:
    run = asker.begin(max_iterations=100)["run_id"]

    def ask(agent: Asker, number: int) -> httpx.Response:
        if number == 7:
            return agent.ask("POST", f"/discovery/{run}/finish", {"reason": "enough"})
        if number % 2:
            return agent.reply(run, model(f"m{number}"))
        return agent.ask("POST", f"/discovery/{run}/signals", {"event": f"s{number}"})

    came = at_once(asker, ask)
    for one in came:
        if one.status_code not in {200, 201}:
            problem(one, 409, "run-ended")
    events = asker.stream(run)
    assert [event["streamversion"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["data"]["reason"] == "enough"
    written = sum(one.status_code in {200, 201} for one in came)
    late = asker.get("/events", subject=f"signal/{run}", limit=1000)["events"]
    assert len(events) + len(late) == 1 + written
    sent = sum(one.status_code == 201 for one in came)
    assert len(asker.get(f"/discovery/{run}/signals")["signals"]) == sent


def test_starts_of_one_id_at_once_begin_one_run(asker: Asker) -> None:
    came = at_once(asker, lambda agent, number: agent.ask("POST", "/discovery", {"run_id": "one-of-many"}))
    assert Counter(one.status_code for one in came) == {201: 1, 200: AGENTS - 1}
    assert len({one.content for one in came}) == 1


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Asker]]:
    """Agents with tokens on one server."""
    ledger = tmp_path_factory.mktemp("guarded") / "ledger.db"
    tokens = TokenStore(ledger)
    held: dict[str, tuple[Scope, ...]] = {
        "scout": DEFAULT_SCOPES, "other": DEFAULT_SCOPES, "reader": ("read",), "writer": ("append",),
    }  # fmt: skip
    secrets = {agent: tokens.add(agent, scopes, system_clock())[1] for agent, scopes in held.items()}
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        yield {agent: Asker(client, secret) for agent, secret in secrets.items()} | {"nobody": Asker(client)}


@pytest.mark.trial("N2")
def test_a_run_is_written_by_the_agent_that_began_it(guarded: dict[str, Asker]) -> None:
    scout, other = guarded["scout"], guarded["other"]
    run = scout.begin()["run_id"]
    for path, body in (
        ("responses", {"response": "text"}),
        ("signals", {"event": "seen"}),
        ("finish", None),
    ):
        problem(other.ask("POST", f"/discovery/{run}/{path}", body), 403, "foreign-stream")
    problem(scout.ask("POST", f"/discovery/{run}/signals", {"event": "seen", "agent": "other"}), 403, "forbidden")
    checked(scout.ask("POST", f"/discovery/{run}/signals", {"event": "seen", "agent": "scout"}), 201)
    checked(scout.ask("POST", f"/discovery/{run}/finish"), 200)
    problem(other.ask("POST", f"/discovery/{run}/signals", {"event": "late"}), 403, "foreign-stream")
    assert {event["source"] for event in scout.stream(run)} == {"/agents/scout"}


def test_each_route_requires_its_scope(guarded: dict[str, Asker]) -> None:
    run = guarded["scout"].begin()["run_id"]
    calls: Sequence[tuple[str, str, str]] = (
        ("POST", "/discovery", "reader"),
        ("GET", f"/discovery/{run}/prompt", "writer"),
        ("POST", f"/discovery/{run}/responses", "reader"),
        ("POST", f"/discovery/{run}/signals", "reader"),
        ("GET", f"/discovery/{run}/signals", "writer"),
        ("POST", f"/discovery/{run}/finish", "reader"),
        ("POST", f"/discovery/{run}/finish", "writer"),
    )
    for method, path, agent in calls:
        problem(guarded[agent].ask(method, path), 403, "forbidden")
        problem(guarded["nobody"].ask(method, path), 401, "unauthenticated")
    assert len(guarded["scout"].stream(run)) == 1


@pytest.mark.slow
def test_a_run_goes_on_where_a_killed_server_left_it(tmp_path: Path) -> None:
    answers = [model(f"m{number}") for number in range(6)] + [model("m0")]
    runs = []
    for kills in (False, True):
        ledger = tmp_path / f"{kills}.db"
        run, number = "the-run", 0
        while number < len(answers):
            with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
                asker = Asker(client)
                if number == 0:
                    asker.begin(run_id=run)
                assert asker.prompt(run)["attempt"] == number + 1
                for answer in answers[number:]:
                    asker.respond(run, answer | {"attempt": number + 1})
                    number += 1
                    if kills and number % 2:
                        server.process.kill()
                        server.process.wait()
                        break
                if server.process.poll() is None:
                    runs.append([event["data"] for event in asker.stream(run)])
        if len(runs) == kills:
            with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
                runs.append([event["data"] for event in Asker(client).stream(run)])
    undisturbed, killed = runs
    assert killed == undisturbed
    assert killed[-1]["reason"] == "repeat at iteration 6: model m0 seen at iteration 0"
