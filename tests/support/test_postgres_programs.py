"""The newest PostgreSQL that is installed runs the tests, or the one that a variable names; an old one is not used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.postgres_programs import NEEDED

pytestmark = pytest.mark.slow


def installed(folder: Path, version: str) -> Path:
    """Programs that print a version."""
    folder.mkdir()
    for name in NEEDED:
        (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def found(**variables: str) -> tuple[int, str, str]:
    """What the program prints: its exit code, the folder, and the reason."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.postgres_programs"],
        cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize("version", ["15.0", "16.4 (Debian 16.4-1)", "19devel", "18beta1"])
def test_the_variable_names_the_folder(tmp_path: Path, version: str) -> None:
    folder = installed(tmp_path / "bin", version)
    assert found(TALLYSTICK_POSTGRES_BIN=str(folder)) == (0, str(folder), "")


@pytest.mark.parametrize("version", ["14.20", "9.6.24", ""])
def test_an_old_version_is_not_used(tmp_path: Path, version: str) -> None:
    code, folder, reason = found(TALLYSTICK_POSTGRES_BIN=str(installed(tmp_path / "bin", version)))
    assert (code, folder) == (1, "")
    assert reason.startswith("PostgreSQL 15 or newer is not installed (initdb, postgres, pg_basebackup, psql)")


def test_a_folder_without_one_of_the_programs_is_not_used(tmp_path: Path) -> None:
    folder = installed(tmp_path / "bin", "16.1")
    (folder / "psql").unlink()
    assert found(TALLYSTICK_POSTGRES_BIN=str(folder))[0] == 1


def test_the_newest_version_on_the_path_is_used(tmp_path: Path) -> None:
    old, new = installed(tmp_path / "old", "97.12"), installed(tmp_path / "new", "98.2")
    (old / "initdb").unlink()
    (old / "initdb").symlink_to(new / "initdb")
    path = os.pathsep.join([str(old), str(new), os.environ["PATH"]])
    assert found(PATH=path, TALLYSTICK_POSTGRES_BIN="") == (0, str(new), "")
