"""What a router's command starts ends with it, in whatever session it hides."""

import errno
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import pytest

from instruments.routers.bounded_process import ProcessResult, run_process_blocking
from tests.api.cli.command import tally

pytestmark = [
    pytest.mark.trial("C9"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes a process the parent of orphans"),
]

DAEMON = """
import os, signal, sys, time
def daemon(path):
    "Fork twice, in a session of its own, without an environment; write the id of the process."
    if os.fork():
        os.wait()
        while not os.path.exists(path): time.sleep(0.01)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.close(0), os.close(1), os.close(2)
    os.chdir("/")
    code = "import os, sys, time; p = sys.argv[1]; open(p + '.part', 'w').write(str(os.getpid()));"
    code += "os.rename(p + '.part', p); time.sleep(999)"
    os.execve(sys.executable, [sys.executable, "-S", "-c", code, path], {})
"""
LONG_S = 60.0


def program(folder: Path, code: str) -> list[str]:
    file = folder / f"program-{time.monotonic_ns()}.py"
    file.write_text(DAEMON + dedent(code))
    return [sys.executable, str(file), str(folder)]


def run(words: list[str], timeout_s: float = LONG_S) -> ProcessResult:
    return run_process_blocking(words, b"", timeout_s, threading.Event())


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in sorted(folder.glob("pid*"))]


@pytest.mark.slow
def test_a_daemon_in_its_own_session_ends_with_its_command(tmp_path: Path) -> None:
    ended = run(program(tmp_path, "daemon(sys.argv[1] + '/pid1'); daemon(sys.argv[1] + '/pid2'); print('answer')"))
    assert (ended.ending, ended.out) == ("ended", b"answer\n")
    assert len(pids(tmp_path)) == 2
    assert not any(map(is_running, pids(tmp_path)))


@pytest.mark.slow
def test_it_ends_at_the_time_limit_too(tmp_path: Path) -> None:
    ended = run(program(tmp_path, "daemon(sys.argv[1] + '/pid1'); time.sleep(999)"), timeout_s=5.0)
    assert ended.ending == "timeout"
    assert len(pids(tmp_path)) == 1
    assert not any(map(is_running, pids(tmp_path)))


@pytest.mark.slow
def test_a_child_whose_parent_lives_ends_too(tmp_path: Path) -> None:
    """It is below its command until that is killed."""
    code = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(999)"], start_new_session=True)
    open(sys.argv[1] + "/pid1", "w").write(str(child.pid))
    time.sleep(999)
    """
    assert run(program(tmp_path, code), timeout_s=3.0).ending == "timeout"
    assert not any(map(is_running, pids(tmp_path)))


@pytest.mark.slow
def test_a_command_that_still_runs_keeps_its_daemon(tmp_path: Path) -> None:
    """Its orphans and those of another command have the same parent."""
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    slow.mkdir()
    quick.mkdir()
    code = """
    daemon(sys.argv[1] + "/pid1")
    while not os.path.exists(sys.argv[1] + "/stop"): time.sleep(0.01)
    """
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run, program(slow, code))
        while not pids(slow):
            assert not running.done(), running.result()
            time.sleep(0.01)
        run(program(quick, "daemon(sys.argv[1] + '/pid1')"))
        assert all(map(is_running, pids(slow)))
        (slow / "stop").touch()
        running.result()
    assert not any(map(is_running, pids(slow) + pids(quick)))


@pytest.mark.slow
def test_nothing_is_left_as_a_zombie(tmp_path: Path) -> None:
    run(program(tmp_path, "daemon(sys.argv[1] + '/pid1')"))
    (pid,) = pids(tmp_path)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_without_descriptors_of_processes_it_ends_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, flags: int = 0) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    run(program(tmp_path, "daemon(sys.argv[1] + '/pid1')"))
    assert not any(map(is_running, pids(tmp_path)))


@pytest.mark.slow
def test_other_children_of_this_process_live(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415 - beside its only use

    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(999)"])
    try:
        run(program(tmp_path, "daemon(sys.argv[1] + '/pid1')"))
        assert is_running(other.pid)
    finally:
        other.kill()
        other.wait()


@pytest.mark.slow
def test_after_a_discovery_nothing_is_left(tmp_path: Path) -> None:
    words = program(tmp_path, "daemon(f'{sys.argv[1]}/pid{os.getpid()}'); print('I am model one.')")
    router = f"command:{' '.join(words)}"
    ended = tally(tmp_path / "t.db", "discover", "--router", router, "--max-attempts", "2")
    assert "Traceback" not in ended.err
    assert pids(tmp_path)
    assert not any(map(is_running, pids(tmp_path)))


def test_ids_are_used_again_and_then_another_process_lives() -> None:
    """A process is its id and its start."""
    import signal  # noqa: PLC0415 - beside its only use

    from instruments.routers.process_tree import ProcessIdentity, send_signal  # noqa: PLC0415 - beside its only use

    send_signal([ProcessIdentity(os.getpid(), 1)], signal.SIGKILL)
