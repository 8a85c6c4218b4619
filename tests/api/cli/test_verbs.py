"""Every verb of the table: its help, its panel, its start; completion, and options with fixed choices."""

import inspect
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from api.cli import options
from api.cli.commands import (
    ASK,
    DISCOVER,
    EVALUATE,
    OPERATE,
    PROVE,
    RECORD,
    VERBS,
    eval_import,
    export,
    serve,
    token,
)
from api.cli.lazy_group import Verb
from api.http.connection_table import ConnectionLimits
from api.http.limits import DEFAULT_LIMITS, RequestLimits
from api.principal import SCOPES
from api.service.view_queries import QueryLimits
from events.decision import Stakes
from instruments.evals.benchmarks import Format
from tallystick.shapes.decisions import Outcome
from tests.api.cli.command import Ended, done, environment, refused, tally
from tests.api.cli.lines import decided
from tests.support.paths import ROOT


def named(verbs: tuple[Verb, ...] = VERBS, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Verb]]:
    """Every verb with the words that call it; groups are not among them."""
    for verb in verbs:
        words = (*path, verb.name)
        if verb.verbs:
            yield from named(tuple(verb.verbs), words)
        else:
            yield words, verb


EVERY = dict(named())


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_each_verb_has_a_summary_and_an_example(ledger: Path, words: tuple[str, ...]) -> None:
    module, _, name = EVERY[words].function.partition(":")
    function = getattr(import_module(f"api.cli.commands.{module}"), name)
    assert inspect.getdoc(function).splitlines()[0] == EVERY[words].summary  # type: ignore[union-attr]
    shown = done(ledger, *words, "--help").text
    assert EVERY[words].summary in " ".join(shown.split())
    assert "Example: " in shown
    assert f"tallystick {' '.join(words)}" in shown.replace("--ledger team.db ", "").replace("--ledger again.db ", "")
    assert ("--json" in shown) is (words not in {("serve",), ("mcp",), ("probe", "prompt")})
    assert "--ledger" in shown


def test_help_lists_the_verbs_in_panels(ledger: Path) -> None:
    panels = (RECORD, ASK, EVALUATE, DISCOVER, PROVE, OPERATE)
    shown = done(ledger, "--help").text
    places = [shown.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)
    assert {verb.panel for verb in VERBS} == set(panels)
    for panel, place, end in zip(panels, places, [*places[1:], len(shown)], strict=True):
        for verb in VERBS:
            assert (f"│ {verb.name} " in shown[place:end]) is (verb.panel == panel), (verb.name, panel)
    for group in (verb for verb in VERBS if verb.verbs):
        inner = done(ledger, group.name, "--help").text
        assert group.summary in inner
        assert all(f"│ {verb.name} " in inner and verb.summary in inner for verb in group.verbs)


