"""The error that an agent states: a limit or an outage of its endpoint, and when to ask again."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from instruments.evals.agent import AgentOutput
from instruments.evals.agent_error import StatedPause, parse_pause
from tests.instruments.evals.asking import ask, python

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).name
CODE = """
    import sys
    print(sys.argv[1])
    sys.exit(int(sys.argv[2]))
    """


def stating(folder: Path, answer: object, code: int = 75) -> AgentOutput:
    """Ask an agent that prints an answer and ends with a code."""
    return ask(python(folder, CODE, answer if isinstance(answer, str) else json.dumps(answer), code))


def error(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"error": fields}


def test_a_rate_limit_with_the_time_to_wait(tmp_path: Path) -> None:
    stated = error(kind="rate_limit", retry_after_s=12.5, endpoint="https://api.example.com/v1", message="Slow  down")
    output = stating(tmp_path, {**stated, "model": "m-1", "usage": {"cost_usd": 0.5}})
    assert (output.failure, output.analysis) == ("rate_limit", None)
    assert output.detail == (
        f"{PROGRAM}: its endpoint refused for its rate limit (retry after 12.5 s, api.example.com): Slow down"
    )
    assert output.error is not None
    assert (output.error.retry_after_s, output.error.endpoint) == (12.5, "api.example.com")
    assert (output.stated.model, output.stated.usage.cost_usd) == ("m-1", 0.5)
    assert parse_pause(output.detail) == StatedPause(12.5, "api.example.com")


@pytest.mark.parametrize("code", [1, 3, 75])
def test_any_code_but_0_can_state_it(tmp_path: Path, code: int) -> None:
    output = stating(tmp_path, error(kind="unavailable"), code)
    assert (output.failure, output.detail) == ("unavailable", f"{PROGRAM}: its endpoint was unavailable")
    assert parse_pause(output.detail) is None


@pytest.mark.parametrize("answer", ["", "no JSON", "[1]", {"error": "busy"}, error(kind="weather"), error()])
def test_code_75_alone_is_an_outage(tmp_path: Path, answer: object) -> None:
    assert stating(tmp_path, answer).failure == "unavailable"
    assert stating(tmp_path, answer, 1).failure == "crash"


def test_code_0_is_an_answer(tmp_path: Path) -> None:
    output = stating(tmp_path, {**error(kind="rate_limit"), "rca": {"root_cause": "x"}}, 0)
    assert (output.failure, output.error) == (None, None)


@pytest.mark.parametrize("wait", [-1, "30", True, None, [3]])
def test_a_wait_that_is_none_states_nothing(tmp_path: Path, wait: object) -> None:
    output = stating(tmp_path, error(kind="rate_limit", retry_after_s=wait, endpoint="no host", message=7))
    assert output.detail == f"{PROGRAM}: its endpoint refused for its rate limit"
    assert output.error is not None
    assert (output.error.retry_after_s, output.error.endpoint, output.error.message) == (None, None, None)


@pytest.mark.parametrize("wait", [1e12, 1e308, 10**400])
def test_an_enormous_wait_is_one_that_no_run_waits_for(tmp_path: Path, wait: float) -> None:
    pause = parse_pause(stating(tmp_path, error(kind="rate_limit", retry_after_s=wait)).detail)
    assert pause == StatedPause(1e9, None)


def test_the_wait_is_never_rounded_down(tmp_path: Path) -> None:
    for wait in (0.0001, 1 / 3, 3_599.9996, 86_400.5):
        pause = parse_pause(stating(tmp_path, error(kind="unavailable", retry_after_s=wait)).detail)
        assert pause is not None
        assert wait <= pause.seconds <= wait + 0.001


def test_secrets_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "sk-hush-hush-hush-1234567890")
    output = stating(tmp_path, error(kind="rate_limit", message="key sk-hush-hush-hush-1234567890 is used up"))
    assert output.detail is not None
    assert "hush" not in output.detail
