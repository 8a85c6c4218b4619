"""Events that the CloudEvents SDKs of Python and JavaScript send: all of docs/reference/cloudevents.md."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.paths import ROOT
from tests.support.server import Served

pytestmark = [pytest.mark.slow, pytest.mark.trial("B1")]

MANUAL = ROOT / "docs/reference/cloudevents.md"
OUTCOMES = {201: "stored", 200: "retry", 415: "refused, 415", 422: "refused, 422"}

Case = dict[str, Any]


def documented(sdk: str) -> dict[str, str]:
    """The outcome of each case that the manual lists for an SDK."""
    rows = re.findall(r"^\|(.+)\|(.+)\|(.+)\|$", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    return {f"{sdk}: {case}": outcome for case, sdks, outcome in rows if sdk in sdks.split("; ")}


def run(command: Iterable[str | Path], server: Served) -> list[Case]:
    done = subprocess.run([*command, server.url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def check_stored(case: Case) -> None:
    """A stored event has the attributes that were sent, numbers and booleans in their types."""
    stored: Mapping[str, object] = case["stored"]
    name = case["case"].partition(": ")[2]
    sent = {attribute: value for attribute, value in case["added"].items() if attribute != "datacontenttype"}
    assert sent.items() <= stored.items(), case
    data = stored["data"]
    assert isinstance(data, dict)
    assert (data["decision"], data["confidence"]) == (name, 0.8)


def check(cases: list[Case], sdks: Iterable[str]) -> None:
    expected = {case: outcome for sdk in sdks for case, outcome in documented(sdk).items()}
    assert {case["case"]: OUTCOMES.get(case["status"], case) for case in cases} == expected
    for case in cases:
        if case["stored"] is None:
            assert case["answer"]["detail"]
            assert case["answer"]["advice"]
        else:
            check_stored(case)


def test_the_python_sdk(python_environment: Path, server: Served) -> None:
    cases = run([python_environment / "python", ROOT / "tests/sdks/cloudevents_cases"], server)
    assert len(cases) == 26
    check(cases, ("Python 1.x", "Python 2.x"))


def test_the_javascript_sdk(python_environment: Path, npm_environment: Path, server: Served) -> None:
    cases = run([python_environment / "node", npm_environment / "cloudevents_cases.cjs"], server)
    assert len(cases) == 16
    check(cases, ("JavaScript",))
