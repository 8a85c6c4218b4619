"""Nothing that a program tries gets out of the sandbox, and nothing of it is left when the run is over."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from instruments.sandbox import process
from instruments.sandbox.process import MIB, PYTHON_LIMITS, SandboxUnavailable, run_in_sandbox
from tests.instruments.sandbox.python_escapes import CALL, ESCAPES, FORGERIES, HEAD, RESOURCES
from tests.support.paths import ROOT
from tests.support.wait import wait_until

SECRET = "SECRET that nobody gets"


class Bait(NamedTuple):
    """What an escape would reach: a file, a port, a local socket."""

    canary: Path
    port: socket.socket
    local: socket.socket

    def untouched(self) -> bool:
        """Whether nobody changed the file, wrote beside it, or connected."""
        for listener in (self.port, self.local):
            with pytest.raises(BlockingIOError):
                listener.accept()
        beside = {path.name for path in self.canary.parent.iterdir()}
        return (
            self.canary.read_text() == SECRET
            and beside == {"canary.py", "s"}
            and self.canary.stat().st_mode & 0o777 == 0o600
        )


@pytest.fixture
def bait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bait]:
    monkeypatch.setenv("CANARY", SECRET)
    monkeypatch.setattr(process, "WALL_S", 30.0)
    canary = tmp_path / "canary.py"
    canary.write_text(SECRET)
    canary.chmod(0o600)
    with socket.socket() as port, socket.socket(socket.AF_UNIX) as local, canary.open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        port.bind(("127.0.0.1", 0))
        local.bind(os.path.relpath(tmp_path / "s"))
        for listener in (port, local):
            listener.listen()
            listener.setblocking(False)
            os.set_inheritable(listener.fileno(), True)
        yield Bait(canary, port, local)


def outcomes(source: str, calls: int = 1) -> list[object]:
    """What a program answers, as far as it does."""
    request = {
        "job": "python", "sources": [source], "entry": "d", "calls": [[[1, -2], "b", True]] * calls,
        "root_bytes": MIB, "needs_namespaces": False, "limits": PYTHON_LIMITS,
    }  # fmt: skip
    try:
        data = run_in_sandbox(request).data
    except SandboxUnavailable as error:
        pytest.skip(f"there is no sandbox here: {error}")
    return [msgspec.json.decode(line) for line in data.splitlines() if line.endswith(b"}")]


def processes_of(sessions: set[int]) -> set[int]:
    """The processes of some sessions that have not ended."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, session, *_ = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(session) in sessions and state != "Z":
                found.add(int(entry.name))
    return found


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The session of each run from here on."""
    started: set[int] = set()
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - as Popen's
        child = popen(*arguments, **options)
        started.add(child.pid)
        return child

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


@pytest.mark.slow
@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_escapes(name: str, bait: Bait) -> None:
    source = f"{HEAD}{ESCAPES[name]}\n{CALL}"
    places = {"CANARY": bait.canary, "PORT": bait.port.getsockname()[1], "SOCKET": bait.canary.parent / "s"}
    for word, place in {**places, "PARENT": os.getpid()}.items():
        source = source.replace(word, str(place))
    found = outcomes(source)
    answers = [
        found_outcome.get("outcome", found_outcome) for found_outcome in found if isinstance(found_outcome, dict)
    ]
    assert all(answer == {"str": "in"} or "raised" in answer for answer in answers), answers
    assert bait.untouched()
    assert name in RESOURCES or answers, "the attempt was made, and answered"


@pytest.mark.slow
def test_the_same_bait_is_taken_outside(bait: Bait) -> None:
    """What the attempts try is possible here without the sandbox: they are not vain."""
    names: dict[str, object] = {}
    exec(f"{HEAD}def attempt():\n    with open('{bait.canary}') as f: return f.read()", names)
    attempt = names["attempt"]
    assert callable(attempt)
    assert attempt() == SECRET
    bait.port.settimeout(60)
    with socket.create_connection(bait.port.getsockname()):
        bait.port.accept()[0].close()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_no_right_result(name: str, bait: Bait) -> None:
    right = {"outcome": {"tuple": [{"int": "3"}, {"str": "b: 1,(-2),"}]}}
    for found in outcomes(FORGERIES[name], calls=3):
        assert isinstance(found, dict)
        assert found.get("outcome") != right["outcome"]
    assert bait.untouched()


@pytest.mark.slow
def test_an_honest_program_answers() -> None:
    source = "import dataclasses, re\n\n\ndef d(a, b, c):\n    return sum(map(abs, a)), b\n"
    assert (
        outcomes(source, calls=2)
        == [
            {
                "outcome": {"tuple": [{"int": "3"}, {"str": "b"}]},
                "arguments": {"tuple": [{"list": [{"int": "1"}, {"int": "-2"}]}, {"str": "b"}, {"bool": True}]},
            }
        ]
        * 2
    )


@pytest.mark.slow
def test_a_run_ends_with_all_of_its_processes(sessions: set[int]) -> None:
    outcomes(f"{HEAD}{RESOURCES['run for ever']}\n{CALL}")
    assert len(sessions) == 1
    assert not processes_of(sessions)


@pytest.mark.slow
def test_a_program_that_waits_is_ended(sessions: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WALL_S", 1.0)
    source = (
        "import _thread\nlock = _thread.allocate_lock()\n\ndef d(a, b, c):\n    lock.acquire()\n    lock.acquire()\n"
    )
    assert outcomes(source) == []
    assert len(sessions) == 1
    wait_until(lambda: not processes_of(sessions))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give a right up")
def test_without_namespaces_only_what_needs_none_is_run() -> None:
    program = """
