"""Help to test `tallystick eval run`: write suites, write agents that obey the test, read the events of the ledger."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec

from tests.api.cli.command import Ended, Value, command, done, environment, tally
from tests.support.paths import ROOT

Json = dict[str, Any]

AGENT = """
import json, os, signal, sys, time
from pathlib import Path

parent = os.getppid()
folder = Path(sys.argv[1])
given = json.load(sys.stdin)
case = given["evidence"]["case"]


def answer(cause, **more):
    print(json.dumps({"rca": {"root_cause": cause}, **more}))


def wait_for(path):
    while not path.exists() and os.getppid() == parent:
        time.sleep(0.01)


with open(folder / "asked", "a") as asked:
    asked.write(case + "\\n")
number = (folder / "asked").read_text().split().count(case)
if (folder / f"hold-{case}").exists():
    wait_for(folder / f"go-{case}")
"""
"""What every agent here begins with. One whose caller is gone goes, too."""

NAMES = ("crash-loop", "image-pull", "out-of-memory")
"""The scenarios of a small suite."""

PASSES = "answer(given['evidence']['log'])"


def scenario(folder: Path, name: str, *, captured: Json | None = None, **more: Any) -> Path:  # noqa: ANN401 - YAML
    """Write a scenario that expects the agent to name the cause in its evidence. Return its folder."""
    made = folder / name
    made.mkdir(parents=True)
    description = {
        "name": f"hush-{name}",
        "family": "hush-family",
        "failure_type": "HushFailure",
        "expected_outcomes": {"root_cause": {"patterns": [f"cause of {name}"], "match_type": "substring"}},
        **more,
    }
    (made / "scenario.json").write_text(json.dumps(description))
    investigation: Json = {
        "alert": {"labels": {"alertname": "KubeJobFailed"}},
        "evidence": {"case": name, "log": f"the cause of {name}"},
    }
    if captured is not None:
        investigation["analysis"] = captured
    (made / "investigation.json").write_text(json.dumps(investigation))
    return made


def suite(folder: Path, names: Sequence[str], **more: Any) -> Path:  # noqa: ANN401 - YAML
    """Write a suite; its folder."""
    for name in names:
        scenario(folder, name, **more)
    return folder


def agent(folder: Path, code: str = PASSES) -> str:
    """The command line of an agent, which keeps its notes in `folder`."""
    folder.mkdir(exist_ok=True)
    program = folder / "agent.py"
    program.write_text(AGENT + dedent(code))
    return shlex.join([sys.executable, str(program), str(folder)])


def asked(folder: Path) -> list[str]:
    """The cases that an agent was asked, in order."""
    return (folder / "asked").read_text().split() if (folder / "asked").exists() else []


def wait_for_asked(folder: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until an agent was asked so often, or the evaluation has ended."""
    while len(asked(folder)) < number and process.poll() is None:
        time.sleep(0.01)


def evaluate(ledger: Path, fixtures: Path, *arguments: Value, **variables: str) -> Ended:
    """Run an evaluation without baselines to its end."""
    return tally(ledger, "eval", "run", fixtures, "--no-baselines", *arguments, given=b"", **variables)


@contextmanager
def evaluating(ledger: Path, fixtures: Path, *arguments: Value) -> Iterator[subprocess.Popen[bytes]]:
    """An evaluation that is under way."""
    words = command(ledger, "eval", "run", str(fixtures), "--no-baselines", *arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def events(ledger: Path, run: str | None = None) -> list[Json]:
    """The events of evaluations and scenarios, or those of one run."""
    lines = done(ledger, "log", "--json").out.splitlines()
    found: list[Json] = [event for event in map(msgspec.json.decode, lines) if event["type"].startswith("eval.")]
    return [event for event in found if run is None or event["data"].get("run_id") == run]


def of_type(found: list[Json], name: str) -> list[Json]:
    """The payloads of one type, of any version."""
    return [event["data"] for event in found if event["type"].rpartition(".")[0] == f"eval.{name}"]


def scores(ledger: Path, run: str | None = None) -> list[Json]:
    """What was scored, in order."""
    return of_type(events(ledger, run), "scored")


def places(ledger: Path, run: str | None = None) -> list[tuple[str, int]]:
    """Which attempts at which scenarios were scored, sorted."""
    return sorted((score["scenario_id"], score["attempt"]) for score in scores(ledger, run))
