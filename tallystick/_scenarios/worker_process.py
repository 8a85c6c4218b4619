"""The worker process as pytest's side sees it: it is started, called and ended here."""

import os
import subprocess
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import TypeVar

from tallystick._scenarios.messages import Call, Cancel, Failed, Message, Refused, Reply, Request, decode_answer, encode

END_S = 10.0
"""How long a worker whose input has ended is given to close the ledger before it is killed."""

ERRORS_BYTES_SHOWN = 4_000

_Reply = TypeVar("_Reply", bound=Message)


class WorkerRefused(Exception):
    """The worker refuses the call; the message is for the user."""


class WorkerFailed(Exception):
    """The worker has ended, or met an error of its own."""


class WorkerProcess:
    """A process that loads the application. It ends when its input does, so also when this process is killed.

    It has a session of its own: the terminal's Ctrl-C stops pytest, which cancels the call and closes the run.
    """

    def __init__(self) -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - kept until the process is ended
        command = [sys.executable, "-P", "-m", "tallystick._scenarios"]  # -P: no module of the current folder is taken
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603 - our own module; no shell
            command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True
        )
        self._number = 0

    def call(self, request: Request, kind: type[_Reply]) -> _Reply:
        """The reply to a request. If this is interrupted, the request is cancelled.

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
        if isinstance(reply, Refused):
            raise WorkerRefused(reply.text)
        if isinstance(reply, Failed):
            raise WorkerFailed(f"Tallystick's worker process met an error:\n{reply.traceback}")
        assert isinstance(reply, kind), f"{reply} does not answer {request}"
        return reply

    def end(self) -> None:
        """End the process, and wait for it."""
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

    def _receive(self, number: int) -> Reply:
        """The reply to a call; what is left of a call that was cancelled is passed over. Errors: WorkerFailed."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = decode_answer(line)
            if answer is not None and answer.number == number:
                return answer.reply
        raise self._ended()

    def _ended(self) -> WorkerFailed:
        """How it ended, with the last that it wrote to standard error."""
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - ERRORS_BYTES_SHOWN))
        said = self._errors.read().decode(errors="replace").strip()
        return WorkerFailed(f"Tallystick's worker process ended with code {code}.\n{said}".rstrip())
