"""For every test: no example is too slow to be right. Under CI, hypothesis draws the same examples each time.

HYPOTHESIS_PROFILE=fuzz draws many more of them, others each time (`make fuzz`).
Tests are collected without a search for garbage: that halves the time, and what is collected lives until the end.
A shell that runs the tests in the background lets them ignore SIGINT. So would the processes that tests start.
A worker starts one PostgreSQL at most, for the first test that uses it.
A test's request waits far longer for its answer than httpx does by default: 5 s, which a busy machine may need.
"""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings

from tests.support.postgres import Primary, postgres_server
from tests.support.postgres_programs import MISSING, postgres_folder

ANSWER_S = 120.0

settings.register_profile("house", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, derandomize=False, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for phase in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, phase, ANSWER_S)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs. Without one, the test is skipped."""
    if (folder := postgres_folder()) is None:
        pytest.skip(MISSING)
    return folder


@pytest.fixture(scope="session")
def postgres(postgres_programs: Path) -> Iterator[Primary]:
    """A running server that all tests of a worker share. Use a database or a schema of your own, and let it run."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def replicated(postgres_programs: Path) -> Iterator[Primary]:
    """A server whose commits wait for its one standby. A module has it to itself, and may stop it or its standby."""
    with postgres_server(standbys=1) as server:
        server.synchronous("ANY 1 (standby1)")
        yield server
