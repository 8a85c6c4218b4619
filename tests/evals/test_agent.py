"""A command as an agent: what it is given, what of it is an answer, and what becomes of one that does otherwise."""

import asyncio
import os
import shlex
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.evaluation import Component, Finding
from events.limits import ANSWER_BYTES_MAX
from instruments.evals import Description, Expectations, Scenario
from instruments.evals.agent import SAID_CHARS_MAX, Agent, Reply, question, read
from instruments.evals.analysis import Analysis, Decision, RootCause
from instruments.evals.scenario import Expected, FailureMode
from instruments.routers.process import BadCommand
from tests.loop import run

LONG_S = 60.0

INVESTIGATION: dict[str, Any] = {
    "alert": {"labels": {"alertname": "KubeJobFailed", "severity": "warning"}, "fingerprint": "8f2c"},
    "time_window": {"start": "2026-11-01T10:00:00Z", "end": "2026-11-01T11:00:00Z"},
    "target": {"namespace": "batch", "pod": "etl-7d9"},
    "evidence": {"events": [{"reason": "Failed", "message": "pull access denied"}], "ratio": 0.25, "big": 10**30},
}
ANSWER = {"rca": {"root_cause": "The registry denies the pull.", "remediation": ["Fix the pull secret."]}}


def scenario(test_config: dict[str, Any] | None = None) -> Scenario:
    """A scenario whose every secret is a word of its own."""
    description = Description(
        name="hush-name",
        family="hush-family",
        failure_type="HushFailureType",
        description="hush-description",
        captured_by="hush-person",
        expected_outcomes=Expectations(
            root_cause=Expected(patterns=("hush-pattern",), match_type="substring"),
            failure_mode=FailureMode(exact="HushMode"),
        ),
        test_config=test_config or {},
    )
    return Scenario(
        id="hush-id",
        title="hush-id/hush-mode",
        folder=Path("/hush-folder/hush-id"),
        mode="hush-mode",
        about=description,
        investigation=INVESTIGATION,
        captured={"rca": {"root_cause": "hush-captured"}},
        fixture_digest="a" * 64,
        expectation_digest="b" * 64,
        investigation_digest="c" * 64,
    )


def python(folder: Path, code: str, *arguments: object) -> str:
    """The command line of a Python program."""
    program = folder / "agent.py"
    program.write_text(dedent(code))
    return shlex.join([sys.executable, str(program), *map(str, arguments)])


def ask(
    line: str,
    timeout_s: float = LONG_S,
    enable_llm: bool | None = None,
    test_config: dict[str, Any] | None = None,
) -> Reply:
    return run(Agent(line, timeout_s=timeout_s, enable_llm=enable_llm).ask(scenario(test_config)))


def written(path: Path) -> None:
    """Wait until a file says something."""
    while not path.exists() or not path.read_text():
        time.sleep(0.01)


def gone(pid: Path) -> None:
    """Wait until the process that a file names is no more."""
    while Path(f"/proc/{pid.read_text()}").exists():
        time.sleep(0.01)


def says(folder: Path, text: str | bytes) -> Reply:
    """What becomes of a text on standard output."""
    data = text.encode() if isinstance(text, str) else text
    (folder / "out").write_bytes(data)
    return ask(shlex.join(["cat", str(folder / "out")]))


def unreadable(folder: Path, text: str | bytes) -> str:
    """What is said of an answer that is none."""
    reply = says(folder, text)
    assert (reply.analysis, reply.text, reply.failure) == (None, None, "unreadable")
    assert reply.detail is not None
    return reply.detail


def test_what_it_is_given(tmp_path: Path) -> None:
    line = python(
        tmp_path, "import shutil, sys; shutil.copyfileobj(sys.stdin, open(sys.argv[1], 'w'))", tmp_path / "in"
    )
    settings = {"enable_llm": False, "time_window": "1h"}
    assert ask(line, test_config=settings).failure is None
    given = msgspec.json.decode((tmp_path / "in").read_bytes())
    assert given == {**INVESTIGATION, "analysis": {}, "test_config": settings}
    assert ask(line, test_config=settings, enable_llm=True).failure is None
    assert msgspec.json.decode((tmp_path / "in").read_bytes())["test_config"] == {**settings, "enable_llm": True}
    assert ask(line, enable_llm=False).failure is None
    assert msgspec.json.decode((tmp_path / "in").read_bytes())["test_config"] == {"enable_llm": False}


def test_nothing_of_the_scenario_reaches_it_but_the_investigation(tmp_path: Path) -> None:
    code = """
        import os, pathlib, sys
        told = [sys.stdin.read(), repr(sys.argv), repr(dict(os.environ)), os.getcwd()]
        told += [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) > 2
                 and os.path.exists(f"/proc/self/fd/{name}")]
        pathlib.Path(sys.argv[1]).write_text(chr(10).join(told))
        """
    assert ask(python(tmp_path, code, tmp_path / "told")).failure is None
    told = (tmp_path / "told").read_text()
    assert "pull access denied" in told
    assert "hush" not in told.lower()


