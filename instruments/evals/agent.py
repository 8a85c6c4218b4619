"""An agent as a command: an investigation on standard input, its analysis on standard output.

The command gets one JSON object: the investigation as it was captured, with an empty `analysis` and the scenario's
`test_config` beside. Nothing else of the scenario reaches it: not its name, its id, what failed, what is expected, or
what was answered when it was captured. In its environment TALLYSTICK_REPLAY=1 says that live systems are out of bounds.

It answers with one JSON object, the analysis or an object that has it as `analysis`. Nothing at all is an answer, too:
one that says nothing. Whatever else it does is a failure, with the last lines that it wrote.
"""

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import structs

from events.evaluation import Component, Failure
from events.limits import ANSWER_BYTES_MAX
from instruments.evals.analysis import Analysis, analysis_of
from instruments.evals.scenario import Scenario
from instruments.routers.redaction import Redactor, secrets_in_arguments, secrets_in_environment
from instruments.routers.subprocess_io import (
    ProcessResult,
    describe_exit,
    run_process,
    split_command,
)

REPLAY = "TALLYSTICK_REPLAY"
"""The variable that tells a command that it is asked about the past."""

_kinds = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a truth value", type(None): "null"}


class AgentOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking once: an analysis, or why there is none."""

    analysis: Analysis | None = None
    """What was answered, as it is scored; None where there is none."""
    text: str | None = None
    """The analysis as JSON, without secrets; None where nothing was said."""
    failure: Failure | None = None
    """Why there is no analysis."""
    detail: str | None = None
    """The same in words."""
    said: str | None = None
    """The last lines that a failing command wrote, without secrets."""
    elapsed_ns: int | None = None
    """From question to answer, nanoseconds; None where nobody was asked."""


class Agent:
    """Runs a command for each question, without a shell. It is named by its program: arguments may hold secrets.

    `enable_llm` takes the place of what scenarios say. Errors: BadCommand.
    """

    def __init__(self, line: str, *, timeout_s: float, enable_llm: bool | None = None) -> None:
        self._words = split_command(line)
        self.program = PurePath(self._words[0]).name
        self.name = f"command:{self.program}"
        self._timeout_s = timeout_s
        self._enable_llm = enable_llm
        self._secrets = Redactor(secrets_in_environment(os.environ) + secrets_in_arguments(self._words))

    async def ask(self, scenario: Scenario) -> AgentOutput:
        """What the command makes of a scenario; never an error. Cancelling ends the command."""
        given = question(scenario, self._enable_llm)
        try:
            came = await run_process(self._words, given, self._timeout_s, {**os.environ, REPLAY: "1"})
        except OSError as error:
            detail = f"{self.program} cannot be run: {error.strerror or type(error).__name__}"
            return AgentOutput(failure="crash", detail=detail)
        return self._reply(came)

    def hide(self, components: Sequence[Component]) -> tuple[Component, ...]:
        """The parts of a score without secrets: what matched is quoted from what was answered."""
        return tuple(
            structs.replace(
                component,
                findings=tuple(
                    finding
                    if finding.text is None
                    else structs.replace(finding, text=self._secrets.hide_cut(finding.text))
                    for finding in component.findings
                ),
            )
            for component in components
        )

    def _reply(self, came: ProcessResult) -> AgentOutput:
        failure, detail = self._failure(came)
        if failure is None:
            try:
                analysis, text = self._read(came.out.decode("utf-8", "replace").removeprefix("\ufeff"))
                return AgentOutput(analysis=analysis, text=text, elapsed_ns=came.elapsed_ns)
            except ValueError as error:
                failure, detail = "unreadable", self._secrets.hide(str(error))
            except RecursionError:
                failure, detail = "unreadable", "what it wrote is nested too deep."
        said = self._secrets.last_lines(came.errors) or self._secrets.last_lines(came.out)
        return AgentOutput(failure=failure, detail=detail, said=said or None, elapsed_ns=came.elapsed_ns)

    def _failure(self, came: ProcessResult) -> tuple[Failure | None, str | None]:
        """How a command failed that did not end well."""
        if came.ending == "timeout":
            return "timeout", f"{self.program} gave no whole answer within {self._timeout_s:g} s"
        if came.ending == "flood":
            return "flood", f"{self.program} wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended"
        if came.code != 0:
            return "crash", f"{self.program} {describe_exit(came.code)}"
        return None, None

    def _read(self, text: str) -> tuple[Analysis, str | None]:
        """The analysis that a text is, and as it is kept. Errors: ValueError, in words; RecursionError."""
        if not text.strip():
            return Analysis(), None
        answered = read(text)
        kept = msgspec.json.encode(answered.value).decode()
        if self._secrets.hide(kept) != kept:
            kept = msgspec.json.encode(self._secrets.hide_within(answered.value)).decode()
        return answered.analysis, kept


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An analysis as it is scored, and the JSON object that it was read from."""

    analysis: Analysis
    value: dict[str, Any]


def question(scenario: Scenario, enable_llm: bool | None = None) -> bytes:
    """What a command is given of a scenario: one JSON object."""
    settings = dict(scenario.about.test_config)
    if enable_llm is not None:
        settings["enable_llm"] = enable_llm
    return msgspec.json.encode({**scenario.investigation, "analysis": {}, "test_config": settings})


def read(text: str) -> AgentAnswer:
    """The analysis that a text is: one JSON object that is one, or has one as `analysis`.

    Errors: ValueError, saying what is wrong and where; RecursionError.
    """
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        why = str(error).removeprefix("JSON is malformed: ")
        raise ValueError(f"what it wrote is not one JSON object: {why[0].lower()}{why[1:]}.") from None
    if not isinstance(value, dict):
        raise ValueError(f"what it wrote is {_kinds[type(value)]}, not one JSON object.")
    inner = value.get("analysis")
    if inner is not None and not isinstance(inner, dict):
        raise ValueError(f"analysis is {_kinds[type(inner)]}, not an object.")
    return answer_of(value if inner is None else inner)


def answer_of(value: dict[str, Any]) -> AgentAnswer:
    """The analysis that an object holds. Errors: ValueError, saying what is wrong and where."""
    try:
        return AgentAnswer(analysis=analysis_of(value), value=value)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        place = path.removesuffix("`").lstrip(".") or "what it wrote"
        raise ValueError(f"{place}: {what[0].lower()}{what[1:]}.") from None