def complete(ledger: Path, *words: str) -> list[str]:
    """What bash would be offered for the last word."""
    line = " ".join(("tallystick", *words))
    ended = tally(ledger, _TALLYSTICK_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    return ended.text.split()


def test_completion_offers_verbs_options_and_choices(ledger: Path) -> None:
    assert complete(ledger, "ca") == ["calibration"]
    assert complete(ledger, "eval", "c") == ["capture", "compare"]
    assert complete(ledger, "calibration", "--group-by", "c") == ["confidence_bucket", "category"]
    assert complete(ledger, "calibration", "--include", "trend,d") == ["trend,drift"]
    assert complete(ledger, "review", "x", "--outcome", "") == list(options.OUTCOMES)
    assert complete(ledger, "record", "x", "--reason", "ana") == ["analogy:", "analysis:"]
    assert complete(ledger, "record", "x", "--stak") == ["--stakes"]
    assert complete(ledger, "eval", "import", "o") == ["opsbench"]
    assert complete(ledger, "token", "add", "x", "--scope", "a") == ["append", "admin"]
    assert complete(ledger, "--led") == ["--ledger"]
    assert complete(ledger, "record", "x", "--stat") == ["--state"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_completion_in_bash(tmp_path: Path) -> None:
    """The script that --install-completion writes, in a home folder of its own."""
    program = tmp_path / "bin" / "tallystick"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tallystick "$@"\n')
    program.chmod(0o755)
    variables = environment(HOME=str(tmp_path), PATH=f"{program.parent}:/usr/bin:/bin", PYTHONPATH=str(ROOT))
    script = """
    tallystick --install-completion && tallystick --show-completion >shown.sh && . shown.sh
    COMP_WORDS=(tallystick decisions --status p) COMP_CWORD=3
    _tallystick_completion tallystick && echo "${COMPREPLY[@]}"
    """
    ended = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "bash completion installed in" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "pending"
    assert list(tmp_path.glob(".bash_completions/*"))


def server_options() -> RequestLimits:
    """The limits that the verb sets by default."""
    parameters = inspect.signature(serve.serve).parameters
    default = {name: parameter.default for name, parameter in parameters.items()}
    return RequestLimits(
        ConnectionLimits(default["connections"], default["connections_per_client"]),
        default["connections_per_token"],
        default["feeds"],
        default["feeds_per_token"],
        default["bodies_mib"] << 20,
        default["bodies_mib_per_token"] << 20,
        QueryLimits(default["queries"], default["query_seconds"]),
        default["refusals"],
    )


def test_the_choices_are_those_of_the_program() -> None:
    """They are written down beside the options, so that help and completion load nothing."""
    assert get_args(Outcome) == options.OUTCOMES
    assert get_args(Stakes) == options.STAKES
    assert get_args(Format) == eval_import.FORMATS
    assert export.FORMATS == ("ndjson", "csv", "parquet")
    assert token.SCOPES == SCOPES
    assert server_options() == DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (("decisions", "--status", "x"), "pending, reviewed, retracted"),
        (("decisions", "--outcome", "x"), "success, partial, failure, abandoned"),
        (("decisions", "--order", "x"), "asc, desc"),
        (("decisions", "--sort", "x"), "created_at, confidence, category, stakes, status"),
        (("log", "--order", "x"), "asc, desc"),
        (("calibration", "--window", "7d"), "30d, 60d, 90d, all"),
        (("calibration", "--include", "trend,x"), "trend, drift, comparison, reviews_by_age, plots"),
        (("export", "--output", "x", "--format", "xml"), "ndjson, csv, parquet"),
        (("run", "list", "--window", "x"), "30d, 60d, 90d, all"),
        (("serve", "--log-level", "loud"), "debug, info, warning, error"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_choice_names_the_right_ones(ledger: Path, words: tuple[str, ...], allowed: str) -> None:
    said = refused(ledger, *words)
    assert said.startswith(f"error: {words[-2]}: ")
    assert f"is not one of the choices.\nChoose one of {allowed}.\n" in said


def test_values_that_were_accepted_before_still_are(ledger: Path) -> None:
    done(ledger, "append", given=decided("a"))
    done(ledger, "calibration", "--group-by", "confidenceBucket")
    done(ledger, "decisions", "--status", "", "--outcome", "")


LOADED = """
import sys
from api.cli.main import main
sys.argv = ["tallystick", *sys.argv[1:]]
try:
    main()
except SystemExit as error:
    print(error.code, sorted({"starlette", "uvicorn", "numpy", "httpx"} & sys.modules.keys()))
"""


def loaded(*words: str | Path) -> Ended:
    """Run a command in a process of its own. Its last line tells the exit code, and which large modules it loaded."""
    command = [sys.executable, "-c", LOADED, *map(str, words)]
    ended = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("decision", "nope"), ("log", "--limit", "x"), ("record", "x", "--reason", "x"), ("review", "x", "--outcome", "x"),
     ("record", "x", "--url", "http://127.0.0.1:1"), ("eval", "run", "nowhere"), ("import", "runs", "nowhere"),
     ("verify", "nowhere"), ("evidence", "get", "x"), ("checkpoint", "--url", "nowhere")],
    ids=" ".join,
)  # fmt: skip
def test_only_serve_loads_a_web_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = loaded(*words, "--ledger", tmp_path / "t.db")
    code, _, modules = ended.text.splitlines()[-1].partition(" ")
    assert code in {"1", "2"}, ended.err
    assert ended.err.startswith("error: ")
    assert "starlette" not in modules
    assert "uvicorn" not in modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("--help",), ("eval", "--help"), ("calibration", "--help"), ("bogus",)], ids=" ".join
)
def test_help_loads_no_large_module(words: tuple[str, ...]) -> None:
    assert loaded(*words).text.splitlines()[-1] in {"0 []", "2 []"}
