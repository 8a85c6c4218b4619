"""A program that is given its input, heard and ended, whatever it does.

It runs in a session of its own, so that a terminal's Ctrl-C does not reach it and all that it started can be ended with
it. What it wrote by its end is what it said: a process that it leaves behind is not waited for, and is ended where it
stayed in the group.
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

from events.limits import ANSWER_BYTES_MAX

POLL_S = 0.02
"""How often the end of a program is looked for that neither speaks nor closes its output."""

GRACE_S = 0.5
"""How long a program that is asked to end is given before it is killed."""

READ_BYTES = 65_536

ERRORS_BYTES_MAX = 65_536
"""So much of the end of standard error is kept: programs say last what was wrong."""


class BadCommand(ValueError):
    """A command line that is none; nothing of its arguments stands in it, which may hold secrets."""

    def __init__(self, detail: str, advice: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.advice = advice


class ProcessResult(NamedTuple):
    """How it ended, with which code (negative: by which signal), and what it wrote to each output."""

    ending: Literal["ended", "timeout", "flood", "stopped"]
    code: int | None
    out: bytes
    errors: bytes
    elapsed_ns: int


def words_of(line: str) -> list[str]:
    """The words of a command line whose program can be run here. Errors: BadCommand."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadCommand(f"cannot be split into words: {str(error).lower()}.") from None
    if not words or not words[0]:
        raise BadCommand("names no program.")
    if "\0" in line:
        raise BadCommand("has a NUL character, which no program can be given.")
    if shutil.which(words[0]) is None:
        raise BadCommand(f"{words[0]!r} is no program that can be run here.", "Check its name and its path.")
    return words


async def spoken(
    words: Sequence[str], given: bytes, timeout_s: float, environment: Mapping[str, str] | None = None
) -> ProcessResult:
    """What `speak` gives, on a thread. Cancelling ends the program. Errors: OSError."""
    stop = threading.Event()
    speaking = asyncio.create_task(asyncio.to_thread(speak, words, given, timeout_s, stop, environment))
    try:
        return await asyncio.shield(speaking)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([speaking])
        raise


def speak(
    words: Sequence[str],
    given: bytes,
    timeout_s: float,
    stop: threading.Event,
    environment: Mapping[str, str] | None = None,
) -> ProcessResult:
    """Run a program to its end, to its time, to its limit of output or until `stop` is set. Errors: OSError.

    Its environment is ours where none is given.
    """
    talk = _Talk(words, given, environment)
    try:
        ending = talk.until(time.monotonic() + timeout_s, stop)
        return ProcessResult(ending, talk.process.poll(), bytes(talk.out), bytes(talk.errors), talk.elapsed_ns())
    finally:
        talk.end()


def ended(code: int | None) -> str:
    """How a program ended, in words that follow its name; a negative code is a signal's."""
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-code, f'signal {-code}')}"


class _Talk:
    """One program, its three pipes, and what it has said so far."""

    def __init__(self, words: Sequence[str], given: bytes, environment: Mapping[str, str] | None) -> None:
        self._began = time.monotonic_ns()
        self._answered: int | None = None
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(  # noqa: S603 - running what its user names is what it is for; no shell
            words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
        )
        self.out = bytearray()
        self.errors = bytearray()
        self._given = memoryview(given)
        self._selector = selectors.DefaultSelector()
        for stream, wanted in (
            (self.process.stdin, selectors.EVENT_WRITE),
            (self.process.stdout, selectors.EVENT_READ),
            (self.process.stderr, selectors.EVENT_READ),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, wanted)

    def elapsed_ns(self) -> int:
        """From its start until it closed its output, or until now."""
        return (self._answered or time.monotonic_ns()) - self._began

    def until(self, deadline_s: float, stop: threading.Event) -> Literal["ended", "timeout", "flood", "stopped"]:
        while True:
            if stop.is_set():
                return "stopped"
            ended = self.process.poll() is not None  # asked before the pipes are emptied: nothing it wrote is missed
            left_s = deadline_s - time.monotonic()
            ready = self._selector.select(0 if ended else max(0, min(left_s, POLL_S)))
            for key, _ in ready:
                self._serve(key.fileobj)  # type: ignore[arg-type]
            if len(self.out) > ANSWER_BYTES_MAX:
                return "flood"
            if ended and not any(key.fileobj is not self.process.stdin for key, _ in ready):
                return "ended"
            if left_s <= 0:
                return "timeout"

    def end(self) -> None:
        """End the program and its group, asking first; close the pipes."""
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_S)
        self._signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        self._selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _serve(self, stream: IO[bytes]) -> None:
        """Write or read what can be without waiting; let go of a pipe that is done."""
        done = self._write(stream) if stream is self.process.stdin else self._read(stream)
        if done:
            self._selector.unregister(stream)
        if done and stream is self.process.stdin:
            stream.close()

    def _write(self, stream: IO[bytes]) -> bool:
        try:
            self._given = self._given[stream.write(self._given[:READ_BYTES]) or 0 :]
        except BrokenPipeError:  # it does not want to read on, which is no error
            return True
        return not self._given

    def _read(self, stream: IO[bytes]) -> bool:
        data: bytes | None = stream.read(READ_BYTES)  # None where there is nothing yet
        if data is None:
            return False
        if stream is self.process.stdout:
            self.out += data
            self._answered = time.monotonic_ns() if not data else None
        else:
            self.errors = (self.errors + data)[-ERRORS_BYTES_MAX:]
        return not data
