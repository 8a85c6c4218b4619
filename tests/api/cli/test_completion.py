"""Completion of the command line, by the shells themselves: bash, and zsh and fish where they are installed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from api.cli.commands import VERBS
from tests.api.cli.command import environment
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tallystick_completion tallystick
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does when Tab is pressed at the end of a line."""

ZSH = """
compdef() { :; }
_arguments() { print -r -- "$1"; }
source "$1"
shift
words=("$@")
CURRENT=$#
_tallystick_completion
"""
"""What zsh does, except that its own function for the menu is replaced by one that prints what it is given."""

FISH = 'source $argv[1]; complete -C (string join " " -- $argv[2..])'

LOADED = """
import sys
from api.cli.main import main
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""

CASES = [
    (["ev"], {"evidence", "eval"}, {"serve"}),
    (["eval", "run", "--agent-n"], {"--agent-name"}, {"--agent"}),
    (["--ledger", "x.db", "serve", "--ho"], {"--host"}, {"--port"}),
    (["--durability", "lo"], {"local"}, {"quorum"}),
    (["--version", "stat"], {"status"}, {"serve"}),
]  # fmt: skip
"""Words that are typed, what is then offered, and what is not."""


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a shell that finds the command."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "tallystick"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tallystick "$@"\n')
    program.chmod(0o755)
    return environment(PATH=f"{folder}:{os.environ['PATH']}", HOME=str(folder))


def shell(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    return program


def output(words: Sequence[str | Path], variables: dict[str, str], folder: Path) -> str:
    ended = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


def offered(name: str, typed: list[str], variables: dict[str, str], folder: Path) -> str:
    """What a shell offers after some words."""
    program = shell(name)
    script = Path(variables["HOME"]) / f"completion.{name}"
    if not script.exists():
        script.write_text(output(["tallystick"], variables | {"_TALLYSTICK_COMPLETE": f"source_{name}"}, folder))
    start = {"bash": ["--norc", "-c", BASH, "-"], "zsh": ["-f", "-c", ZSH, "-"], "fish": ["--no-config", "-c", FISH]}
    return output([program, *start[name], script, "tallystick", *typed], variables, folder)


@pytest.mark.parametrize(
    ("name", "typed", "there", "absent"),
    [("bash", *case) for case in CASES] + [(name, *case) for name in ("zsh", "fish") for case in CASES[:2]],
)
def test_a_shell_offers_verbs_options_and_values(
    name: str, typed: list[str], there: set[str], absent: set[str], variables: dict[str, str], tmp_path: Path
) -> None:
    text = offered(name, typed, variables, tmp_path)
    found = set(text.split("\n" if name == "bash" else None)) if name != "zsh" else set(text.split('"'))
    assert there <= found, text
    assert not absent & found, text


def test_every_verb_is_offered(variables: dict[str, str], tmp_path: Path) -> None:
    assert set(offered("bash", [""], variables, tmp_path).split()) == {verb.name for verb in VERBS}


def test_the_script_is_printed_for_the_shell_that_asks(variables: dict[str, str], tmp_path: Path) -> None:
    """It finds the shell by the process above it."""
    shown = output([shell("bash"), "--norc", "-c", "tallystick --show-completion; true"], variables, tmp_path)
    assert "complete -o default -F _tallystick_completion tallystick" in shown


def test_it_is_installed_for_the_shell_that_asks_and_works(variables: dict[str, str], tmp_path: Path) -> None:
    home = variables | {"HOME": str(tmp_path)}
    output([shell("bash"), "--norc", "-c", "tallystick --install-completion; true"], home, tmp_path)
    typed = "COMP_WORDS=(tallystick ev); COMP_CWORD=1; _tallystick_completion tallystick; echo ${COMPREPLY[@]}"
    assert output([shell("bash"), "--norc", "-c", f"source ~/.bashrc; {typed}"], home, tmp_path) == "evidence eval\n"


@pytest.mark.parametrize("typed", ["ev", "serve --", "eval run --", "decisions --"])
def test_little_is_loaded_to_complete(typed: str) -> None:
    """Each Tab starts a process: no use case but the parameters that are options, and none of pydantic."""
    words = f"tallystick {typed}"
    typed_words = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    ended = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True,
        env=environment(_TALLYSTICK_COMPLETE="complete_bash", **typed_words),
    )  # fmt: skip
    assert ended.stdout.strip()
    loaded = set(ended.stderr.splitlines())
    assert not loaded & {"pydantic", "rich", "numpy", "httpx", "cryptography", "starlette", "api.service.ledger"}
