"""`command:`: a program that is given the prompt and heard, whatever it does."""

import asyncio
import shlex
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer
from instruments.routers import parse_router
from tests.support.event_loop import run

LONG_S = 60.0


def python(folder: Path, code: str, *arguments: str) -> str:
    """The specification of a router that is a Python program."""
    program = folder / "router.py"
    program.write_text(dedent(code))
    return "command:" + shlex.join([sys.executable, str(program), *arguments])


def ask(spec: str, prompt: str = "Who are you?", timeout_s: float = LONG_S) -> RouterAnswer:
    return run(parse_router(spec, environment={}).ask(prompt, timeout_s))


def failure(spec: str, timeout_s: float = LONG_S) -> str:
    answer = ask(spec, timeout_s=timeout_s)
    assert (answer.text, answer.failure) == (None, "failed")
    assert answer.detail
    return answer.detail


def gone(pid: int) -> None:
    """Wait until a process is no more."""
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2:3]:
        time.sleep(0.01)


async def written(path: Path, asking: "asyncio.Task[Any]") -> None:
    """Wait until a file says something, while a program is asked that writes it."""
    while not path.exists() or not path.read_text():
        assert not asking.done(), asking
        await asyncio.sleep(0.01)


@pytest.mark.slow
def test_prompt_in_answer_out(tmp_path: Path) -> None:
    spec = python(tmp_path, "import sys; data = sys.stdin.read(); print('It was', len(data), data[:8])")
    answer = ask(spec, "Grüße " * 50_000)
    assert answer.text == "It was 300000 Grüße Gr\n"
    assert answer.failure is None
    assert answer.elapsed_ns is not None
    assert answer.elapsed_ns > 0
    assert (answer.reported_model, answer.tokens_used) == (None, None)


@pytest.mark.slow
def test_words_are_split_and_no_shell_sees_them() -> None:
    assert ask("command:printf '%s|' 'a b' '$HOME' ';' '*'").text == "a b|$HOME|;|*|"


@pytest.mark.slow
def test_elapsed_is_that_of_the_answer(tmp_path: Path) -> None:
    spec = python(tmp_path, "import time; time.sleep(0.2); print('late', flush=True)")
    elapsed_ns = ask(spec).elapsed_ns
    assert elapsed_ns is not None
    assert elapsed_ns >= 200_000_000


@pytest.mark.slow
def test_what_is_no_utf8_is_replaced(tmp_path: Path) -> None:
    spec = python(tmp_path, r"import os; os.write(1, b'ok \xff\xfe\x00 \xf0\x9f\x90')")
    assert ask(spec).text == "ok \ufffd\ufffd\x00 \ufffd"


