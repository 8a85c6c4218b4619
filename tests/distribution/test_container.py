"""The container file. No container can be run here: its instructions are read, and its steps are run without one."""

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from docs._generate.program import verbs
from tests.distribution import container_file
from tests.distribution.checkers import said
from tests.support.paths import ROOT

ALLOWED = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}


def test_the_server_runs_without_rights_and_keeps_the_ledger_in_a_volume() -> None:
    assert container_file.last("USER") == "8321"
    assert container_file.last("VOLUME") == "/ledger"
    assert container_file.variables()["TALLYSTICK_LEDGER"] == "/ledger/tallystick.db"
    assert container_file.last("STOPSIGNAL") == "SIGTERM"
    assert "--uid 8321" in container_file.last("RUN")


def test_its_command_exists_and_asks_for_tokens() -> None:
    program, name, *words = container_file.started()
    (verb,) = (each for each in verbs() if each.name == f"{program} {name}")
    assert {word for word in words if word.startswith("--")} <= set(verb.options)
    assert "--require-tokens" in words


def test_every_package_is_installed_by_its_hash() -> None:
    installs = [part for command in container_file.commands() for part in command.split("&&") if "pip install" in part]
    assert len(installs) == 2
    assert "--require-hashes -r requirements.txt" in installs[0]
    assert "--no-deps --no-index" in installs[1]


def test_the_image_is_built_from_what_the_wheel_needs_and_nothing_else() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    folders = re.search(r"^only-include = \[(.+)\]$", project, re.MULTILINE)
    assert folders
    needed = {"requirements.txt", "pyproject.toml", "README.md", "LICENSE", "docs/tallystick.1"}
    assert needed | set(json.loads(f"[{folders[1]}]")) == ALLOWED
    assert "*" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_its_steps_run_as_they_are(tmp_path: Path) -> None:
    """Without a container: its folders are in a temporary one, and the port is a free one."""
    places = {"/opt/tallystick": tmp_path / "opt", "/dist": tmp_path / "dist", "/ledger": tmp_path / "ledger"}
    source = tmp_path / "src"
    for name in said("git", "ls-files", *sorted(ALLOWED)).split():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def placed(text: str) -> str:
        for name, place in places.items():
            text = re.sub(rf"(?<![\w/]){name}\b", str(place), text)
        return text.replace("8321", port).replace("0.0.0.0", "127.0.0.1")

    for command in container_file.commands():
        said("bash", "-euc", placed(command), folder=source)
    variables = {name: placed(value) for name, value in container_file.variables().items()}
    variables["PATH"] = f"{places['/opt/tallystick']}/bin:/usr/bin:/bin"
    places["/ledger"].mkdir()
    check = [placed(word) for word in container_file.health_check()]
    said(places["/opt/tallystick"] / "bin" / check[0], *check[1:], code=1, variables=variables)
    said(places["/opt/tallystick"] / "bin" / "tallystick", "token", "add", "scout", variables=variables)
    program, *words = map(placed, container_file.started())
    server = subprocess.Popen(
        [places["/opt/tallystick"] / "bin" / program, *words],
        cwd=places["/ledger"], env=variables, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server:
        try:
            assert server.stderr is not None
            assert any('"event":"serving"' in line for line in server.stderr)
            assert httpx.get(f"http://127.0.0.1:{port}/events").status_code == 401
            said(places["/opt/tallystick"] / "bin" / check[0], *check[1:], variables=variables)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()
    assert server.returncode == 0
