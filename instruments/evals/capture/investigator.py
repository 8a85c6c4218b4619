"""An investigator that runs as a command: the alert on standard input, the whole investigation on standard output.

Its input is one JSON object with the first keys of an investigation: alert, time_window and target. It may query live
systems, and answers with one JSON object, the investigation. Keys and passwords in its environment and arguments are
removed from its output, and so are the credentials of URLs.
"""

import os
from pathlib import PurePath
from typing import Any

import msgspec

from events.errors import InvalidQuery
from instruments.evals.capture.url_credentials import redact_urls_within
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.routers.bounded_process import (
    ProcessResult,
    run_process,
    split_command,
)
from instruments.routers.redaction import Redactor, secrets_in_arguments, secrets_in_environment
from instruments.yaml_reader import UnreadableFile

ADVICE = (
    "It gets the alert as JSON on its standard input, and its standard output is the investigation, one JSON object."
)


class Investigator:
    """Runs a command for an alert, without a shell. Errors: InvalidQuery, if the command cannot be run."""

    def __init__(self, line: str, *, timeout_s: float) -> None:
        try:
            self._words = split_command(line, "investigate")
        except InvalidQuery as error:
            raise _refuse(error.cause) from None
        self._program = PurePath(self._words[0]).name
        self._timeout_s = timeout_s
        self._secrets = Redactor(secrets_in_environment(os.environ) + secrets_in_arguments(self._words))

    async def investigate(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the command; return its redacted investigation. Cancelling ends the command. Errors: InvalidQuery."""
        try:
            result = await run_process(self._words, msgspec.json.encode(request), self._timeout_s)
        except OSError as error:
            raise _refuse(f"{self._program} cannot be run: {error.strerror or type(error).__name__}.") from None
        if (failure := result.failure(self._timeout_s)) is not None:
            raise self._no_investigation(result, f"{failure[1]}.")
        try:
            value = json_value(result.out)
        except UnreadableFile as unreadable:
            raise self._no_investigation(
                result, f"wrote no investigation: it {self._secrets.hide(str(unreadable))}."
            ) from None
        if not isinstance(value, dict):
            raise self._no_investigation(result, "wrote no investigation: its output is JSON, but not an object.")
        redacted: dict[str, Any] = redact_urls_within(self._secrets.hide_within(value))
        return redacted

    def _no_investigation(self, result: ProcessResult, detail: str) -> InvalidQuery:
        last_lines = self._secrets.last_lines(result.errors) or self._secrets.last_lines(result.out)
        return _refuse(f"{self._program} {detail}", f"Its last lines:\n{last_lines}\n" if last_lines else "")


def _refuse(detail: str, output: str = "") -> InvalidQuery:
    return InvalidQuery("investigate", detail, output + ADVICE, written=False)
