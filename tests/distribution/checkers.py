"""Programs that check the distribution; `make .venv/.checkers` installs them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.paths import ROOT

FOLDER = ROOT / ".venv" / "checkers"
ACTIONLINT = FOLDER / "npm" / "node_modules" / "@tktco" / "node-actionlint" / "bin" / "node-actionlint.js"
WORKFLOWS = sorted([*(ROOT / ".github" / "workflows").glob("*.yml"), *(ROOT / "examples" / "ci").glob("*.yml")])


def checker(name: str) -> Path:
    """A program of the environment of the checkers; skips the test without it."""
    program = FOLDER / "bin" / name
    if not program.is_file():
        pytest.skip(f"{name} is not installed: make .venv/.checkers")
    return program


def said(*words: str | Path, code: int = 0, folder: Path = ROOT, variables: Mapping[str, str] | None = None) -> str:
    """Run a program that must end with an exit code; what it prints on both streams."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}"
    return done.stdout
