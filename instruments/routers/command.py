"""A router that runs a program: the prompt on standard input, the answer on standard output."""

import os
from collections.abc import Sequence
from pathlib import PurePath

from instruments.answer import RouterAnswer
from instruments.routers.bounded_process import ProcessResult, run_process
from instruments.routers.redaction import Redactor, secrets_in_arguments, secrets_in_environment
from instruments.routers.router import (
    DETAIL_CHARS_MAX,
    build_answer,
    build_failure,
    build_timeout,
    shorten,
)


class CommandRouter:
    """Runs a program for each prompt, without a shell. After exit code 0 its output is the answer; others are failures.

    Its default name is that of the program alone, since the arguments may contain secrets. Bytes that are not UTF-8 are
    replaced.
    """

    def __init__(self, words: Sequence[str], *, model: str | None = None, name: str | None = None) -> None:
        assert words, "a command has at least a program"
        self.words = list(words)
        self.program = PurePath(words[0]).name
        self.name = name or f"command:{self.program}"
        self.model = model
        self._secrets = Redactor(secrets_in_environment(os.environ) + secrets_in_arguments(words))

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        try:
            result = await run_process(self.words, prompt.encode("utf-8", "replace"), timeout_s)
        except OSError as error:
            return build_failure(f"{self.program} cannot be run: {error.strerror or type(error).__name__}")
        return self._answer(result, timeout_s)

    def _answer(self, result: ProcessResult, timeout_s: float) -> RouterAnswer:
        errors = shorten(self._redacted(result.errors)[-DETAIL_CHARS_MAX:])
        if result.ending == "timeout":
            return build_timeout(timeout_s, result.elapsed_ns, errors)
        if (failure := result.failure(timeout_s)) is not None:
            kind, detail = failure
            output = "" if kind == "flood" else errors or shorten(self._redacted(result.out))
            return build_failure(f"{self.program} {detail}{f': {output}' if output else ''}", result.elapsed_ns)
        return build_answer(self._redacted(result.out), result.elapsed_ns)

    def _redacted(self, data: bytes) -> str:
        return self._secrets.hide(data.decode("utf-8", "replace"))
