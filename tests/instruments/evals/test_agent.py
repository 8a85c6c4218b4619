"""A command as an agent: what it is given, what of it is an answer, and what of that is kept."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InvalidQuery
from events.evaluation import Component, PatternFinding
from instruments.evals.agent import Agent, build_question, parse_output
from instruments.evals.analysis import Analysis, RootCause
from tests.instruments.evals.asking import (
    ANSWER,
    INVESTIGATION,
    LONG_S,
    ask,
    python,
    says,
    scenario,
    unreadable,
)


@pytest.mark.slow
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


@pytest.mark.slow
def test_nothing_of_the_scenario_reaches_it_but_the_investigation(tmp_path: Path) -> None:
    code = """
        import os, pathlib, sys
        told = [sys.stdin.read(), repr(sys.argv), repr(dict(os.environ)), os.getcwd()]
        told += [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) > 2
                 and os.path.exists(f"/proc/self/fd/{name}")]
        pathlib.Path(sys.argv[1]).write_text(chr(10).join(told))
        """
    assert ask(python(tmp_path, code, tmp_path / "told")).failure is None
    reported = (tmp_path / "told").read_text()
    assert "pull access denied" in reported
    assert "hush" not in reported.lower()


@pytest.mark.slow
def test_an_answer_that_was_captured_never_comes_back(tmp_path: Path) -> None:
    reply = ask("cat")
    assert reply.analysis == Analysis()
    assert reply.text == "{}"


@pytest.mark.slow
def test_it_is_reported_that_live_systems_are_out_of_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW", "as it was")
    monkeypatch.setenv("TALLYSTICK_REPLAY", "0")
    code = """
        import json, os
        print(json.dumps({"rca": {"root_cause": f"{os.environ['TALLYSTICK_REPLAY']} {os.environ['MEADOW']}"}}))
        """
    reply = ask(python(tmp_path, code))
    assert reply.analysis == Analysis(rca=RootCause(root_cause="1 as it was"))
    assert os.environ["TALLYSTICK_REPLAY"] == "0"


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " \r\n\t\n"])
def test_nothing_is_an_answer_that_says_nothing(tmp_path: Path, text: str) -> None:
    reply = says(tmp_path, text)
    assert (reply.analysis, reply.text, reply.failure) == (Analysis(), None, None)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{}", '{"analysis": {}}', '{"analysis": null}', '\ufeff {"rca": null}\n'])
def test_an_empty_object_says_nothing_too(tmp_path: Path, text: str) -> None:
    assert says(tmp_path, text).analysis == Analysis()


@pytest.mark.slow
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
        ('{"rca": "text"}', "rca: expected `object | null`, got `string`."),
        ('{"rca": {"root_cause": 1}}', "rca.root_cause: expected `string | null`, got `number`."),
        ('{"rca": {"remediation": "x"}}', "rca.remediation: expected `array | null`, got `string`."),
        ('{"hypotheses": [{"why": [1]}]}', "hypotheses[0].why[0]: expected `string`, got `number`."),
        ('{"analysis": {"decision": {"why": {}}}}', "decision.why: expected `array | null`, got `object`."),
        (
            '{"hypotheses": [{"confidence_0_100": "90"}]}',
            "hypotheses[0].confidence_0_100: expected `number | null`, got `string`.",
        ),
        ("[" * 100_000, "what it wrote is nested too deep."),
        ('{"a":' * 100_000, "what it wrote is nested too deep."),
    ],
)  # fmt: skip
def test_an_answer_that_is_none(tmp_path: Path, text: str, detail: str) -> None:
    assert unreadable(tmp_path, text) == detail


@pytest.mark.slow
def test_what_it_wrote_instead_is_kept(tmp_path: Path) -> None:
    reply = says(tmp_path, "Thinking.\nIt is the registry, I think.\n")
    assert reply.said == "Thinking.\nIt is the registry, I think."


@given(text=st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(repr))
def test_whatever_a_text_is_it_is_read_or_refused(text: str) -> None:
    try:
        answered = parse_output(text)
    except ValueError as error:
        refusal = str(error)
    else:
        assert isinstance(answered.analysis, Analysis)
        return
    assert refusal.endswith(".")


@pytest.mark.slow
def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    reply = says(tmp_path, b'{"rca": {"root_cause": "caf\xe9 \xf0\x9f"}}')
    assert reply.analysis == Analysis(rca=RootCause(root_cause="caf\ufffd \ufffd"))


@pytest.mark.slow
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
    missed = PatternFinding(expectation="root_cause.patterns[0]", pattern="key .*", match_type="regex", matched=False)
    found = msgspec.structs.replace(missed, matched=True, where="rca.root_cause", text="key mk-0123456789")
    component = Component(name="root_cause", applicable=True, score=100.0, findings=(found, missed))
    (hidden,) = Agent("cat", timeout_s=LONG_S).hide([component])
    assert [finding.text for finding in hidden.findings] == ["key [redacted]", None]
    assert (hidden.score, hidden.findings[1]) == (100.0, missed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the key MK-01234567", "the key [redacted]"),
        ("23456789 expired", "[redacted] expired"),
        ("234567", "[redacted]"),
        ("456789 and mk-012", "[redacted] and [redacted]"),
        ("MK and 789", "MK and 789"),
    ],
)
def test_a_quotation_that_is_cut_within_a_secret_has_no_part_of_it(
    text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEADOW_API_KEY", "mk-0123456789")
    found = PatternFinding(expectation="x.patterns[0]", pattern="key .*", match_type="regex", matched=True, text=text)
    component = Component(name="root_cause", applicable=True, score=100.0, findings=(found,))
    (hidden,) = Agent("cat", timeout_s=LONG_S).hide([component])
    assert hidden.findings[0].text == shown


def test_it_is_named_by_its_program_alone(tmp_path: Path) -> None:
    assert Agent("/bin/sh -c 'exec cat' --token=abcdef", timeout_s=1).name == "command:sh"


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("", "names no program."),
        ("'' x", "names no program."),
        ("python 'x", "cannot be split into words: no closing quotation."),
        ("no-such-program-here --token=abcdef", "'no-such-program-here' cannot be found or run here."),
        ("cat \0", "has a NUL character, which no program accepts as an argument."),
    ],
)
def test_a_command_that_is_none(line: str, detail: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        Agent(line, timeout_s=1)
    assert refused.value.cause == detail


def test_an_investigation_cannot_set_what_is_ours() -> None:
    sly = msgspec.structs.replace(
        scenario(test_config={"enable_llm": False}),
        investigation={"test_config": {"enable_llm": True, "more": 1}, "analysis": {"rca": {"root_cause": "known"}}},
    )
    assert msgspec.json.decode(build_question(sly)) == {"analysis": {}, "test_config": {"enable_llm": False}}
