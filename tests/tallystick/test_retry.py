"""Retries: how long they wait, what they send, and that nothing is written twice."""

import asyncio
import logging
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick import AsyncClient, Busy, Client, ConnectionFailed
from tallystick.backoff import FIRST_S, LONGEST_S, Backoff
from tests.support.server import Served, serving
from tests.tallystick.ports import free_port
from tests.tallystick.proxy import Fault, proxying


@given(
    total_s=st.floats(0, 100),
    draws=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    asked=st.lists(st.none() | st.floats(0, 30), min_size=60, max_size=60),
    taking_s=st.floats(0, 3),
)
def test_waits_are_bounded_and_end(
    total_s: float, draws: list[float], asked: list[float | None], taking_s: float
) -> None:
    now_s = 0.0
    given_draws = iter(draws)
    backoff = Backoff(total_s, clock=lambda: now_s, draw=lambda: next(given_draws))
    for number, retry_after_s in zip(range(len(draws)), asked, strict=False):
        now_s += taking_s
        wait_s = backoff.next_wait(retry_after_s)
        if wait_s is None:
            longest_s = min(LONGEST_S, FIRST_S * 2**number)
            assert now_s + max(longest_s, retry_after_s or 0) > total_s
            assert backoff.tries == number + 1
            return
        assert wait_s >= (retry_after_s or 0)
        assert wait_s <= max(LONGEST_S, retry_after_s or 0)
        assert wait_s >= min(LONGEST_S, FIRST_S * 2**number) / 2
        now_s += wait_s
        assert now_s <= total_s
    assert backoff.tries == len(draws) + 1


FAULTS: list[list[Fault]] = [
    ["lose request", "lose request"],
    ["lose answer", "lose answer"],
    ["busy", "too fast"],
    ["bad gateway", "lose answer", "busy", "lose request"],
]


@pytest.mark.slow
@pytest.mark.parametrize("faults", FAULTS, ids=" ".join)
def test_a_retry_sends_the_same_bytes_and_is_written_once(url: str, agent: str, faults: list[Fault]) -> None:
    with proxying(url, faults) as proxy, Client(proxy.url, agent=agent) as client:
        recorded = client.record("Decide once", confidence=0.5)
        assert recorded.duplicate == ("lose answer" in faults)
        assert len(proxy.seen) == len(faults) + 1
        assert len({(seen.path, seen.body, seen.headers["x-request-id"]) for seen in proxy.seen}) == 1
        assert client.decisions().total == 1


@pytest.mark.slow
def test_the_asynchronous_client_retries_alike(url: str, agent: str) -> None:
    async def program() -> None:
        with proxying(url, ["lose answer", "busy", "lose request"]) as proxy:
            async with AsyncClient(proxy.url, agent=agent) as client:
                recorded = await client.record("Decide once")
                assert recorded.duplicate
                assert len({seen.body for seen in proxy.seen}) == 1
                assert (await client.decisions()).total == 1

    asyncio.run(program())


@pytest.mark.slow
def test_a_batch_that_lost_its_answer_is_written_once(url: str, agent: str) -> None:
    with proxying(url, ["lose answer"]) as proxy, Client(proxy.url, agent=agent) as client:
        recorded = client.record("Decide with thoughts", thoughts=["One."], question="q-1")
        assert recorded.duplicate
        assert client.get_decision(recorded.decision_id).streamversion == 2


@pytest.mark.slow
def test_retry_after_is_respected(url: str) -> None:
    with proxying(url, ["too fast"]) as proxy, Client(proxy.url) as client:
        began_s = time.monotonic()
        client.advice()
        assert time.monotonic() - began_s >= 1
        assert len(proxy.seen) == 2


@pytest.mark.slow
def test_a_wait_that_is_too_long_is_an_error_at_once(url: str) -> None:
    with proxying(url, ["busy for an hour"]) as proxy, Client(proxy.url) as client:
        with pytest.raises(Busy) as refused:
            client.advice()
        assert (refused.value.retry_after_s, refused.value.status) == (3600, 503)
        assert len(proxy.seen) == 1


@pytest.mark.slow
def test_waiting_is_logged_with_its_reason(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tallystick")
    with proxying(url, ["busy", "lose request"]) as proxy, Client(proxy.url) as client:
        client.advice()
        texts = [record.getMessage() for record in caplog.records if record.name == "tallystick"]
        assert len(texts) == 2
        assert "answered 503: The queue is full.; trying again in 0.1 s" in texts[0]
        assert f"{proxy.url} gave no answer" in texts[1]


@pytest.mark.slow
def test_without_time_there_is_one_try(url: str) -> None:
    with proxying(url, ["busy", "lose request"]) as proxy, Client(proxy.url, retry_s=0) as client:
        with pytest.raises(Busy):
            client.advice()
        with pytest.raises(ConnectionFailed):
            client.advice()
        assert len(proxy.seen) == 2


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again_has_each_decision_once(tmp_path: Path) -> None:
    """Four threads record while the server is killed; nobody notices but by waiting."""
    ledger, port = tmp_path / "t.db", free_port()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for place in range(40):
                decision_id = f"d-{number}-{place}"
                client.record(f"Choice {place}", decision_id=decision_id, confidence=0.5)
                client.review(decision_id, "success", event_id=f"{decision_id}-review")
        except BaseException as error:  # noqa: BLE001 - the thread of the test looks at it
            failures.append(error)

    server = Served(ledger, "--port", str(port))
    try:
        with Client(f"http://127.0.0.1:{port}", agent="scout") as client:
            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for kills in range(1, 3):
                while sum(1 for _ in client.events()) < 60 * kills and not failures:
                    pass
                server.process.kill()
                server.process.wait()
                server = Served(ledger, "--port", str(port))
            for thread in threads:
                thread.join()
            assert failures == []
            events = list(client.events())
            assert len(events) == 4 * 40 * 2
            assert len({event.id for event in events}) == len(events)
            assert client.calibration().coverage.reviewed == 160
    finally:
        server.stop()


@pytest.mark.slow
def test_a_server_that_stops_is_waited_for(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path / "t.db", "--port", str(port)) as url, Client(url, agent="scout") as client:
        first = client.record("Before", decision_id="d1")
    done: list[bool] = []
    with Client(url, agent="scout") as client:
        thread = threading.Thread(target=lambda: done.append(client.record("Before", decision_id="d1").duplicate))
        thread.start()
        with serving(tmp_path / "t.db", "--port", str(port)):
            thread.join()
            assert client.get_decision("d1").position == first.position
    assert done == [True]
