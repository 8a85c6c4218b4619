"""Environments with the SDKs and generators of others, from lock files. Without a network, their tests are skipped."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.server import Served, served

PACKAGES = Path(__file__).parent / "npm"


def install(command: list[str], folder: Path) -> None:
    """Run an installation. Skip the test if it fails: there may be no network."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} cannot install: {done.stderr[-1000:]}")


@pytest.fixture(scope="session")
def python_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands of requirements-clients.txt."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", str(ROOT / "requirements-clients.txt")], folder)
    return folder / "bin"


@pytest.fixture(scope="session")
def npm_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of package-lock.json."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("npm") / "packages"
    shutil.copytree(PACKAGES, folder)
    install(["npm", "ci", "--no-audit", "--no-fund"], folder)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as running:
        yield running
