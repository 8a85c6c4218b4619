"""Run a program with an input, limit its time and output, and end it in every case.

The program runs in a new session: Ctrl-C in the terminal does not reach it, and its child processes can be ended
together with it. Its output is complete when it exits: child processes that are still running are not waited for, and
are killed (process_tree.py).
"""

import asyncio
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Literal, NamedTuple

from events.errors import InvalidQuery
from events.limits import ANSWER_BYTES_MAX
from instruments.routers.process_tree import ProcessIdentity, end_tree, find_descendants, send_signal, start_command

POLL_S = 0.02
"""Interval for checking whether a silent program has exited."""

GRACE_S = 0.5
"""Time between SIGTERM and SIGKILL."""

READ_BYTES = 65_536

ERRORS_BYTES_MAX = 65_536
"""Bytes that are kept of the end of standard error, where programs usually report an error."""


class ProcessResult(NamedTuple):
    """How a program ended, its exit code (negative: minus the signal's number), and the bytes of both outputs."""

    ending: Literal["ended", "timeout", "flood", "stopped"]
    code: int | None
    out: bytes
    errors: bytes
    elapsed_ns: int

    def failure(self, timeout_s: float) -> tuple[Literal["timeout", "flood", "crash"], str] | None:
        """Return how the program failed, in words that follow its name; None if it ended with exit code 0."""
        if self.ending == "timeout":
            return "timeout", f"gave no whole answer within {timeout_s:g} s"
        if self.ending == "flood":
            return "flood", f"wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended"
        return None if self.code == 0 else ("crash", _describe_exit(self.code))


def split_command(line: str, option: str, advice: str = "") -> list[str]:
    """Split a command line into words, and check that its program exists.

    Errors: InvalidQuery, naming the option, without arguments of the command, which may be secrets.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidQuery(option, f"cannot be split into words: {str(error).lower()}.", advice) from None
    if not words or not words[0]:
        raise InvalidQuery(option, "names no program.", advice)
    if "\0" in line:
        raise InvalidQuery(option, "has a NUL character, which no program accepts as an argument.", advice)
    if shutil.which(words[0]) is None:
        raise InvalidQuery(option, f"{words[0]!r} cannot be found or run here.", "Check its name and its path.")
    return words


async def run_process(
    words: Sequence[str],
    input_bytes: bytes,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    descriptors: Sequence[int] = (),
) -> ProcessResult:
    """Run `run_process_blocking` on a thread. Cancelling ends the program. Errors: OSError."""
    stop = threading.Event()
    task = asyncio.create_task(
        asyncio.to_thread(run_process_blocking, words, input_bytes, timeout_s, stop, environment, descriptors)
    )
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        raise


def run_process_blocking(
    words: Sequence[str],
    input_bytes: bytes,
    timeout_s: float,
    stop: threading.Event,
    environment: Mapping[str, str] | None = None,
    descriptors: Sequence[int] = (),
) -> ProcessResult:
    """Run a program until it exits, `timeout_s` is over, its output exceeds ANSWER_BYTES_MAX, or `stop` is set.

    `environment` defaults to that of this process; the program has `descriptors`, too. Errors: OSError.
    """
    child = _Child(words, input_bytes, environment, descriptors)
    try:
        ending = child.run_until(time.monotonic() + timeout_s, stop)
        return ProcessResult(ending, child.process.poll(), bytes(child.out), bytes(child.errors), child.elapsed_ns())
    finally:
        child.end()


def _describe_exit(code: int | None) -> str:
    """Describe how a program ended, in words that follow its name; a negative code is that of a signal."""
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-code, f'signal {-code}')}"


class _Child:
    """A running program, its three pipes, and its output so far."""

    def __init__(
        self,
        words: Sequence[str],
        input_bytes: bytes,
        environment: Mapping[str, str] | None,
        descriptors: Sequence[int],
    ) -> None:
        self._started_ns = time.monotonic_ns()
        self._output_closed_ns: int | None = None
        self.process = start_command(words, environment, descriptors)
        self.out = bytearray()
        self.errors = bytearray()
        self._unwritten = memoryview(input_bytes)
        self._selector = selectors.DefaultSelector()
        for stream, event in (
            (self.process.stdin, selectors.EVENT_WRITE),
            (self.process.stdout, selectors.EVENT_READ),
            (self.process.stderr, selectors.EVENT_READ),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, event)

    def elapsed_ns(self) -> int:
        """Return the nanoseconds from its start until it closed its output; until now if its output is open."""
        return (self._output_closed_ns or time.monotonic_ns()) - self._started_ns

    def run_until(self, deadline_s: float, stop: threading.Event) -> Literal["ended", "timeout", "flood", "stopped"]:
        while True:
            if stop.is_set():
                return "stopped"
            # Poll before reading the pipes: output written just before the exit is then read as well.
            has_exited = self.process.poll() is not None
            left_s = deadline_s - time.monotonic()
            ready = self._selector.select(0 if has_exited else max(0, min(left_s, POLL_S)))
            for key, _ in ready:
                self._transfer(key.fileobj)  # type: ignore[arg-type]
            if len(self.out) > ANSWER_BYTES_MAX:
                return "flood"
            if has_exited and not any(key.fileobj is not self.process.stdin for key, _ in ready):
                return "ended"
            if left_s <= 0:
                return "timeout"

    def end(self) -> None:
        """End the program and every process that it has started, first by SIGTERM; close the pipes."""
        started: set[ProcessIdentity] = set()
        if self.process.poll() is None:  # while it was not waited for, its id is not used again
            started |= find_descendants(self.process.pid)
            self._signal(signal.SIGTERM)
            send_signal(started, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_S)
        if self.process.poll() is None:
            started |= find_descendants(self.process.pid)
        self._signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        end_tree(self.process.pid, started)
        self._selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _transfer(self, stream: IO[bytes]) -> None:
        """Write or read without waiting; unregister a finished pipe."""
        done = self._write(stream) if stream is self.process.stdin else self._read(stream)
        if done:
            self._selector.unregister(stream)
        if done and stream is self.process.stdin:
            stream.close()

    def _write(self, stream: IO[bytes]) -> bool:
        try:
            self._unwritten = self._unwritten[stream.write(self._unwritten[:READ_BYTES]) or 0 :]
        except BrokenPipeError:  # the program has stopped reading: not an error
            return True
        return not self._unwritten

    def _read(self, stream: IO[bytes]) -> bool:
        data: bytes | None = stream.read(READ_BYTES)  # None if nothing is available yet
        if data is None:
            return False
        if stream is self.process.stdout:
            self.out += data
            self._output_closed_ns = time.monotonic_ns() if not data else None
        else:
            self.errors = (self.errors + data)[-ERRORS_BYTES_MAX:]
        return not data
