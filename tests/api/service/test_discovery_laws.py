"""Laws of a live run, whatever is answered: it is the decider's own run, it is bounded, and a retry changes nothing."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.errors import AttemptTaken, RunEnded
from api.principal import OWNER
from api.service.discovery import run_operations
from api.service.discovery.run_types import ResponseResult, RunConfig
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from events.discovery import DiscoveryStarted
from events.payload import Payload
from events.probe import ProbeScored
from events.registry import VOCABULARY
from instruments.answer import RouterAnswer
from instruments.discovery import Session
from instruments.probes import find_probe
from tests.api.http.discovery_agent import (
    EMPTY,
    GARBAGE,
    PROBE,
    REFUSED,
    WORK,
    WRAPPER,
    model,
)

pytestmark = pytest.mark.slow

ELAPSED = st.none() | st.integers(0, 10**12)
TEXTS = [model(name)["response"] for name in ("a-1", "A-1", "b-2", "acme/b-2-20250514", "unknown")] + [
    one["response"] for one in (REFUSED, EMPTY, GARBAGE, WRAPPER, model("c-3", WORK * 1_000))
]
ANSWERS = st.one_of(
    st.builds(
        RouterAnswer, text=st.sampled_from(TEXTS) | st.text(max_size=40), elapsed_ns=st.none() | st.integers(0, 10**12)
    ),
    st.builds(RouterAnswer, failure=st.sampled_from(["timeout", "failed"]), detail=st.none() | st.text(max_size=20)),
)
CONFIGS = st.builds(
    RunConfig,
    run_id=st.builds(lambda: uuid4().hex),
    probe_id=st.just(PROBE),
    max_iterations=st.integers(1, 4),
    max_attempts=st.integers(1, 8),
    terminate_on_repeat=st.booleans(),
    keep_going=st.booleans(),
)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laws") / "ledger.db"


async def play(
    ledger: Path, config: RunConfig, answers: Sequence[RouterAnswer]
) -> tuple[list[Payload], list[ResponseResult]]:
    """A run that is answered so until it ends, each answer sent twice; its events, scores among them."""
    service = await LedgerService.open(ledger, writable=True, views=False)
    try:
        store = LocalStore(service, OWNER)
        run = (await run_operations.start(store, config)).run_id
        came: list[ResponseResult] = []
        for answer in answers:
            with suppress(RunEnded):
                due = len(came) + 1
                came.append(await run_operations.respond(store, run, answer, due))
                assert await run_operations.respond(store, run, answer, due) == came[-1]
                other = RouterAnswer(text=f"not what was said: {answer.text}")
                with pytest.raises(AttemptTaken):
                    await run_operations.respond(store, run, other, due)
                assert await run_operations.prompt(store, run) == came[-1].next
        kinds = [name for name in VOCABULARY.type_names if name.partition(".")[0] in {"discovery", "probe"}]
        events = VOCABULARY.events(await store.streams((), kinds))
    finally:
        await service.close()
    return [event.data for event in events if getattr(event.data, "run_id", None) == run], came


def small(payload: Payload) -> Payload:
    """Return a payload without the texts that may be stored beside the log."""
    absent = {name: None for name in ("response", "output") if hasattr(payload, name)}
    return msgspec.structs.replace(payload, **absent)


@given(config=CONFIGS, answers=st.lists(ANSWERS, max_size=12))
def test_a_live_run_is_the_deciders_own_and_ends_in_its_limits(
    ledger: Path, config: RunConfig, answers: Sequence[RouterAnswer]
) -> None:
    stored, came = asyncio.run(play(ledger, config, answers))
    started, *rest = stored
    assert isinstance(started, DiscoveryStarted)
    probe = find_probe(PROBE)
    assert probe is not None
    session, made = Session(started=started), []
    for answer in answers:
        batch = session.decide(answer, probe)
        session = session.then(batch)
        made += batch
    assert list(map(small, rest)) == list(map(small, made))
    assert len(came) == session.attempts <= config.max_attempts
    assert sum(one.outcome == "accepted" for one in came) == session.iterations <= config.max_iterations
    assert (session.ending is not None) == (bool(came) and came[-1].next.prompt is None)
    scores = [payload.attempt for payload in rest if isinstance(payload, ProbeScored)]
    assert scores == sorted(set(scores)), "no attempt is scored twice"  # type: ignore[type-var]
