"""A scenario whose every secret is a word of its own, and commands that are asked about it."""

import asyncio
import shlex
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

from instruments.evals.agent import Agent, AgentOutput
from instruments.evals.scenario import Description, Expectations, Expected, FailureMode, Scenario
from tests.support.event_loop import run

LONG_S = 60.0

INVESTIGATION: dict[str, Any] = {
    "alert": {"labels": {"alertname": "KubeJobFailed", "severity": "warning"}, "fingerprint": "8f2c"},
    "time_window": {"start": "2026-11-01T10:00:00Z", "end": "2026-11-01T11:00:00Z"},
    "target": {"namespace": "batch", "pod": "etl-7d9"},
    "evidence": {"events": [{"reason": "Failed", "message": "pull access denied"}], "ratio": 0.25, "big": 10**30},
}
ANSWER = {"rca": {"root_cause": "The registry denies the pull.", "remediation": ["Fix the pull secret."]}}


def scenario(test_config: dict[str, Any] | None = None) -> Scenario:
    """A scenario whose every secret is a word of its own."""
    description = Description(
        name="hush-name",
        family="hush-family",
        failure_type="HushFailureType",
        description="hush-description",
        captured_by="hush-person",
        expected_outcomes=Expectations(
            root_cause=Expected(patterns=("hush-pattern",), match_type="substring"),
            failure_mode=FailureMode(exact="HushMode"),
        ),
        test_config=test_config or {},
    )
    return Scenario(
        id="hush-id",
        title="hush-id/hush-mode",
        folder=Path("/hush-folder/hush-id"),
        mode="hush-mode",
        about=description,
        investigation=INVESTIGATION,
        captured={"rca": {"root_cause": "hush-captured"}},
        fixture_digest="a" * 64,
        expectation_digest="b" * 64,
        investigation_digest="c" * 64,
    )


def python(folder: Path, code: str, *arguments: object) -> str:
    """The command line of a Python program."""
    program = folder / "agent.py"
    program.write_text(dedent(code))
    return shlex.join([sys.executable, str(program), *map(str, arguments)])


def ask(
    line: str,
    timeout_s: float = LONG_S,
    enable_llm: bool | None = None,
    test_config: dict[str, Any] | None = None,
) -> AgentOutput:
    return run(Agent(line, timeout_s=timeout_s, enable_llm=enable_llm).ask(scenario(test_config)))


async def written(path: Path, asking: "asyncio.Task[Any]") -> None:
    """Wait until a file says something, while a program is asked that writes it."""
    while not path.exists() or not path.read_text():
        assert not asking.done(), asking
        await asyncio.sleep(0.01)


def gone(pid: Path) -> None:
    """Wait until the process that a file names is no more."""
    while Path(f"/proc/{pid.read_text()}").exists():
        time.sleep(0.01)


def says(folder: Path, text: str | bytes) -> AgentOutput:
    """Run an agent that prints this text. Return its parsed output."""
    data = text.encode() if isinstance(text, str) else text
    (folder / "out").write_bytes(data)
    return ask(shlex.join(["cat", str(folder / "out")]))


def unreadable(folder: Path, text: str | bytes) -> str:
    """Run an agent that prints an unreadable answer. Return the detail of the failure."""
    reply = says(folder, text)
    assert (reply.analysis, reply.text, reply.failure) == (None, None, "unreadable")
    assert reply.detail is not None
    return reply.detail