def test_an_answer_that_was_captured_never_comes_back(tmp_path: Path) -> None:
    reply = ask("cat")
    assert reply.analysis == Analysis()
    assert reply.text == "{}"


def test_it_is_told_that_live_systems_are_out_of_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW", "as it was")
    monkeypatch.setenv("TALLYSTICK_REPLAY", "0")
    code = """
        import json, os
        print(json.dumps({"rca": {"root_cause": f"{os.environ['TALLYSTICK_REPLAY']} {os.environ['MEADOW']}"}}))
        """
    reply = ask(python(tmp_path, code))
    assert reply.analysis == Analysis(rca=RootCause(root_cause="1 as it was"))
    assert os.environ["TALLYSTICK_REPLAY"] == "0"


@pytest.mark.parametrize(
    "answer",
    [ANSWER, {"analysis": ANSWER}, {**INVESTIGATION, "analysis": ANSWER}, {**ANSWER, "confidence": [1, None]}],
    ids=["bare", "under analysis", "the investigation with it", "with more"],
)
def test_an_answer(tmp_path: Path, answer: dict[str, Any]) -> None:
    reply = says(tmp_path, msgspec.json.encode(answer))
    cause = RootCause(root_cause="The registry denies the pull.", remediation=("Fix the pull secret.",))
    assert reply.analysis == Analysis(rca=cause)
    assert reply.text is not None
    assert msgspec.json.decode(reply.text) == answer.get("analysis", answer)
    assert (reply.failure, reply.detail, reply.said) == (None, None, None)
    assert reply.elapsed_ns is not None
    assert reply.elapsed_ns > 0


@pytest.mark.parametrize("text", ["", " \r\n\t\n"])
def test_nothing_is_an_answer_that_says_nothing(tmp_path: Path, text: str) -> None:
    reply = says(tmp_path, text)
    assert (reply.analysis, reply.text, reply.failure) == (Analysis(), None, None)


@pytest.mark.parametrize("text", ["{}", '{"analysis": {}}', '{"analysis": null}', '\ufeff {"rca": null}\n'])
def test_an_empty_object_says_nothing_too(tmp_path: Path, text: str) -> None:
    assert says(tmp_path, text).analysis == Analysis()


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("I think it is the registry.", "what it wrote is not one JSON object: invalid character (byte 0)."),
        ('{"rca": {}} {"rca": {}}', "what it wrote is not one JSON object: trailing characters (byte 13)."),
        ('{"rca": {}}\nDone.', "what it wrote is not one JSON object: trailing characters (byte 13)."),
        ('{"rca": ', "what it wrote is not one JSON object: input data was truncated."),
        ('{"rca": NaN}', "what it wrote is not one JSON object: invalid character (byte 8)."),
        ('[{"rca": {}}]', "what it wrote is a list, not one JSON object."),
        ('"text"', "what it wrote is a text, not one JSON object."),
        ("null", "what it wrote is null, not one JSON object."),
        ('{"analysis": "text"}', "analysis is a text, not an object."),
        ('{"analysis": []}', "analysis is a list, not an object."),
        ('{"rca": "text"}', "rca: expected `object | null`, got `str`."),
        ('{"rca": {"root_cause": 1}}', "rca.root_cause: expected `str | null`, got `int`."),
        ('{"rca": {"remediation": "x"}}', "rca.remediation: expected `array | null`, got `str`."),
        ('{"hypotheses": [{"why": [1]}]}', "hypotheses[0].why[0]: expected `str`, got `int`."),
        ('{"analysis": {"decision": {"why": {}}}}', "decision.why: expected `array | null`, got `object`."),
        (
            '{"hypotheses": [{"confidence_0_100": "90"}]}',
            "hypotheses[0].confidence_0_100: expected `float | null`, got `str`.",
        ),
        ("[" * 100_000, "what it wrote is nested too deep."),
        ('{"a":' * 100_000, "what it wrote is nested too deep."),
    ],
)  # fmt: skip
def test_an_answer_that_is_none(tmp_path: Path, text: str, detail: str) -> None:
    assert unreadable(tmp_path, text) == detail


def test_what_it_wrote_instead_is_kept(tmp_path: Path) -> None:
    reply = says(tmp_path, "Thinking.\nIt is the registry, I think.\n")
    assert reply.said == "Thinking.\nIt is the registry, I think."


@given(text=st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(repr))
def test_whatever_a_text_is_it_is_read_or_refused(text: str) -> None:
    try:
        answered = read(text)
    except ValueError as error:
        refusal = str(error)
    else:
        assert isinstance(answered.analysis, Analysis)
        return
    assert refusal.endswith(".")


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    reply = says(tmp_path, b'{"rca": {"root_cause": "caf\xe9 \xf0\x9f"}}')
    assert reply.analysis == Analysis(rca=RootCause(root_cause="caf\ufffd \ufffd"))


