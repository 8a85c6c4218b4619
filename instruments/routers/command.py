"""A program as a router: the prompt on standard input, the answer on standard output."""

import os
from collections.abc import Sequence
from pathlib import PurePath

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer
from instruments.routers.redaction import Redactor, of_arguments, of_environment
from instruments.routers.router import DETAIL_CHARS_MAX, answered, failed, short, timed_out
from instruments.routers.subprocess_io import ProcessResult, ended, spoken


class CommandRouter:
    """Runs a program for each prompt, without a shell. Exit code 0 is an answer, any other a failure.

    Its arguments may hold secrets, so that it is named by its program alone. Bytes that are no UTF-8 are replaced.
    """

    def __init__(self, words: Sequence[str], *, model: str | None = None, name: str | None = None) -> None:
        assert words, "a command has at least a program"
        self.words = list(words)
        self.program = PurePath(words[0]).name
        self.name = name or f"command:{self.program}"
        self.model = model
        self._secrets = Redactor(of_environment(os.environ) + of_arguments(words))

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        try:
            said = await spoken(self.words, prompt.encode("utf-8", "replace"), timeout_s)
        except OSError as error:
            return failed(f"{self.program} cannot be run: {error.strerror or type(error).__name__}")
        return self._answer(said, timeout_s)

    def _answer(self, spoken: ProcessResult, timeout_s: float) -> RouterAnswer:
        errors = self._last_said(spoken.errors)
        if spoken.ending == "timeout":
            return timed_out(timeout_s, spoken.elapsed_ns, errors)
        if spoken.ending == "flood":
            detail = f"{self.program} wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended"
            return failed(detail, spoken.elapsed_ns)
        if spoken.code != 0:
            said = errors or short(self._hidden(spoken.out))
            detail = f"{self.program} {ended(spoken.code)}{f': {said}' if said else ''}"
            return failed(detail, spoken.elapsed_ns)
        return answered(self._hidden(spoken.out), spoken.elapsed_ns)

    def _hidden(self, data: bytes) -> str:
        return self._secrets.hide(data.decode("utf-8", "replace"))

    def _last_said(self, data: bytes) -> str:
        return short(self._hidden(data)[-DETAIL_CHARS_MAX:])
