"""An agent that runs as a command: an investigation on standard input, its analysis on standard output.

The command gets one JSON object: the captured investigation with an empty `analysis`, and the scenario's `test_config`.
It does not get the scenario's name, id, failure type, expectations or captured analysis. TALLYSTICK_REPLAY=1 in its
environment means that it must not query live systems; in a network namespace (`--network`) it cannot.

It answers with one JSON object: the analysis, or an object with a key `analysis`. Empty output is an empty analysis.
Any other output is a failure, reported with its last lines. With exit code 75, or with another one but 0
and a stated `error`, its endpoint refused, and the question may be asked again: see `agent_error.py`. Its steps are
`trace` in the answer, or OpenTelemetry spans in the file that TALLYSTICK_TRACE_FILE names.
"""

import os
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import structs

from events.decode_error_messages import locate_decode_error
from events.evaluation import Component, Failure
from events.json_check import replace_half_surrogates
from instruments.evals.agent_error import AgentError, parse_agent_error
from instruments.evals.analysis import Analysis, AnswerStatements, parse_analysis, parse_statements
from instruments.evals.scenario import Scenario
from instruments.evals.trace.recorded import TRACE_FILE, TraceFile, read_trace
from instruments.evals.trace.steps import RecordedTrace
from instruments.routers.bounded_process import (
    ProcessResult,
    run_process,
    split_command,
)
from instruments.routers.redaction import Redactor, secrets_in_arguments, secrets_in_environment
from instruments.sandbox.network_guard import Network, NetworkCall, NetworkGuard, describe_calls

REPLAY = "TALLYSTICK_REPLAY"
"""The environment variable that marks a run on captured data."""

