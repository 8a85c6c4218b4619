"""Whoever investigates an alert, as a command: the alert on standard input, the whole investigation on standard output.

What it is given is one JSON object, an investigation that has only begun: alert, time_window and target. It may look at
live systems, and answers with one JSON object, the investigation. Keys and passwords of its environment and arguments
are taken out of whatever it says.
"""

import os
from pathlib import PurePath
from typing import Any

import msgspec

from events.limits import ANSWER_BYTES_MAX
from instruments.evals.suite.json_yaml import json_value
from instruments.routers.redaction import Redactor, secrets_in_arguments, secrets_in_environment
from instruments.routers.subprocess_io import (
    BadCommand,
    ProcessResult,
    describe_exit,
    run_process,
    split_command,
)
from instruments.yaml_reader import UnreadableFile

ADVICE = (
    "It gets the alert as JSON on its standard input, and its standard output is the investigation, one JSON object."
)


class NoInvestigation(ValueError):
    """A command that gave no investigation; no secret stands in it. `said` are the last lines that it wrote."""

    def __init__(self, detail: str, said: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.said = said


class Investigator:
    """Runs a command for an alert, without a shell. Errors: NoInvestigation, for what is no command."""

    def __init__(self, line: str, *, timeout_s: float) -> None:
        try:
            self._words = split_command(line)
        except BadCommand as error:
            raise NoInvestigation(error.detail) from None
        self._program = PurePath(self._words[0]).name
        self._timeout_s = timeout_s
        self._secrets = Redactor(secrets_in_environment(os.environ) + secrets_in_arguments(self._words))

    async def investigate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The investigation of what is asked, without secrets. Cancelling ends the command. Errors: NoInvestigation."""
        try:
            came = await run_process(self._words, msgspec.json.encode(asked), self._timeout_s)
        except OSError as error:
            raise NoInvestigation(f"{self._program} cannot be run: {error.strerror or type(error).__name__}.") from None
        if came.ending == "timeout":
            raise self._none(came, f"gave no whole answer within {self._timeout_s:g} s.")
        if came.ending == "flood":
            raise self._none(came, f"wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended.")
        if came.code != 0:
            raise self._none(came, f"{describe_exit(came.code)}.")
        try:
            value = json_value(came.out)
        except UnreadableFile as unreadable:
            raise self._none(came, f"wrote no investigation: it {self._secrets.hide(str(unreadable))}.") from None
        if not isinstance(value, dict):
            raise self._none(came, "wrote no investigation: it is JSON, but no object.")
        hidden: dict[str, Any] = self._secrets.hide_within(value)
        return hidden

    def _none(self, came: ProcessResult, detail: str) -> NoInvestigation:
        said = self._secrets.last_lines(came.errors) or self._secrets.last_lines(came.out)
        return NoInvestigation(f"{self._program} {detail}", said)
