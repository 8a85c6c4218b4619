"""Write a run to each kind of store: a ledger service, a file, a server. Some texts are too long for a line."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import httpx
import msgspec
import pytest

from api.client.open_store import open_store
from api.principal import OWNER
from api.service.discovery import run_operations, run_signals
from api.service.discovery.run_operations import respond, start
from api.service.discovery.run_types import RunConfig, SignalDraft
from api.service.ledger import LedgerService
from api.service.store import EventStore, LocalStore
from events.limits import LINE_BYTES_MAX
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from instruments.answer import RouterAnswer
from instruments.probes import PROBES
from tests.api.http.discovery_agent import (
    GARBAGE,
    PROBE,
    WORK,
    Asker,
    checked,
    model,
    problem,
)
from tests.api.http.posts import Json
from tests.support.server import serving

LONG = WORK + "\n" + "So it waited, and waited. " * 4_000
CONFIG = RunConfig(run_id="one", router="script", probe_id=PROBE)
ANSWERS = (
    RouterAnswer(text=model("a")["response"], elapsed_ns=7),
    RouterAnswer(failure="timeout", detail="nothing"),
    RouterAnswer(text=model("b", LONG)["response"], elapsed_ns=8, tokens_used=3),
    RouterAnswer(text=model("c", "x" * 40_000)["response"]),
    RouterAnswer(text=model("A", LONG)["response"]),
)


@pytest.fixture
def asker(client: httpx.Client) -> Asker:
    return Asker(client)


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[EventStore]:
    made = await LedgerService.open(folder / "house.db", writable=True, views=False)
    try:
        yield LocalStore(made, OWNER)
    finally:
        await made.close()


async def drive(store: EventStore) -> tuple[list[bytes], list[Json]]:
    """A run that is answered so, with a signal: what each verb said, and the events there are then."""
    said: list[object] = [await start(store, CONFIG)]
    said.append(await start(store, CONFIG))
    for number, answer in enumerate(ANSWERS, 1):
        said.append(await run_operations.prompt(store, "one"))
        said.append(await respond(store, "one", answer, number))
        assert said[-1] == await respond(store, "one", answer, number)
        if number == 2:
            placed = await run_signals.signal(store, "one", SignalDraft(event="slow"))
            said.append(msgspec.structs.replace(placed, time=""))
    said.append((await run_signals.signals(store, "one")).signals[0].event)
    said.append(await run_operations.prompt(store, "one"))
    kinds = [name for name in VOCABULARY.type_names if name.partition(".")[0] in {"discovery", "probe", "evidence"}]
    events = VOCABULARY.events(await store.streams((), kinds))
    facts = [{"type": event.name, "data": msgspec.to_builtins(event.data)} for event in events]
    return [msgspec.json.encode(one) for one in said], facts


@pytest.mark.slow
def test_each_ledger_that_runs_are_written_in_tells_the_same(tmp_path: Path) -> None:
    async def through(ledger: Path, url: str | None) -> tuple[list[bytes], list[Json]]:
        async with open_store(ledger, url, None) as store:
            return await drive(store)

    async def inside() -> tuple[list[bytes], list[Json]]:
        async with service(tmp_path) as store:
            return await drive(store)

    said, events = asyncio.run(inside())
    assert asyncio.run(through(tmp_path / "file.db", None)) == (said, events)
    with serving(tmp_path / "served.db") as url:
        said_there, events_there = asyncio.run(through(tmp_path / "none.db", url))
    assert [one for one in said_there if b'"position"' not in one] == [one for one in said if b'"position"' not in one]
    assert sorted(map(repr, events_there)) == sorted(map(repr, events))


def long_ones(asker: Asker, run: str) -> Sequence[Json]:
    """The events of the log from a run's start on."""
    after = asker.stream(run)[0]["position"]
    found: Sequence[Json] = asker.get("/events", after=after, limit=1000)["events"]
    return found