@pytest.mark.slow
def test_what_grows_over_the_limit_is_no_answer(tmp_path: Path) -> None:
    spec = python(tmp_path, f"import sys; sys.stdout.buffer.write(b'\\xff' * {ANSWER_BYTES_MAX // 2})")
    assert failure(spec) == f"answered with more than {ANSWER_BYTES_MAX:,} bytes"
    spec = python(tmp_path, f"import sys; sys.stdout.buffer.write(b'\\xff' * {ANSWER_BYTES_MAX // 3})")
    assert ask(spec).text == "\ufffd" * (ANSWER_BYTES_MAX // 3)


@pytest.mark.slow
def test_silence_is_an_empty_answer() -> None:
    assert ask("command:true").text == ""


@pytest.mark.slow
def test_a_program_that_reads_nothing_answers(tmp_path: Path) -> None:
    spec = python(tmp_path, "import os; os.close(0); print('deaf')")
    assert ask(spec, "x" * 3_000_000).text == "deaf\n"


@pytest.mark.slow
def test_a_program_that_closes_its_output_early_is_waited_for(tmp_path: Path) -> None:
    spec = python(
        tmp_path,
        """
        import os, sys, time
        print("all of it", flush=True); os.close(1); time.sleep(0.1); sys.exit(int(sys.argv[1]))
        """,
    )
    answer = ask(f"{spec} 0")
    assert answer.text == "all of it\n"
    assert failure(f"{spec} 4").endswith("ended with exit code 4: all of it")


@pytest.mark.slow
def test_an_exit_code_is_a_failure_with_the_last_words(tmp_path: Path) -> None:
    spec = python(tmp_path, "import sys; print('x' * 9000, file=sys.stderr); sys.exit('no\\n quota \\x1b left')")
    detail = failure(spec)
    assert "ended with exit code 3" not in detail
    assert detail.endswith("no quota \x1b left")
    assert "ended with exit code 1: x" in detail
    assert len(detail) < 400


@pytest.mark.slow
def test_a_signal_is_a_failure(tmp_path: Path) -> None:
    spec = python(tmp_path, "import os; print('half', flush=True); os.kill(os.getpid(), 9)")
    assert "was ended by SIGKILL" in failure(spec)


@pytest.mark.slow
def test_a_program_that_went_away_is_a_failure(tmp_path: Path) -> None:
    program = tmp_path / "router"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    router = parse_router(f"command:{program}", environment={})
    program.unlink()
    answer = run(router.ask("?", LONG_S))
    assert answer.failure == "failed"
    assert answer.detail == "router cannot be run: No such file or directory"


@pytest.mark.slow
def test_time_ends_the_program_and_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = 'trap "" TERM; sleep 999 & echo $$ $! > "$0"; echo half; echo still thinking >&2; wait; sleep 999'
    began = time.monotonic()
    answer = ask("command:" + shlex.join(["sh", "-c", script, str(pids)]), timeout_s=2.0)
    took_s = time.monotonic() - began
    assert (answer.text, answer.failure) == (None, "timeout")
    assert answer.detail == "no whole answer within 2 s; it said: still thinking"
    assert took_s >= 2.0
    for pid in pids.read_text().split():
        gone(int(pid))


@pytest.mark.slow
def test_an_endless_drip_ends_in_time(tmp_path: Path) -> None:
    spec = python(tmp_path, "import time\nwhile True: print('.', flush=True); time.sleep(0.01)")
    assert ask(spec, timeout_s=0.5).failure == "timeout"


@pytest.mark.slow
def test_an_endless_flood_ends_at_the_limit() -> None:
    assert failure("command:yes") == f"yes wrote more than {ANSWER_BYTES_MAX:,} bytes and was ended"


@pytest.mark.slow
def test_an_endless_flood_of_errors_fills_nothing(tmp_path: Path) -> None:
    spec = python(tmp_path, "import sys\nfor n in range(200_000): print('oops', n, file=sys.stderr)\nprint('done')")
    assert ask(spec).text == "done\n"


@pytest.mark.slow
def test_what_is_left_behind_is_neither_waited_for_nor_left(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    spec = python(
        tmp_path,
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(999)"])
        open(sys.argv[1], "w").write(str(child.pid))
        print("the answer")
        """,
        str(pids),
    )
    assert ask(spec).text == "the answer\n"
    gone(int(pids.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("chatter", ["time.sleep(0.01)", "print('more', flush=True); time.sleep(0.01)"])
def test_a_daemon_that_holds_the_output_is_not_waited_for_and_ended(tmp_path: Path, chatter: str) -> None:
    pids = tmp_path / "pids"
    spec = python(
        tmp_path,
        f"""
        import os, sys, time
        print("the answer", flush=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open(sys.argv[1], "w").write(str(os.getpid()))
                while True: {chatter}
            os._exit(0)
        os.wait()
        while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
        """,
        str(pids),
    )
    answer = ask(spec)
    assert answer.text is not None
    assert answer.text.startswith("the answer\n")
    gone(int(pids.read_text()))


@pytest.mark.slow
def test_cancelling_ends_the_program(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    spec = python(
        tmp_path,
        "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(999)",
        str(pids),
    )

    async def begin_and_cancel() -> None:
        asking = asyncio.create_task(parse_router(spec, environment={}).ask("?", LONG_S))
        await written(pids, asking)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(begin_and_cancel())
    gone(int(pids.read_text()))


@pytest.mark.slow
def test_no_secret_of_environment_or_arguments_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW_API_KEY", "mk-0123456789")
    monkeypatch.setenv("MEADOW_KEYBOARD", "qwertzuiop")
    code = """
        import os, sys
        print(os.environ["MEADOW_API_KEY"].upper(), os.environ["MEADOW_KEYBOARD"], sys.argv[2:])
        sys.exit(f"denied: {os.environ['MEADOW_API_KEY']} {sys.argv}" if sys.argv[1] == "fail" else 0)
        """
    arguments = [
        "--token", "secret-1", "--api-key=secret-2", "-H", "Authorization: Bearer secret-3",
        "--header=X-Api-Key: secret-4", "https://user:secret-5@host/v1?a=b&sig_key=secret-6&c=d", "--password",
        "secret-7 of words", "-c", "curl -H 'x-token: secret-8' --secret secret-9", "--model=m1", "--max-tokens=100",
    ]  # fmt: skip
    answer = ask(python(tmp_path, code, "answer", *arguments))
    assert answer.text is not None
    assert answer.text.startswith("[redacted] qwertzuiop [")
    assert "'--model=m1', '--max-tokens=100'" in answer.text
    reported = failure(python(tmp_path, code, "fail", *arguments))
    assert "[redacted]" in reported
    for secret in ("mk-0123456789", "MK-0123456789", "secret-"):
        assert secret not in answer.text + reported


def test_it_is_named_by_its_program_alone() -> None:
    assert parse_router("command:/bin/sh -c 'secret --token=abcdef'", environment={}).name == "command:sh"
    assert parse_router("command:sh", environment={}, name="the IDE", model="auto").name == "the IDE"