def test_a_crash_is_told_with_its_last_lines(tmp_path: Path) -> None:
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
    assert SAID_CHARS_MAX // 2 < len(reply.said) <= SAID_CHARS_MAX


def test_a_crash_that_says_nothing_on_stderr_is_told_by_what_it_printed(tmp_path: Path) -> None:
    reply = ask(python(tmp_path, "import os; print('half an ans', flush=True); os.kill(os.getpid(), 11)"))
    assert reply.detail == f"{Path(sys.executable).name} was ended by SIGSEGV"
    assert reply.said == "half an ans"


def test_one_long_line_is_cut_at_its_beginning(tmp_path: Path) -> None:
    reply = ask(python(tmp_path, "import sys; sys.exit('x' * 9000 + 'the end')"))
    assert reply.said is not None
    assert reply.said.endswith("xxxthe end")
    assert len(reply.said) == SAID_CHARS_MAX


def test_a_hang_ends_in_time(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = """
        import os, pathlib, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
        print("still thinking", file=sys.stderr, flush=True)
        time.sleep(999)
        """
    reply = ask(python(tmp_path, code, pid), timeout_s=2.0)
    assert (reply.failure, reply.said) == ("timeout", "still thinking")
    assert reply.detail == f"{Path(sys.executable).name} gave no whole answer within 2 s"
    assert reply.elapsed_ns is not None
    assert reply.elapsed_ns >= 2e9
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
        await asyncio.to_thread(written, pid)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(begin_and_cancel())
    gone(pid)


def test_secrets_are_scored_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW_API_KEY", 'mk-"0123456789')
    monkeypatch.setenv("MEADOW_PIN_TOKEN", "12345678")
    code = """
        import json, os, sys
        key, token = os.environ["MEADOW_API_KEY"], sys.argv[2]
        if sys.argv[3] == "answer":
            print(json.dumps({"rca": {"root_cause": f"the key {key} expired", "remediation": [token], key: 12345678}}))
        elif sys.argv[3] == "babble":
            print(f'{{"rca": {{"root_cause": 1}}, "{token}": "{token}"')
        else:
            sys.exit(f"denied: {key} {token}")
        """
    line = python(tmp_path, code, "--token", "tok-987654")
    reply = ask(f"{line} answer")
    assert reply.analysis is not None
    assert reply.analysis.rca == RootCause(root_cause='the key mk-"0123456789 expired', remediation=("tok-987654",))
    assert reply.text is not None
    assert msgspec.json.decode(reply.text) == {
        "rca": {"root_cause": "the key [redacted] expired", "remediation": ["[redacted]"], "[redacted]": "[redacted]"}
    }
    for reply in (ask(f"{line} babble"), ask(f"{line} fail")):
        assert reply.said is not None
        assert "[redacted]" in reply.said
        for secret in ("0123456789", "tok-987654", "12345678"):
            assert secret not in f"{reply.said} {reply.detail}"


def test_what_a_score_quotes_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW_API_KEY", "mk-0123456789")
    missed = Finding(expectation="root_cause.patterns[0]", pattern="key .*", match_type="regex", matched=False)
    found = msgspec.structs.replace(missed, matched=True, where="rca.root_cause", text="key mk-0123456789")
    component = Component(name="root_cause", applicable=True, score=100.0, findings=(found, missed))
    (hidden,) = Agent("cat", timeout_s=LONG_S).hide([component])
    assert [finding.text for finding in hidden.findings] == ["key [redacted]", None]
    assert (hidden.score, hidden.findings[1]) == (100.0, missed)


def test_it_is_named_by_its_program_alone(tmp_path: Path) -> None:
    assert Agent("/bin/sh -c 'exec cat' --token=abcdef", timeout_s=1).name == "command:sh"


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("", "names no program."),
        ("'' x", "names no program."),
        ("python 'x", "cannot be split into words: no closing quotation."),
        ("no-such-program-here --token=abcdef", "'no-such-program-here' is no program that can be run here."),
        ("cat \0", "has a NUL character, which no program can be given."),
    ],
)
def test_a_command_that_is_none(line: str, detail: str) -> None:
    with pytest.raises(BadCommand) as refused:
        Agent(line, timeout_s=1)
    assert refused.value.detail == detail


def test_an_investigation_cannot_set_what_is_ours() -> None:
    sly = msgspec.structs.replace(
        scenario(test_config={"enable_llm": False}),
        investigation={"test_config": {"enable_llm": True, "more": 1}, "analysis": {"rca": {"root_cause": "known"}}},
    )
    assert msgspec.json.decode(question(sly)) == {"analysis": {}, "test_config": {"enable_llm": False}}