from instruments.sandbox.process import MIB, PYTHON_LIMITS, SandboxUnavailable, run_in_sandbox
for needed in (True, False):
    request = {
        "job": "python", "sources": ["def d(): return 1"], "entry": "d", "calls": [[]], "root_bytes": MIB,
        "needs_namespaces": needed, "limits": PYTHON_LIMITS,
    }
    try:
        print(run_in_sandbox(request).data)
    except SandboxUnavailable as error:
        print(error)
"""
    rights = "-sys_admin"
    command = ["setpriv", "--bounding-set", rights, "--inh-caps", rights, sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    refused, run = done.stdout.splitlines()
    assert refused == "the kernel allows no namespaces: [Errno 1] unshare: Operation not permitted"
    assert '"outcome": {"int": "1"}' in run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "function", "reason"),
    [
        ("seccomp", "allow_only", " is possible"),
        ("isolation", "limit", "[Errno 1] no limits"),
        ("isolation", "drop_rights", "[Errno 1] no limits"),
    ],
)
def test_a_protection_that_fails_runs_nothing(
    module: str, function: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child begins with one protection broken; what it was to run does not run."""
    broken = (
        "lambda *_: None" if function == "allow_only" else "lambda *_: (_ for _ in ()).throw(OSError(1, 'no limits'))"
    )
    start = "from instruments.sandbox.child import main; "
    patch = f"import instruments.sandbox.{module} as part; part.{function} = {broken}; "
    monkeypatch.setattr(process, "_PROGRAM", process._PROGRAM.replace(start, start + patch))
    request = {
        "job": "python", "sources": ["def d(): return 1"], "entry": "d", "calls": [[]], "root_bytes": MIB,
        "needs_namespaces": False, "limits": PYTHON_LIMITS,
    }  # fmt: skip
    with pytest.raises(SandboxUnavailable) as refused:
        run_in_sandbox(request)
    assert str(refused.value).endswith(reason)


def test_elsewhere_than_on_linux_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "machine", lambda: None)
    with pytest.raises(SandboxUnavailable, match="needs Linux"):
        run_in_sandbox({"job": "python"})
