"""A command that crashes, hangs, floods, or leaves something behind: an error with its last lines, and in time."""

import asyncio
import sys
from pathlib import Path

import pytest

from events.limits import ANSWER_BYTES_MAX
from instruments.evals.agent import Agent
from instruments.evals.analysis import Analysis, Decision
from instruments.routers.redaction import OUTPUT_TAIL_CHARS_MAX
from tests.instruments.evals.asking import (
    LONG_S,
    ask,
    gone,
    python,
    scenario,
    written,
)
from tests.support.event_loop import run

pytestmark = pytest.mark.slow


def test_a_crash_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    code = """
        import sys
        print('{"rca": {}}')
        for number in range(5000):
            print(f"line {number}", file=sys.stderr)
        raise SystemExit(3)
        """
    reply = ask(python(tmp_path, code))
    assert (reply.analysis, reply.failure) == (None, "crash")
    assert reply.detail == f"{Path(sys.executable).name} ended with exit code 3"
    assert reply.said is not None
    assert reply.said.startswith("line ")
    assert reply.said.endswith("\nline 4999")
    assert OUTPUT_TAIL_CHARS_MAX // 2 < len(reply.said) <= OUTPUT_TAIL_CHARS_MAX


def test_a_crash_that_says_nothing_on_stderr_is_reported_by_what_it_printed(tmp_path: Path) -> None:
    reply = ask(python(tmp_path, "import os; print('half an ans', flush=True); os.kill(os.getpid(), 11)"))
    assert reply.detail == f"{Path(sys.executable).name} was ended by SIGSEGV"
    assert reply.said == "half an ans"


def test_one_long_line_is_cut_at_its_beginning(tmp_path: Path) -> None:
    reply = ask(python(tmp_path, "import sys; sys.exit('x' * 9000 + 'the end')"))
    assert reply.said is not None
    assert reply.said.endswith("xxxthe end")
    assert len(reply.said) == OUTPUT_TAIL_CHARS_MAX


def test_a_hang_ends_in_time(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = """
        import os, pathlib, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
        print("still thinking", file=sys.stderr, flush=True)
        time.sleep(999)
        """
    reply = ask(python(tmp_path, code, pid), timeout_s=5.0)
    assert (reply.failure, reply.said) == ("timeout", "still thinking")
    assert reply.detail == f"{Path(sys.executable).name} gave no whole answer within 5 s"
    assert reply.elapsed_ns is not None
    assert reply.elapsed_ns >= 5e9
    gone(pid)


def test_a_flood_ends_at_the_limit() -> None:
    reply = ask("yes")
    assert reply.failure == "flood"
    assert reply.detail == f"yes wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended"
    assert reply.said is not None
    assert set(reply.said.split("\n")) == {"y"}


def test_megabytes_on_stderr_hold_nothing_up(tmp_path: Path) -> None:
    code = """
        import sys
        for _ in range(100):
            sys.stderr.write("noise " * 20_000)
        print('{"decision": {"label": "quiet"}}')
        """
    reply = ask(python(tmp_path, code))
    assert reply.analysis == Analysis(decision=Decision(label="quiet"))
    assert reply.said is None


def test_what_is_left_behind_is_neither_waited_for_nor_left(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(999)"])
        open(sys.argv[1], "w").write(str(child.pid))
        print('{"decision": {"label": "done"}}')
        """
    assert ask(python(tmp_path, code, pids)).analysis == Analysis(decision=Decision(label="done"))
    gone(pids)


def test_a_program_that_went_away_has_crashed(tmp_path: Path) -> None:
    program = tmp_path / "gone"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    agent = Agent(str(program), timeout_s=LONG_S)
    program.unlink()
    reply = run(agent.ask(scenario()))
    assert (reply.failure, reply.detail) == ("crash", "gone cannot be run: No such file or directory")


def test_cancelling_ends_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    line = python(
        tmp_path, "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(999)", pid
    )

    async def begin_and_cancel() -> None:
        asking = asyncio.create_task(Agent(line, timeout_s=LONG_S).ask(scenario()))
        await written(pid, asking)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(begin_and_cancel())
    gone(pid)
