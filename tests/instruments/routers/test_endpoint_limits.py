"""Limits of endpoints: requests are spaced by the rate, and a pause that an endpoint asks for holds for every job."""

import asyncio
import threading
import time

import pytest

from events.errors import InvalidQuery
from instruments.routers.endpoint_limits import (
    AGENT,
    RETRY_AFTER_S_MAX,
    EndpointLimits,
    EndpointRate,
    PauseTooLong,
    describe_seconds,
    endpoint_name,
    parse_retry_after,
)
from tests.support.event_loop import run


@pytest.mark.parametrize(
    ("text", "endpoint", "interval_s"),
    [
        ("2/s", AGENT, 0.5),
        ("30/m", AGENT, 2.0),
        ("0.5/h", AGENT, 7_200.0),
        ("api.example.com=60/m", "api.example.com", 1.0),
        (" API.example.com:8443 = 1/s", "api.example.com:8443", 1.0),
        ("[::1]:8080=4/s", "[::1]:8080", 0.25),
    ],
)
def test_rates(text: str, endpoint: str, interval_s: float) -> None:
    assert EndpointRate.parse(text) == EndpointRate(endpoint, interval_s)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "0/s",
        "-1/s",
        "5/d",
        "=5/s",
        "a b=5/s",
        "host=5",
        "nan/s",
        "1e3/s",
        "5/s=host",
        "http://x/=3/s",
        "https://api.example.com=1/s",
        "x/v1=1/s",
        "me@x=1/s",
    ],
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(InvalidQuery):
        EndpointRate.parse(text)


def test_names_of_endpoints() -> None:
    assert endpoint_name("https://user:word@api.example.com/v1?key=1") == "api.example.com"
    assert endpoint_name(" Host:80 ") == "host:80"
    assert endpoint_name("not a host") is None
    assert endpoint_name("") is None


def test_all_jobs_share_the_rate() -> None:
    limits = EndpointLimits([EndpointRate.parse("host=50/s")])

    async def times() -> list[float]:
        async def ask() -> float:
            await limits.acquire([AGENT, "host:443"])
            return time.monotonic()

        return sorted(await asyncio.gather(*(ask() for _ in range(8))))

    found = run(times())
    assert all(later - first >= 0.02 * number - 1e-3 for first in found[:1] for number, later in enumerate(found))


def test_a_port_has_the_limit_of_its_host_unless_it_has_one() -> None:
    limits = EndpointLimits([EndpointRate("host", 100.0), EndpointRate("host:1", 0.001)])

    async def ask() -> None:
        for _ in range(3):
            await limits.acquire(["host:1"])

    run(ask())


@pytest.mark.slow
def test_a_pause_holds_for_everybody_also_for_those_who_wait_already() -> None:
    limits = EndpointLimits([EndpointRate("host", 0.05)])

    async def times() -> tuple[float, list[float]]:
        async def ask() -> float:
            await limits.acquire(["host"])
            return time.monotonic()

        await limits.acquire(["host"])
        asking = [asyncio.create_task(ask()) for _ in range(3)]
        await asyncio.sleep(0.01)
        limits.pause("host", 0.3)
        limits.pause("host", 0.1)
        began = time.monotonic()
        return began, sorted(await asyncio.gather(*asking))

    began, found = run(times())
    assert found[0] >= began + 0.29
    assert found[2] >= found[0] + 0.09


@pytest.mark.slow
def test_a_thread_waits_too_and_can_be_stopped() -> None:
    limits = EndpointLimits()
    limits.pause("host", 0.2)
    began = time.monotonic()
    limits.acquire_blocking("host")
    assert time.monotonic() >= began + 0.2
    limits.pause("host", 3_000.0)
    waiting = threading.Thread(target=limits.acquire_blocking, args=("host",))
    waiting.start()
    limits.stop()
    waiting.join()


def test_too_long_a_pause_is_refused_and_never_cut_short() -> None:
    limits = EndpointLimits()
    limits.pause("host", RETRY_AFTER_S_MAX)
    refusals = [limits.refusal]
    limits.pause("host", 2 * RETRY_AFTER_S_MAX)
    refusals.append(limits.refusal)
    assert refusals == [None, "host asks to wait 2 h, and a run waits at most 60 min"]
    with pytest.raises(PauseTooLong, match="host asks to wait 2 h"):
        limits.acquire_blocking("host")
    run(limits.acquire(["other"]))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30, "30 s"), (599.5, "599.5 s"), (2_700, "45 min"), (3_600, "60 min"), (3_600.2, "60 min 1 s"),
        (3_601, "60 min 1 s"), (7_200, "2 h"), (7_201, "2 h 1 s"), (86_460, "24 h 1 min"),
        (1e9, "277,777 h 46 min 40 s"),
    ],
)  # fmt: skip
def test_times_in_words_differ_where_the_times_do(seconds: float, text: str) -> None:
    assert describe_seconds(seconds) == text


def test_retry_after() -> None:
    assert parse_retry_after(" 30 ") == 30.0
    assert parse_retry_after("0") == 1.0
    assert parse_retry_after("soon") is None
    assert parse_retry_after("") is None
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 1.0
