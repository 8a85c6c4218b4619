"""`local`: a private server that starts, is shared, is replaced and ends, with real processes."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick import Client, InvalidArgument, LocalServerFailed, async_local, local
from tallystick.local_server import holder_of, is_locked
from tests.api.cli.command import environment
from tests.api.cli.lines import history
from tests.support.paths import ROOT
from tests.support.server import served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def program(text: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start a program of other people's, which imports tallystick; it has a process group of its own."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=environment(), start_new_session=True
    )


def wait_until_free(ledger: Path) -> None:
    """Wait until no process holds a ledger."""
    wait_until(lambda: not is_locked(ledger))


def test_a_private_server_keeps_what_was_recorded_and_ends_with_its_client(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with local(ledger, agent="scout") as client:
        recorded = client.record("Keep it", decision_id="d1", confidence=0.9)
        assert not recorded.duplicate
        assert is_locked(ledger)
    assert not is_locked(ledger), "the client waits until its server has stopped"
    with local(str(ledger), agent="scout") as client:
        assert client.record("Keep it", decision_id="d1", confidence=0.9).duplicate
        assert next(iter(client.events())).position == 1


def test_a_server_that_holds_the_file_is_used(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with served(ledger) as server:
        with local(ledger, agent="scout") as client:
            client.record("Go through it")
            assert server.url in repr(client)
        with Client(server.url, agent="scout") as other:
            assert other.decisions().total == 1, "it goes on when the client is closed"
    assert not is_locked(ledger)


def test_a_client_takes_over_where_the_server_it_used_ends(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with served(ledger) as server, local(ledger, agent="scout") as client:
        client.record("Before", decision_id="d1")
        events = client.follow()
        assert next(events).position == 1
        server.stop()
        assert not client.record("After", decision_id="d2").duplicate
        assert next(events).position == 2
        assert is_locked(ledger)


def test_a_private_server_that_is_killed_is_started_again(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with local(ledger, agent="scout") as client:
        client.record("Before", decision_id="d1")
        holder = holder_of(ledger)
        assert holder is not None
        os.kill(holder.pid, signal.SIGKILL)
        client.record("After", decision_id="d2")
        assert client.decisions().total == 2


def test_the_lock_file_of_a_dead_server_misleads_nobody(tmp_path: Path) -> None:
    """Its address may belong to another server by now."""
    ledger = tmp_path / "t.db"
    with served(tmp_path / "other.db") as other:
        (tmp_path / "t.db.lock").write_text(f'{{"pid":1,"address":"{other.url}"}}')
        with local(ledger, agent="scout") as client:
            client.record("Where it belongs")
            with Client(other.url) as elsewhere:
                assert elsewhere.decisions(agent=None).total == 0


def test_programs_that_start_at_once_share_one_server(tmp_path: Path) -> None:
    """The first to end takes its server with it; the others go on."""
    text = """
import sys, tallystick
with tallystick.local(sys.argv[1], agent="scout") as client:
    for place in range(10):
        client.record("Choice", decision_id=f"d-{sys.argv[2]}-{place}")
        sys.stdin.readline() if place == 4 else None
print("done")
"""
    ledger = tmp_path / "t.db"
    programs = [program(text, ledger, number) for number in range(3)]
    for one in programs:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in programs:
        out, err = one.communicate()
        assert (one.returncode, out) == (0, "done\n"), err
    assert not is_locked(ledger)
    with local(ledger, agent="scout") as client:
        assert client.decisions().total == 30
        assert sum(1 for _ in client.events()) == 30


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "os._exit(3)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_however_a_program_ends_its_server_ends_too(tmp_path: Path, end: str) -> None:
    text = f"""
import os, sys, tallystick
client = tallystick.local(sys.argv[1], agent="scout")
client.record("Leave it")
{end}
"""
    ledger = tmp_path / "t.db"
    ended = program(text, ledger)
    ended.communicate()
    assert ended.returncode == {"pass": 0, "os.kill(os.getpid(), 9)": -9, "1 / 0": 1}.get(end, 3)
    wait_until_free(ledger)
    with local(ledger, agent="scout") as client:
        assert client.decisions().total == 1


def test_a_fork_of_a_program_leaves_the_server_alone(tmp_path: Path) -> None:
    text = """
import os, sys, tallystick
client = tallystick.local(sys.argv[1], agent="scout")
child = os.fork()
if child == 0:
    client.close()
    sys.exit(0)
os.waitpid(child, 0)
client.record("Still served")
print(client.decisions().total)
"""
    out, err = program(text, tmp_path / "t.db").communicate()
    assert out == "1\n", err


def test_ctrl_c_lets_the_program_record_before_its_server_ends(tmp_path: Path) -> None:
    text = """
import sys, time, tallystick
with tallystick.local(sys.argv[1], agent="scout") as client:
    try:
        print("ready", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        client.record("Interrupted")
"""
    ledger = tmp_path / "t.db"
    interrupted = program(text, ledger)
    assert interrupted.stdout is not None
    assert interrupted.stdout.readline() == "ready\n"
    os.killpg(interrupted.pid, signal.SIGINT)  # as a terminal does it
    _, err = interrupted.communicate()
    assert interrupted.returncode == 0, err
    with local(ledger, agent="scout") as client:
        assert client.decisions().total == 1


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    ledger.write_text("This is a letter.")
    with pytest.raises(LocalServerFailed) as failed:
        local(ledger)
    assert str(ledger) in failed.value.detail
    assert "Traceback" not in str(failed.value)
    assert "file is not a database" in str(failed.value)
    with pytest.raises(LocalServerFailed, match="nowhere"):
        local(tmp_path / "nowhere" / "t.db")
    assert ledger.read_text() == "This is a letter."


def test_a_wrong_argument_leaves_no_server_behind(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        local(tmp_path / "t.db", retry_s=-1)
    assert not is_locked(tmp_path / "t.db")


def test_a_file_that_another_program_writes_is_waited_for(tmp_path: Path) -> None:
    """`tallystick append` of a pipe holds the file until the pipe ends."""
    ledger = tmp_path / "t.db"
    command = [sys.executable, "-m", "api.cli.main", "--ledger", str(ledger), "append"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT, env=environment()) as writer:
        assert writer.stdin is not None
        writer.stdin.write(history(1))
        writer.stdin.flush()
        wait_until(lambda: is_locked(ledger) and holder_of(ledger) is not None, writer)
        with pytest.raises(LocalServerFailed, match=rf"process {writer.pid} writes it"):
            local(ledger, start_s=0.2)
        writer.stdin.close()
        with local(ledger) as client:
            assert sum(1 for _ in client.events()) == 2


def test_a_private_server_in_asyncio(tmp_path: Path) -> None:
    async def run() -> None:
        async with async_local(tmp_path / "t.db", agent="scout") as client:
            many = [client.record(f"Choice {number}") for number in range(10)]
            await asyncio.gather(*many)
            assert (await client.decisions()).total == 10

    asyncio.run(run())
    assert not is_locked(tmp_path / "t.db")


def test_no_proxy_is_asked_for_a_private_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with local(tmp_path / "t.db") as client:
        client.record("Directly")