def test_a_response_over_the_line_limit_is_evidence_in_the_same_batch(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    answer = model("Nova", LONG)
    assert len(answer["response"]) > LINE_BYTES_MAX
    came = asker.respond(run, answer | {"attempt": 1})
    assert came["analysis"]["code"] == LONG.strip()
    events = long_ones(asker, run)
    digest = sha256(answer["response"].encode()).hexdigest()
    output = sha256(LONG.strip().encode()).hexdigest()
    assert [event["type"] for event in events] == [
        "evidence.stored.v1", "evidence.stored.v1", "discovery.attempted.v1", "probe.scored.v1",
    ]  # fmt: skip
    assert [event["position"] for event in events] == list(range(events[0]["position"], events[0]["position"] + 4))
    attempted = events[2]["data"]
    assert (attempted["response_digest"], attempted["output_digest"]) == (digest, output)
    assert not {"response", "output"} & attempted.keys()
    assert asker.client.get(f"/evidence/{digest}").text == answer["response"]
    assert asker.client.get(f"/evidence/{output}").text == LONG.strip()
    assert asker.respond(run, answer | {"attempt": 1}) == came
    assert problem(asker.reply(run, model("Nova", LONG[:-1]) | {"attempt": 1}), 409, "attempt-taken")


def test_what_is_sensitive_is_evidence_however_short(asker: Asker) -> None:
    run = asker.begin(sensitive=True)["run_id"]
    came = asker.respond(run, {"response": "who I am stays with me"})
    assert (came["outcome"], came["next"]["ending"]) == ("unparsable", "unparsable")
    started, attempted, signalled = (event["data"] for event in asker.stream(run)[:3])
    assert started["sensitive"] is True
    assert "response" not in attempted
    assert signalled["meta"].keys() == {"attempt", "outcome", "reason", "length"}
    assert asker.client.get(f"/evidence/{attempted['response_digest']}").text == "who I am stays with me"


def test_nobody_keeps_an_answer_out_by_taking_the_id_of_its_score(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    scorer = next(probe.scorer for probe in PROBES if probe.id == PROBE)
    score = {"score_id": score_id_of(run, 1, scorer.id, scorer.version), "probe_id": PROBE, "scorer_id": "stranger"}
    assert asker.client.post("/events", json={"type": "probe.scored.v1", "data": score}).status_code == 201
    for answer in (model("Nova"), model("Orion")):
        assert asker.respond(run, answer)["outcome"] == "accepted"
    assert [event["type"].split(".")[1] for event in long_ones(asker, run)[1:]] == ["attempted", "attempted", "scored"]


def test_only_what_finds_no_space_is_evidence(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    asker.respond(run, model("Nova", "y" * 40_000))
    kept, attempted, _ = long_ones(asker, run)
    assert kept["data"]["digest"] == attempted["data"]["response_digest"]
    assert attempted["data"]["output"] == "y" * 40_000


def test_an_answer_that_was_erased_may_come_again_and_stays_erased(asker: Asker) -> None:
    answer = GARBAGE | {"response": "I will not say. " * 5_000}
    digest = sha256(str(answer["response"]).encode()).hexdigest()
    first = asker.drive([answer])[0]
    checked(asker.ask("DELETE", f"/evidence/{digest}", reason="private"), 200)
    run = asker.begin()["run_id"]
    again = asker.respond(run, answer)
    assert (again["outcome"], again["attempt"]) == (first["outcome"], 1)
    assert asker.stream(run)[1]["data"]["response_digest"] == digest
    problem(asker.ask("GET", f"/evidence/{digest}"), 410, "gone")
    assert asker.respond(first["run_id"], answer | {"attempt": 1})["next"]["ending"] == "unparsable"


def test_a_score_stands_with_every_claim_and_names_its_attempt(asker: Asker) -> None:
    run = asker.begin()["run_id"]
    came = asker.respond(run, model("Nova"))
    [scored] = [event for event in long_ones(asker, run) if event["type"] == "probe.scored.v1"]
    score = msgspec.convert(scored["data"], ProbeScored)
    assert (score.run_id, score.attempt, score.model_name, score.total_score) == (run, 1, "Nova", came["score"])
