"""For every test: the part that it belongs to, what the gate refuses, and its surroundings.

No generated example is too slow to be right. The gate draws few of them, the same each time; the part `laws` draws
others each time, and HYPOTHESIS_PROFILE=fuzz many more (`make fuzz`).
Tests are collected without a search for garbage: that halves the time, and what is collected lives until the end.
A shell that runs the tests in the background lets them ignore SIGINT. So would the processes that tests start.
A worker starts one PostgreSQL at most, for the first test that uses it.
A test's request waits far longer for its answer than httpx does by default: 5 s, which a busy machine may need.
"""

import gc
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests import parts
from tests.support import gate_guard, in_process
from tests.support.paths import ROOT
from tests.support.postgres import Primary, postgres_server
from tests.support.postgres_programs import MISSING, postgres_folder

ANSWER_S = 120.0
RUNNING = ROOT / "build" / "tests" / "running"
"""One file for each process of pytest: the test that it runs. Only a run that `tests.__main__` began has the folder."""

settings.register_profile("house", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, derandomize=False, suppress_health_check=list(HealthCheck)
)
settings.register_profile(
    "gate", deadline=None, max_examples=25, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for phase in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, phase, ANSWER_S)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", choices=(parts.GATE, *parts.PARTS), help="run only the tests of the gate, or of one part"
    )
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


def pytest_configure(config: pytest.Config) -> None:
    in_process.install()
    if config.getoption("--part") == parts.GATE:
        gate_guard.install()
        config.pluginmanager.register(gate_guard)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of one part; put them in another order. Errors: UsageError, if no part owns a slow test."""
    quarantined = {row.test for row in parts.quarantined()}
    owned = {item: _part(item, quarantined) for item in items}
    if (orphans := sorted({str(item.path) for item, part in owned.items() if part is None})) != []:
        raise pytest.UsageError(f"No part owns the slow tests of {', '.join(orphans)}: add them to tests/parts.py.")
    if (wanted := config.getoption("--part")) is not None:
        laws = wanted == "laws"
        kept = [
            one for one in items if owned[one] == wanted or (laws and is_hypothesis_test(getattr(one, "obj", None)))
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept
    if (seed := config.getoption("--shuffle")) is not None:
        _shuffle(items, random.Random(seed))


def _shuffle(items: list[pytest.Item], drawn: random.Random) -> None:
    """Put files into a random order, and the tests of each file; a file stays together, as its fixtures are its own."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    groups = list(files.values())
    drawn.shuffle(groups)
    for group in groups:
        drawn.shuffle(group)
    items[:] = [item for group in groups for item in group]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Write down which test this process runs, for `tests.__main__`, which names it if it gives up."""
    if RUNNING.is_dir():
        (RUNNING / os.environ.get("PYTEST_XDIST_WORKER", "main")).write_text(nodeid, encoding="utf-8")


def _part(item: pytest.Item, quarantined: set[str]) -> str | None:
    """Return the part of a test, or the gate; None if no part owns it."""
    if item.nodeid in quarantined:
        return "quarantine"
    return parts.GATE if item.get_closest_marker("slow") is None else parts.part_of(item.path)


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