_fence = re.compile(r"^ {0,3}```(?:json)?[ \t]*\n(.*?)^ {0,3}```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
"""A code fence of Markdown, as models put their answers in."""

_kinds = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An analysis to score, the JSON object that it was parsed from, and the whole answer with what it states."""

    analysis: Analysis
    value: dict[str, Any]
    whole: dict[str, Any] = {}
    stated: AnswerStatements = AnswerStatements()


class AgentOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of the agent: an analysis, or a failure."""

    analysis: Analysis | None = None
    """The analysis to score; None after a failure."""
    text: str | None = None
    """The analysis as JSON, redacted; None if the output was empty."""
    failure: Failure | None = None
    """The kind of failure; None if there is an analysis."""
    detail: str | None = None
    """The failure in words."""
    said: str | None = None
    """The last lines of a failed command's output, redacted."""
    elapsed_ns: int | None = None
    """From input to output, nanoseconds; None if the command did not run."""
    stated: AnswerStatements = AnswerStatements()
    """The model, the confidence and the usage that the answer states."""
    error: AgentError | None = None
    """What the agent states about a refusal of its endpoint; None without one."""
    trace: RecordedTrace | None = None
    """The steps that the agent recorded; None if it recorded none."""


class Agent:
    """Runs a command for each scenario, without a shell. Its name is the program's: arguments may contain secrets.

    `enable_llm` overrides the setting of the scenarios. With `network`, the command runs in a network namespace, and
    an attempt that calls out is a failure. Errors: InvalidQuery.
    """

    def __init__(
        self, line: str, *, timeout_s: float, enable_llm: bool | None = None, network: Network | None = None
    ) -> None:
        self._words = split_command(line, "agent")
        self.program = PurePath(self._words[0]).name
        self.name = f"command:{self.program}"
        self._timeout_s = timeout_s
        self._enable_llm = enable_llm
        self._network = network
        self._secrets = Redactor(secrets_in_environment(os.environ) + secrets_in_arguments(self._words))

    async def ask(self, scenario: Scenario) -> AgentOutput:
        """Run the command for a scenario; never raises. Cancelling ends the command."""
        request = build_question(scenario, self._enable_llm)
        try:
            with TraceFile.make() as file:
                environment = {**os.environ, REPLAY: "1", TRACE_FILE: str(file.path)}
                if self._network is None:
                    return self._reply(await run_process(self._words, request, self._timeout_s, environment), file)
                with NetworkGuard(self._network, self._words) as guard:
                    result = await run_process(guard.words, request, self._timeout_s, environment, guard.descriptors)
                    calls = guard.finish()
                if guard.problem is not None:
                    return AgentOutput(failure="crash", detail=f"{self.program} {self._secrets.hide(guard.problem)}")
                reply = self._reply(result, file)
                return reply if not calls else self._network_failure(reply, calls, result)
        except OSError as error:
            detail = f"{self.program} cannot be run: {error.strerror or type(error).__name__}"
            return AgentOutput(failure="crash", detail=detail)

    def _network_failure(self, reply: AgentOutput, calls: Sequence[NetworkCall], result: ProcessResult) -> AgentOutput:
        """Return the failure of a command that called out, whatever it answered."""
        detail = f"{self.program} called {describe_calls(calls)} in a replay with --network {self._network}"
        if reply.detail is not None:
            detail = f"{detail}; {reply.detail}"
        last_lines = reply.said or self._secrets.last_lines(result.errors) or None
        return structs.replace(
            reply, analysis=None, text=None, failure="network", detail=self._secrets.hide(detail), said=last_lines
        )

    def hide(self, components: Sequence[Component]) -> tuple[Component, ...]:
        """Redact the findings of a score's components, which quote the answer."""
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

    def _reply(self, result: ProcessResult, file: TraceFile) -> AgentOutput:
        failure: Failure
        if (failed := result.failure(self._timeout_s)) is not None:
            failure, detail = failed[0], f"{self.program} {failed[1]}"
        else:
            try:
                answer, text = self._read(result.out.decode("utf-8", "replace").removeprefix("\ufeff"))
                return AgentOutput(
                    analysis=answer.analysis,
                    text=text,
                    elapsed_ns=result.elapsed_ns,
                    stated=answer.stated,
                    trace=read_trace(answer.whole, file, self._secrets),
                )
            except ValueError as error:
                failure, detail = "unreadable", self._secrets.hide(str(error))
            except RecursionError:
                failure, detail = "unreadable", "what it wrote is nested too deep."
        output = AgentOutput(
            failure=failure,
            detail=detail,
            said=self._secrets.last_lines(result.errors) or self._secrets.last_lines(result.out) or None,
            elapsed_ns=result.elapsed_ns,
            trace=read_trace({}, file, self._secrets),
        )
        return self._add_stated_error(output, result) if failure == "crash" else output

    def _add_stated_error(self, output: AgentOutput, result: ProcessResult) -> AgentOutput:
        """Return the output of a command with an exit code other than 0, with the error that it states."""
        printed = result.out.decode("utf-8", "replace").removeprefix("\ufeff")
        error, whole = parse_agent_error(printed, result.code, self._secrets.hide_within)
        if error is None:
            return output
        return structs.replace(
            output,
            failure=error.kind,
            detail=error.describe(self.program),
            stated=parse_statements(whole),
            error=error,
        )

    def _read(self, text: str) -> tuple[AgentAnswer, str | None]:
        """Return the answer in a text, and its redacted JSON. Errors: ValueError, in words; RecursionError."""
        if not text.strip():
            return AgentAnswer(analysis=Analysis(), value={}), None
        parsed = parse_output(text)
        stored = msgspec.json.encode(parsed.value).decode()
        if self._secrets.hide(stored) != stored:
            stored = msgspec.json.encode(self._secrets.hide_within(parsed.value)).decode()
            parsed = structs.replace(parsed, stated=parse_statements(self._secrets.hide_within(parsed.whole)))
        return parsed, stored


def build_question(scenario: Scenario, enable_llm: bool | None = None) -> bytes:
    """Build the command's input for a scenario: one JSON object."""
    settings = dict(scenario.about.test_config)
    if enable_llm is not None:
        settings["enable_llm"] = enable_llm
    return msgspec.json.encode({**scenario.investigation, "analysis": {}, "test_config": settings})


def parse_output(text: str) -> AgentAnswer:
    """Parse a command's output: one JSON object that is an analysis, or has one under `analysis`.

    The object may be in a code fence, the only one of a longer text. Half of a surrogate pair becomes U+FFFD.
    Errors: ValueError, with the problem and its place; RecursionError.
    """
    text = replace_half_surrogates(text)
    fenced = _fence.findall(text)
    try:
        value = msgspec.json.decode(fenced[0] if len(fenced) == 1 else text)
    except msgspec.DecodeError as error:
        problem = str(error).removeprefix("JSON is malformed: ")
        fences = f" It has {len(fenced)} code fences; one of them is read." if len(fenced) > 1 else ""
        raise ValueError(f"what it wrote is not one JSON object: {problem[0].lower()}{problem[1:]}.{fences}") from None
    if not isinstance(value, dict):
        raise ValueError(f"what it wrote is {_kinds[type(value)]}, not one JSON object.")
    inner = value.get("analysis")
    if inner is not None and not isinstance(inner, dict):
        raise ValueError(f"analysis is {_kinds[type(inner)]}, not an object.")
    answer = parse_answer(value if inner is None else inner)
    return answer if inner is None else structs.replace(answer, whole=value, stated=parse_statements(value))


def parse_answer(value: dict[str, Any]) -> AgentAnswer:
    """Parse an analysis object. Errors: ValueError, with the problem and its place."""
    try:
        return AgentAnswer(analysis=parse_analysis(value), value=value, whole=value, stated=parse_statements(value))
    except msgspec.ValidationError as error:
        path, problem = locate_decode_error(error)
        raise ValueError(f"{path.lstrip('.') or 'what it wrote'}: {problem}.") from None
