"""The unit of examples/systemd: sound, and of little exposure."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from docs._generate.program import verbs
from tests.distribution.checkers import said
from tests.support.paths import ROOT

UNIT = ROOT / "examples" / "systemd" / "tallystick.service"
EXPOSURE_MAX = 1.2
"""What `systemd-analyze security` may find, from 0 to 10. The rest is mostly the use of a network."""


@pytest.fixture
def analyze() -> str:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    return program


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, without the program: it is not installed here."""
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"^(ExecStart)=\S+", r"\1=/bin/true", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return copy


@pytest.mark.slow
def test_systemd_reads_the_unit(analyze: str, unit: Path) -> None:
    assert said(analyze, "verify", "--man=no", "--recursive-errors=no", unit) == ""


@pytest.mark.slow
def test_the_service_is_exposed_little(analyze: str, unit: Path) -> None:
    text = said(analyze, "security", "--offline=true", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", text)
    assert found, text
    assert float(found[1]) <= EXPOSURE_MAX, text


def test_its_command_and_its_variables_exist() -> None:
    text = UNIT.read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=\S+/tallystick (.+)$", text, re.MULTILINE)
    assert command
    name, *words = shlex.split(command[1])
    (verb,) = (each for each in verbs() if each.name == f"tallystick {name}")
    assert {word for word in words if word.startswith("--")} <= set(verb.options)
    assert "TALLYSTICK_LEDGER=/var/lib/tallystick/tallystick.db" in text
    assert "StateDirectory=tallystick\n" in text
