"""Refuse processes, sockets, name look-ups and sleeps in the tests of the gate, and say which part a test belongs to.

What a test of the gate does is then the same on a busy machine, on one that pauses, and without a network. A refusal is
an error where it happens; a test whose code swallows that fails all the same.
"""

import asyncio
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from types import FrameType
from typing import Any, SupportsIndex

import pytest

from tests.parts import part_of
from tests.support.paths import ROOT

REFUSED = {
    "os.exec": "starts a program",
    "os.fork": "forks a process",
    "os.forkpty": "forks a process",
    "os.posix_spawn": "starts a program",
    "os.system": "starts a program",
    "socket.bind": "listens on a socket",
    "socket.connect": "connects a socket",
    "socket.getaddrinfo": "looks up a name",
    "socket.gethostbyname": "looks up a name",
    "subprocess.Popen": "starts a program",
}
"""Audit events of Python, and what code does that raises one."""


class Refused(RuntimeError):
    """A test of the gate did what depends on the machine."""


class _Guard:
    """The test of the gate that runs now, and what it was refused."""

    def __init__(self) -> None:
        self.on = False
        """Whether this run of pytest is of the gate."""

        self.item: pytest.Item | None = None
        self.refusals: list[str] = []

    def refuse(self, what: str) -> None:
        if self.item is None:
            return
        part = part_of(self.item.path)
        owned = f"then `make test-slow PART={part}` runs it" if part else "and add its file to a part in tests/parts.py"
        refusal = (
            f"{self.item.nodeid} {what} ({_place()}), which a test of the gate must not do. Mark it with "
            f"`@pytest.mark.slow`: {owned}. Better, test the behaviour in process."
        )
        self.refusals.append(refusal)
        raise Refused(refusal)


def _place() -> str:
    """Return the nearest line of the project that led here."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(str(ROOT)) and ".venv" not in name and name != __file__:
            return f"{name.removeprefix(f'{ROOT}/')}:{frame.f_lineno}"
        frame = frame.f_back
    return "not in our code"


guard = _Guard()
_sleep, _sleep_async = time.sleep, asyncio.sleep


def _audit(event: str, _: object, refused: Mapping[str, str] = REFUSED) -> None:
    if event in refused:
        guard.refuse(refused[event])


def _refuse_sleep(seconds: float | SupportsIndex) -> None:
    if float(seconds) > 0:
        guard.refuse("sleeps")
    _sleep(seconds)


async def _refuse_sleep_of_test(delay: float, result: Any = None) -> Any:  # noqa: ANN401 - as asyncio has it
    """Refuse it to a test; tasks of the application may sleep, since no test waits for them."""
    if delay > 0 and sys._getframe(1).f_code.co_filename.startswith(str(ROOT / "tests")):
        guard.refuse("sleeps")
    return await _sleep_async(delay, result)


def install() -> None:
    """Guard this process from now on: its run of pytest is of the gate."""
    guard.on = True
    sys.addaudithook(_audit)
    time.sleep = _refuse_sleep
    asyncio.sleep = asyncio.tasks.sleep = _refuse_sleep_of_test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Guard a test with its fixtures, if it is one of the gate."""
    guard.item, guard.refusals = (item if item.get_closest_marker("smoke") is None else None), []
    try:
        return (yield)
    finally:
        guard.item = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: "pytest.CallInfo[None]",
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that swallowed a refusal."""
    report = yield
    if guard.refusals and call.when == "call" and report.passed:
        report.outcome, report.longrepr = "failed", "\n".join(guard.refusals)
    return report
