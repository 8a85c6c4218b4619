"""The documents are run: README's commands work when pasted, and nothing a user can name is left out of them."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import typer.main
from starlette.routing import Route

from api.auth import SCOPES
from api.cli.main import app
from api.errors import TABLE
from api.http.app import routes
from api.rate_limit import BURST_DEFAULT, RATE_DEFAULT
from events import VOCABULARY, limits
from tests.support.paths import ROOT, SHARED
from tests.support.server import COMMAND, served

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = README + "".join(
    (ROOT / name).read_text(encoding="utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")
)

FINDING = SHARED / "calibration" / "llm_confidence.csv"

_block = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_varying = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"recorded \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "recorded TIME"),
    (re.compile(r'"request_id":"[0-9a-f-]+"'), "REQUEST"),
    (re.compile(r"[\d.,]+ s, [\d.,]+ rows/s"), "RATE"),
    (re.compile(r" *\d+ms"), "MS"),
    (re.compile(r"; [\d.,]+ m?s\."), "; TIME."),
)


def _alike(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, name in _varying:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _paste(commands: str, folder: Path, url: str) -> str:
    """Paste commands into a shell whose server is at a URL; what they print."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace("http://127.0.0.1:8321", url)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _follow(blocks: list[tuple[str, str]], folder: Path, url: str) -> None:
    """Paste every block of commands; what it prints is the block of text that stands behind it."""
    for (kind, text), (kind_after, text_after) in pairwise([*blocks, ("", "")]):
        if kind == "sh" and not text.startswith(("make ", "export PATH")):
            said = _paste(text, folder, url)
            if kind_after == "text":
                assert _alike(said) == _alike(text_after)


def test_the_readme_does_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = _block.findall(README)
    first_served = next(number for number, (_, text) in enumerate(blocks) if "8321" in text)
    _follow(blocks[:first_served], tmp_path, "")
    with served(tmp_path / "tallystick.db", module=COMMAND) as server:
        _follow(blocks[first_served:], tmp_path, server.url)


def test_every_make_target_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`", DOCUMENTS))
    assert named <= targets, f"no such target: {sorted(named - targets)}"
    assert {"serve", "test", "install", "bench"} <= targets


def test_every_event_type_is_in_the_readme() -> None:
    missing = [name for name in VOCABULARY.types if f"`{name}`" not in README]
    assert not missing, f"add to README's table: {missing}"


def test_every_verb_is_in_the_readme() -> None:
    group = typer.main.get_command(app)
    missing = [verb for verb in _verbs(group, "tallystick") if f"`{verb}`" not in README]
    assert not missing, f"add to README's table: {missing}"


def _verbs(command: object, path: str) -> list[str]:
    inner: dict[str, object] = getattr(command, "commands", {})
    if not inner:
        return [path]
    return [verb for name, each in inner.items() for verb in _verbs(each, f"{path} {name}")]


def test_every_route_is_in_the_readme() -> None:
    named = [
        f"{method} {re.sub(r':[a-z]+}', '}', route.path)}"
        for route in routes()
        if isinstance(route, Route)
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]
    missing = [route for route in named if f"`{route}`" not in README]
    assert not missing, f"add to README's table: {missing}"


def test_every_environment_variable_is_in_the_readme() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "api").rglob("*.py"))
    named = set(re.findall(r"TALLYSTICK_[A-Z]+", code))
    missing = [name for name in sorted(named) if name not in README]
    assert named, "no variable was found in the code"
    assert not missing, f"add to README's settings: {missing}"


def test_every_dependency_is_argued_in_the_architecture() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = [re.split(r"[<>=\[ ]", requirement)[0] for requirement in wanted]
    missing = [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert not missing, f"argue each in a line: {missing}"


def test_the_figures_of_the_readme_are_those_of_a_run() -> None:
    rows = re.findall(r"^\|(?:append|replay|/calibration|memory)[^\n]*\|$", README, re.MULTILINE)
    assert len(rows) >= 8, "README's table of speed is what `python -m benchmarks --markdown` prints"


@pytest.mark.skipif(not FINDING.is_file(), reason="the answers of four language models are not beside this checkout")
def test_the_finding_of_the_readme_is_in_the_data(tmp_path: Path) -> None:
    _paste(f"tallystick import decisions {FINDING} --map decision=question_id --map question=question_id", tmp_path, "")
    agents = {"claude-3-7-sonnet-20250219": "", "gpt-4o": " --detail curves"}
    said = "".join(
        _paste(f"tallystick calibration --agent {agent} --group-by category{asked}", tmp_path, "")
        for agent, asked in agents.items()
    )
    said += _paste("tallystick calibration --include comparison", tmp_path, "")
    section = README.partition("### A good average")[2].partition("\n## ")[0]
    told = [line for kind, text in _block.findall(section) for line in text.splitlines() if kind == "text" and line]
    assert len(told) > 10
    assert [line for line in told if line not in map(str.rstrip, said.splitlines())] == []


def test_the_limits_of_the_security_policy_are_those_of_the_code() -> None:
    told = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Limits")[2]
    figures = {figure.replace(",", "") for figure in re.findall(r"\b\d[\d,]*\b", told)}
    wanted = (
        limits.BODY_BYTES_MAX, limits.LINE_BYTES_MAX, limits.BATCH_EVENTS_MAX, limits.URL_BYTES_MAX,
        limits.HEAD_BYTES_MAX, limits.HEADERS_MAX, limits.HEAD_S, limits.BODY_S, limits.BODY_BYTES_PER_S_MIN,
        limits.STALL_S, limits.STALL_BYTES, limits.PIPELINED_MAX, limits.CONNECTIONS_MAX, limits.IDLE_S,
        round(RATE_DEFAULT), round(BURST_DEFAULT), limits.QUEUE_EVENTS_MAX,
    )  # fmt: skip
    assert {str(figure) for figure in wanted} <= figures
    statuses = {str(answer.status) for answer in TABLE.values()}
    assert set(re.findall(r"\|(\d{3})\|$", told, re.MULTILINE)) <= statuses


def test_the_options_and_scopes_of_the_security_policy_exist() -> None:
    told = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    command = typer.main.get_command(app)
    options = {
        option
        for name in ("serve", "token")
        for verb in (command.commands[name], *getattr(command.commands[name], "commands", {}).values())  # type: ignore[attr-defined]
        for parameter in verb.params
        for option in parameter.opts
    }
    assert set(re.findall(r"--[a-z-]+", told)) <= options
    assert set(re.findall(r"scope `(\w+)`", told)) <= set(SCOPES)
    open_paths = set(re.findall(r"`(/[a-z.]+)`", told))
    assert open_paths <= {getattr(route, "path", "") for route in routes()}
