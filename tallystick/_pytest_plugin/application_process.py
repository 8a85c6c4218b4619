"""Starts, calls and ends the worker process, for the pytest plugin."""

import os
import subprocess
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import TypeVar

from tallystick._pytest_plugin.messages import (
    Call,
    CallRefused,
    Cancel,
    Failed,
    Message,
    WorkerReply,
    WorkerRequest,
    decode_answer,
    encode,
)

END_S = 10.0
"""Seconds that a worker has to close the ledger after its input has ended, before it is killed."""

ERRORS_BYTES_SHOWN = 4_000
"""Bytes at the end of the worker's standard error that a failure reports."""

_Reply = TypeVar("_Reply", bound=Message)


class WorkerRefused(Exception):
    """The worker refuses the call; the message is for the user."""


class WorkerFailed(Exception):
    """The worker has ended, or failed because of a bug."""


class WorkerProcess:
    """A process that loads the application. It exits when its standard input ends, so also when pytest is killed.

    It runs in its own session: Ctrl-C in the terminal stops only pytest, which cancels the call and closes the run.
    """

    def __init__(self) -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - kept until the process is ended
        command = [
            sys.executable,
            "-P",
            "-m",
            "tallystick._pytest_plugin",
        ]  # -P: import no module from the current folder
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603 - our own module; no shell
            command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True
        )
        self._number = 0

    def call(self, request: WorkerRequest, kind: type[_Reply]) -> _Reply:
        """Send a request and return the reply. If this is interrupted, the request is cancelled.

        Errors: WorkerRefused, WorkerFailed.
        """
        self._number += 1
        try:
            self._send(Call(self._number, request, dict(os.environ)))
            reply = self._receive(self._number)
        except WorkerFailed:
            raise
        except BaseException:
            with suppress(WorkerFailed):
                self._send(Cancel(self._number))
            raise
        if isinstance(reply, CallRefused):
            raise WorkerRefused(reply.text)
        if isinstance(reply, Failed):
            raise WorkerFailed(f"Tallystick's worker process met an error:\n{reply.traceback}")
        assert isinstance(reply, kind), f"{reply} does not answer {request}"
        return reply

    def end(self) -> None:
        """Close the input of the process, wait for its end, and kill it after END_S."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()
            self._errors.close()

    def _send(self, message: Call | Cancel) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(message))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self, number: int) -> WorkerReply:
        """Return the reply to a call, skipping answers to cancelled calls. Errors: WorkerFailed."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = decode_answer(line)
            if answer is not None and answer.number == number:
                return answer.reply
        raise self._ended()

    def _ended(self) -> WorkerFailed:
        """Return the error for a worker that has ended: its exit code, and the end of its standard error."""
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - ERRORS_BYTES_SHOWN))
        error_output = self._errors.read().decode(errors="replace").strip()
        return WorkerFailed(f"Tallystick's worker process ended with code {code}.\n{error_output}".rstrip())
