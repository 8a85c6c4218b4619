"""Nothing that a Go program tries gets out of the sandbox, neither when it is compiled nor when it runs."""

import os
import shutil
import socket
from pathlib import Path

import msgspec
import pytest

from instruments.sandbox import process
from instruments.sandbox.go_build import build_go, run_go
from instruments.sandbox.process import SandboxUnavailable
from tests.instruments.sandbox.go_escapes import CALL, COMPILING, RUNNING

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")]

MAIN = """\
package main

import (
	"answer"
	"encoding/json"
	"os"
)

func main() {
	_, text, _ := answer.Call([]int{1, -2}, "b", true)
	data, _ := json.Marshal(text)
	os.NewFile(3, "results").Write(append(data, '\\n'))
}
"""
EXPORT = "package answer\n\nfunc Call(a []int, b string, c bool) (int, string, error) { return d(a, b, c) }\n"


def answer_of(source: str) -> list[object]:
    """What a program answers; `out` is an escape. Nothing, if it does not compile or ends early."""
    try:
        program = build_go({"answer.go": f"package answer\n{source}\n{CALL}", "call.go": EXPORT}, MAIN)
        lines = b"" if program is None else run_go(program, []).data
    except SandboxUnavailable as error:
        pytest.skip(f"there is no sandbox here: {error}")
    return [msgspec.json.decode(line) for line in lines.splitlines()]


@pytest.mark.parametrize("name", [*RUNNING, *COMPILING])
def test_nothing_escapes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "SECRET")
    monkeypatch.setattr(process, "WALL_S", 60.0)
    canary = tmp_path / "canary.py"
    canary.write_text("SECRET")
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        port.setblocking(False)
        os.set_inheritable(port.fileno(), True)
        source = {**RUNNING, **COMPILING}[name]
        for word, place in (("CANARY", canary), ("PORT", port.getsockname()[1])):
            source = source.replace(f'"{word}"', f'"{place}"').replace(word, str(place))
        assert "out" not in answer_of(source)
        with pytest.raises(BlockingIOError):
            port.accept()
    assert canary.read_text() == "SECRET"
    assert [path.name for path in tmp_path.iterdir()] == ["canary.py"]


def test_an_honest_program_answers() -> None:
    assert answer_of("func attempt() bool { return true }") == ["out"]
    assert answer_of("func attempt() bool { return false }") == ["in"]
