"""The runner of the gate and the parts: what is tried again, and what it says."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import __main__ as runner


class Pytest:
    """A pytest whose runs fail with these tests, in turn."""

    def __init__(self, report: Path, *failing: Sequence[str], code: int = 1) -> None:
        self.runs: list[Sequence[str]] = []
        self._report = report
        self._failing = list(failing)
        self._code = code

    def __call__(self, part: str, arguments: Sequence[str], report: Path) -> int:
        self.runs.append(arguments)
        failing = self._failing.pop(0)
        self._report.write_text(json.dumps(dict.fromkeys(failing, True)), encoding="utf-8")
        return self._code if failing else 0


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the runner works, instead of the project's."""
    monkeypatch.setattr(runner, "FAILED", tmp_path / "lastfailed")
    monkeypatch.setattr(runner, "RUNNING", tmp_path / "running")
    return tmp_path / "lastfailed"


def run(monkeypatch: pytest.MonkeyPatch, pretended: Pytest) -> int:
    monkeypatch.setattr(runner, "_pytest", pretended)
    return runner.main(["sockets"])


def test_what_passes_alone_is_printed_as_flaky_and_the_run_passes(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretended = Pytest(fake, ["a.py::one", "a.py::two"], [])
    assert run(monkeypatch, pretended) == 0
    assert pretended.runs[1] == ["-n", "0", "a.py::one", "a.py::two"]
    said = capsys.readouterr().out
    assert "FLAKY a.py::one: failed, then passed alone." in said
    assert "FLAKY a.py::two: failed, then passed alone." in said


def test_what_fails_twice_fails_the_run(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, Pytest(fake, ["a.py::one"], ["a.py::one"])) == 1


def test_too_many_flaky_tests_fail_the_run(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, Pytest(fake, [f"a.py::{number}" for number in range(4)], [])) == 1
    assert "4 are too many, of at most 3." in capsys.readouterr().out


def test_after_many_failures_or_an_interruption_nothing_is_tried_again(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = Pytest(fake, [f"a.py::{number}" for number in range(6)])
    interrupted = Pytest(fake, ["a.py::one"], code=2)
    assert (run(monkeypatch, many), run(monkeypatch, interrupted)) == (1, 1)
    assert (len(many.runs), len(interrupted.runs)) == (1, 1)


def test_a_run_without_a_test_fails_and_only_the_quarantine_may_be_empty(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_pytest", lambda *_: runner.NO_TESTS)
    assert (runner.main(["sockets"]), runner.main(["quarantine"])) == (1, 0)


def test_a_part_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["socket"]) == 2
    assert "socket is not a part. Parts: browser," in capsys.readouterr().err
