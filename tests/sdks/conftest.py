"""Environments with the SDKs and generators of others, from lock files. Without a network, their tests are skipped."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.server import Served, served

PACKAGES = Path(__file__).parent / "npm"


def path_with(folder: Path) -> str:
    """The variable PATH, with a folder in front."""
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def install(command: list[str], folder: Path, path: str | None = None) -> None:
    """Run an installation. Skip the test if it fails: there may be no network."""
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    program = [shutil.which(command[0], path=path) or command[0], *command[1:]]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} cannot install: {done.stderr[-1000:]}")


@pytest.fixture(scope="session")
def python_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of requirements-clients.txt: Python, openapi-python-client, ruff, node, npm, npx."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", str(ROOT / "requirements-clients.txt")], folder)
    return folder / "bin"


@pytest.fixture(scope="session")
def npm_environment(python_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of package-lock.json."""
    folder = tmp_path_factory.mktemp("npm") / "packages"
    shutil.copytree(PACKAGES, folder)
    install(["npm", "ci", "--no-audit", "--no-fund"], folder, path_with(python_environment))
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as running:
        yield running
