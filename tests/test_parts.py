"""The table of parts: every file of tests has an owner, and what a test of the gate may not do is refused by name."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.parts import OWNERS, PARTS, QUARANTINED_MAX, part_of, quarantined
from tests.support import gate_guard
from tests.support.paths import ROOT


def test_every_folder_of_the_table_exists_and_has_a_part() -> None:
    assert {path for path in OWNERS if not (ROOT / path).exists()} == set()
    assert set(OWNERS.values()) | {"quarantine"} == set(PARTS)


def test_the_part_of_a_file_is_that_of_the_longest_path() -> None:
    assert part_of(ROOT / "tests/faults/test_kill.py") == "faults"
    assert part_of(ROOT / "tests/faults/postgres/test_postgres_faults.py") == "postgres"
    assert part_of(ROOT / "tests/test_new.py") is None


def test_ci_runs_every_part_at_night() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"^          - (\w+)$", workflow, re.MULTILINE) == sorted(PARTS)


def test_few_tests_are_in_quarantine() -> None:
    assert len(quarantined()) <= QUARANTINED_MAX


def listen() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda: time.sleep(0.001), "sleeps"),
        (lambda: subprocess.run([sys.executable, "-V"], check=True), "starts a program"),
        (listen, "listens on a socket"),
        (lambda: socket.getaddrinfo("localhost", 80), "looks up a name"),
    ],
    ids=["sleep", "process", "socket", "name"],
)
def test_what_depends_on_the_machine_is_refused_with_the_part_to_put_it_in(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], what: str
) -> None:
    if not gate_guard.guard.on:
        pytest.skip("only `--part gate` refuses it")
    monkeypatch.setattr(request.node, "path", ROOT / "tests/api/http/test_new.py")
    with pytest.raises(gate_guard.Refused, match=f"{what} .*make test-slow PART=sockets"):
        act()
    assert len(gate_guard.guard.refusals) == 1, "a test that swallows the error fails all the same"
    gate_guard.guard.refusals.clear()
