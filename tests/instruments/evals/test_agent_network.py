"""An agent in a network namespace: whatever calls out is an error that says so, however it is hidden."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from instruments.evals.agent import Agent, AgentOutput
from instruments.sandbox import network_guard
from instruments.sandbox.network_guard import (
    Network,
    NetworkCall,
    NetworkGuard,
    NetworkUnavailable,
    check_network,
    describe_calls,
)
from tests.instruments.evals.asking import ANSWER, LONG_S, gone, python, scenario, written
from tests.support.event_loop import run

ANSWERING = f"import json, os, socket, subprocess, sys, threading, time\nANSWER = {ANSWER!r}\n"
ANSWERED = "\nprint(json.dumps(ANSWER))\n"

CALL = """
def call(address, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as client:
            client.connect(address)
            client.send(b"hello")
    except OSError:
        pass
"""


def _unavailable() -> str | None:
    try:
        check_network()
    except NetworkUnavailable as error:
        return str(error)
    return None


needs_namespace = pytest.mark.skipif(_unavailable() is not None, reason=f"no network namespace: {_unavailable()}")


def ask(folder: Path, code: str, network: Network | None = "none", timeout_s: float = LONG_S) -> AgentOutput:
    line = python(folder, ANSWERING + CALL + code + ANSWERED)
    return run(Agent(line, timeout_s=timeout_s, network=network).ask(scenario()))


def called(reply: AgentOutput) -> str:
    """What the failure says that the agent called."""
    assert (reply.failure, reply.analysis, reply.text) == ("network", None, None), reply
    assert reply.detail is not None
    return reply.detail


@pytest.mark.slow
@needs_namespace
@pytest.mark.parametrize(
    ("code", "target"),
    [
        ("call(('203.0.113.1', 443))", "203.0.113.1:443 (tcp)"),
        ("call(('127.0.0.1', 5432))", "127.0.0.1:5432 (tcp)"),
        ("call(('127.0.0.53', 53), kind=socket.SOCK_DGRAM)", "127.0.0.53:53 (udp)"),
        ("call(('198.51.100.7', 514), kind=socket.SOCK_DGRAM)", "198.51.100.7:514 (udp)"),
        ("call(('2001:db8::5', 443), socket.AF_INET6)", "[2001:db8::5]:443 (tcp)"),
        ("call(('::1', 4318), socket.AF_INET6)", "[::1]:4318 (tcp)"),
        ("call(('10.0.0.1', 80)); call(('10.0.0.2', 80))", "10.0.0.1:80 (tcp), 10.0.0.2:80 (tcp)"),
    ],
)
def test_a_call_is_an_error_that_names_it(tmp_path: Path, code: str, target: str) -> None:
    if "AF_INET6" in code and not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6")
    reply = ask(tmp_path, code)
    assert called(reply) == f"{Path(sys.executable).name} called {target} in a replay with --network none"


@pytest.mark.slow
@needs_namespace
def test_a_name_that_is_resolved_is_named(tmp_path: Path) -> None:
    if not any(line.startswith("nameserver") for line in Path("/etc/resolv.conf").read_text().splitlines()):
        pytest.skip("no name server is configured")
    code = "try: socket.getaddrinfo('metrics.shop.example', 443)\nexcept OSError: pass"
    assert "(udp, for the name metrics.shop.example)" in called(ask(tmp_path, code))


@pytest.mark.slow
@needs_namespace
@pytest.mark.parametrize(
    "code",
    [
        "if os.fork() == 0:\n    call(('203.0.113.1', 443)); os._exit(0)\nos.wait()",
        "subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection((\"203.0.113.1\", 443))'])",
        "if os.fork() == 0:\n    os.setsid(); call(('203.0.113.1', 443)); time.sleep(600)\ntime.sleep(1)",
        "thread = threading.Thread(target=call, args=(('203.0.113.1', 443),)); thread.start(); thread.join()",
    ],
)
def test_children_and_threads_count(tmp_path: Path, code: str) -> None:
    assert "203.0.113.1:443 (tcp)" in called(ask(tmp_path, code))


@pytest.mark.slow
@needs_namespace
def test_many_calls_within_do_not_hide_one_to_the_outside(tmp_path: Path) -> None:
    code = """
server = socket.create_server(("127.0.0.1", 0), backlog=4000)
for number in range(3000):
    call(server.getsockname())
    if number == 2500:
        call(("203.0.113.1", 443))
    server.accept()[0].close()
"""
    assert "203.0.113.1:443 (tcp)" in called(ask(tmp_path, code))


@pytest.mark.slow
@needs_namespace
@pytest.mark.parametrize("network", ["none", "loopback"])
def test_an_agent_that_calls_nothing_is_unaffected(tmp_path: Path, network: Network) -> None:
    code = """
with socket.create_server(("127.0.0.1", 0)) as server:  # its own processes may talk
    with socket.create_connection(server.getsockname()) as client, server.accept()[0] as answer:
        client.send(b"hello"); assert answer.recv(5) == b"hello"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two:
    one.bind(("127.0.0.1", 0)); two.sendto(b"hello", one.getsockname()); assert one.recv(5) == b"hello"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
    unused.connect(("203.0.113.1", 53))  # sends nothing
socket.socketpair()[0].close()
assert socket.getaddrinfo("127.0.0.1", 80)
ANSWER["decision"] = {"label": json.load(sys.stdin)["alert"]["fingerprint"], "why": [os.environ["TALLYSTICK_REPLAY"]]}
"""
    reply = ask(tmp_path, code, network)
    assert (reply.failure, reply.detail) == (None, None), reply.said
    assert reply.analysis is not None
    assert reply.analysis.decision is not None
    assert (reply.analysis.decision.label, reply.analysis.decision.why) == ("8f2c", ("1",))


@pytest.mark.slow
@needs_namespace
def test_loopback_allows_loopback_and_no_more(tmp_path: Path) -> None:
    assert ask(tmp_path, "call(('127.0.0.1', 4318)); call(('::1', 4318), socket.AF_INET6)", "loopback").failure is None
    assert "203.0.113.1:443 (tcp)" in called(ask(tmp_path, "call(('203.0.113.1', 443))", "loopback"))
    asked = ask(tmp_path, "call(('127.0.0.53', 53), kind=socket.SOCK_DGRAM)", "loopback")
    assert "127.0.0.53:53 (udp)" in called(asked), "a resolver that asks for a name looks outside"


@pytest.mark.slow
@needs_namespace
def test_without_it_the_network_is_that_of_the_machine(tmp_path: Path) -> None:
    code = "ANSWER['rca'] = {'root_cause': os.readlink('/proc/self/ns/net')}"
    reply, inside = ask(tmp_path, code, None), ask(tmp_path, code)
    assert reply.analysis is not None
    assert inside.analysis is not None
    assert reply.analysis.rca is not None
    assert reply.analysis.rca.root_cause == str(Path("/proc/self/ns/net").readlink())
    assert reply.analysis != inside.analysis


@pytest.mark.slow
@needs_namespace
def test_a_failing_agent_that_called_says_both(tmp_path: Path) -> None:
    reply = ask(tmp_path, "call(('203.0.113.1', 443)); print('no route', file=sys.stderr); sys.exit(3)")
    program = Path(sys.executable).name
    assert called(reply).endswith(f"in a replay with --network none; {program} ended with exit code 3")
    assert reply.said == "no route"
    assert ask(tmp_path, "sys.exit(3)").failure == "crash"
    slow = ask(tmp_path, "call(('203.0.113.1', 443)); time.sleep(600)", timeout_s=3.0)
    assert "gave no whole answer within 3 s" in called(slow)


@pytest.mark.slow
@needs_namespace
def test_a_program_that_cannot_begin_says_so(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    reply = run(Agent(str(program), timeout_s=LONG_S, network="none").ask(scenario()))
    assert (reply.failure, reply.detail) == ("crash", "agent cannot be run: Exec format error")


@pytest.mark.slow
@needs_namespace
def test_the_environment_and_signals_are_as_without_it(tmp_path: Path) -> None:
    code = """
import signal
left = {name: value for name, value in os.environ.items() if name != "TALLYSTICK_TRACE_FILE"}
kept = [signal.getsignal(signal.SIGXFSZ).name, sorted(os.listdir("/proc/self/fd")), os.getuid(), os.getcwd()]
ANSWER["rca"] = {"root_cause": json.dumps([left, kept, sys.argv[1:]], sort_keys=True)}
"""
    (tmp_path / "inside").mkdir()
    replies = [ask(tmp_path, code, network) for network in (None, "none")]
    assert replies[0].analysis is not None
    assert replies[0].analysis == replies[1].analysis


@pytest.mark.slow
@needs_namespace
def test_a_cancelled_agent_is_ended_with_what_it_started(tmp_path: Path) -> None:
    code = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open({str(tmp_path / "child")!r}, "w").write(str(child.pid))
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""

    async def cancel() -> None:
        line = python(tmp_path, ANSWERING + code)
        asking = asyncio.create_task(Agent(line, timeout_s=LONG_S, network="none").ask(scenario()))
        await written(tmp_path / "pid", asking)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    before = list(Path("/proc/self/fd").iterdir())
    run(cancel())
    gone(tmp_path / "pid")
    gone(tmp_path / "child")
    assert len(list(Path("/proc/self/fd").iterdir())) <= len(before)


@pytest.mark.slow
@needs_namespace
def test_root_cannot_leave_the_namespace(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("nsenter") is None:
        pytest.skip("needs root and nsenter")
    code = "ANSWER['rca'] = {'root_cause': str(subprocess.run(['nsenter', '-t', '1', '-n', 'true']).returncode)}"
    reply = ask(tmp_path, code)
    assert reply.analysis is not None
    assert reply.analysis.rca is not None
    assert reply.analysis.rca.root_cause != "0"


@pytest.mark.slow
def test_where_there_is_no_namespace_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_guard, "_PROGRAM", refusing())
    with pytest.raises(NetworkUnavailable, match="no network namespace here: unshare"):
        check_network()
    reply = ask(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    assert (reply.failure, reply.analysis) == ("crash", None)
    assert reply.detail is not None
    assert "the kernel allows no network namespace here" in reply.detail
    assert not (tmp_path / "ran").exists()


def refusing() -> str:
    """The program of the child, under a kernel that allows no namespaces."""
    return (
        "import sys; sys.path.insert(0, {root!r})\n"
        "from instruments.sandbox import isolation, network_child\n"
        "def refuse(flags): raise PermissionError(1, 'unshare: Operation not permitted')\n"
        "network_child.unshare = isolation.unshare = refuse\n"
        "network_child.main()"
    )


def test_a_guard_without_a_command_has_a_problem() -> None:
    with NetworkGuard("none", ["true"]) as guard:
        assert guard.finish() == ()
        assert guard.problem is not None


def test_calls_in_words() -> None:
    calls = [NetworkCall("tcp", "10.0.0.1", port) for port in range(1, 8)]
    assert describe_calls(calls).endswith("10.0.0.1:5 (tcp) and 2 more")
    assert str(NetworkCall("icmp", "::2", None)) == "[::2] (icmp)"
