"""What holds of every refactoring, and of every text whatever."""

import keyword
import os
import random
import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruments.probes import Probe, ProbeScore
from instruments.probes.refactor.parser import LINES_MAX, OUTPUT_BYTES_MAX
from instruments.probes.refactor.scorer import REFACTOR_GO, REFACTOR_PYTHON
from tests.instruments.probes.candidates import (
    CLASS_PYTHON,
    NAMED_GO,
    SPLIT_GO,
    SPLIT_PYTHON,
    locals_of,
    plain,
    renamed,
)
from tests.support.paths import ROOT
from tests.support.scored_text import score_text

CANDIDATES = [
    (REFACTOR_GO, SPLIT_GO),
    (REFACTOR_GO, NAMED_GO),
    (REFACTOR_PYTHON, SPLIT_PYTHON),
    (REFACTOR_PYTHON, CLASS_PYTHON),
]
TEXTS = [
    *((probe, plain(text)) for probe, text in CANDIDATES),
    (REFACTOR_GO, REFACTOR_GO.stimulus),
    (REFACTOR_PYTHON, REFACTOR_PYTHON.stimulus),
]
RESERVED = {*keyword.kwlist, *keyword.softkwlist, "print", "exec", "range", "func", "var", "const", "struct", "map"}
RESERVED |= {"chan", "select", "switch", "defer", "go", "goto", "interface", "package", "default", "fallthrough", "nil"}
NAMES = st.from_regex(r"[a-z][a-zA-Z0-9_]{0,9}", fullmatch=True).filter(lambda name: name not in RESERVED)
TOKEN = re.compile(
    r'''(?P<apart>"""[\s\S]*?"""|//[^\n]*|\#[^\n]*|/\*[\s\S]*?\*/|[rRfF]?"(?:\\.|[^"\n])*"|'[^'\n]*')'''
    r"""|(?P<line>\n[ ]*|\n\t*)|(?P<word>\w+)|(?P<mark>:=|==|!=|<=|>=|\+\+|--|\+=|-=|&&|\|\||->|%=|[^\w\s])"""
)


@pytest.mark.parametrize(("probe", "text"), CANDIDATES)
@given(data=st.data())
def test_what_locals_are_called_changes_nothing_but_renames(probe: Probe, text: str, data: st.DataObject) -> None:
    old = locals_of(text)
    taken = set(re.findall(r"\w+", text))
    new = data.draw(
        st.lists(NAMES.filter(lambda name: name not in taken), min_size=len(old), max_size=len(old), unique=True)
    )
    before, after = (
        score_text(probe.scorer, plain(text)),
        score_text(probe.scorer, renamed(text, dict(zip(old, new, strict=True)))),
    )
    assert after.counts is not None
    assert before.counts is not None
    assert {**after.counts, "renames": 0} == {**before.counts, "renames": 0}
    assert after.apart == before.apart


@pytest.mark.parametrize(("probe", "text"), TEXTS)
@given(seed=st.integers(0, 2**32))
def test_whitespace_changes_nothing(probe: Probe, text: str, seed: int) -> None:
    spaced = respaced(text, random.Random(seed), python=probe.language == "python")
    assert score_text(probe.scorer, spaced) == score_text(probe.scorer, text)


def respaced(text: str, chance: random.Random, *, python: bool) -> str:
    """The same tokens on the same lines, with any space between them, any indentation and blank lines."""
    unit = chance.choice([" ", "  ", "\t", "      "])
    end = chance.choice(["\n", "\r\n"])
    parts: list[str] = []
    wordy = False
    for found in TOKEN.finditer(text):
        kind, token = found.lastgroup, found[0]
        if kind == "line":
            blank = "".join(chance.choice(["", " ", "\t "]) + end for _ in range(chance.choice([0, 0, 0, 1, 3])))
            indent = unit * ((len(token) - 1) // 4) if python else chance.choice(["", "\t", "   "])
            parts.append(chance.choice(["", "  ", "\t"]) + end + blank + indent)
            wordy = False
            continue
        gap = chance.choice(["", " ", "   ", "\t"])
        if parts and not parts[-1].endswith(("\n", " ", "\t", unit)) and (wordy or kind == "apart"):
            gap = gap or " "
        first = not parts or parts[-1].endswith(unit) or parts[-1].endswith("\n")
        parts += [token] if first else [gap, token]
        wordy = kind != "mark"
    return "".join(parts)


@pytest.mark.parametrize("probe", [REFACTOR_GO, REFACTOR_PYTHON])
@given(text=st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_score(probe: Probe, text: str) -> None:
    assert_sound(score_text(probe.scorer, text))


GO_PIECES = ["func d(a []int) int {", "}", "{", "if a {", "for", " := ", "//", "/*", "*/", "`", ";", "range", "type T"]
PYTHON_PIECES = [
    "def d(a):",
    "    ",
    "class A:",
    "lambda: ",
    "#",
    "'''",
    "\\",
    "@",
    ":",
    "if a:",
    "yield",
    "*",
    "match",
]
ANY_PIECES = ["\n", "return a", "(", ")", "a", ",", '"', "=", ".", "[", "]", "0", "\x00", "\ud800", "é", "\r", "\ufeff"]
PIECES = st.sampled_from([*GO_PIECES, *PYTHON_PIECES, *ANY_PIECES])


@pytest.mark.parametrize("probe", [REFACTOR_GO, REFACTOR_PYTHON])
@given(pieces=st.lists(PIECES))
def test_pieces_of_code_have_a_score(probe: Probe, pieces: list[str]) -> None:
    assert_sound(score_text(probe.scorer, "".join(pieces)))


@pytest.mark.parametrize(("probe", "text"), TEXTS)
@given(data=st.data())
def test_code_with_a_gap_has_a_score(probe: Probe, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert_sound(score_text(probe.scorer, text[:start] + data.draw(st.sampled_from(["", " ", "\n", "a"])) + text[end:]))


def assert_sound(score: ProbeScore) -> None:
    if not score.valid:
        assert score == ProbeScore(valid=False)
        return
    assert score.total is not None
    assert score.counts is not None
    assert score.apart is not None
    assert 0 <= score.total <= 1
    assert min(*score.counts.values(), *score.apart.values()) >= 0
    assert score.counts["renames"] + score.apart["removed"] <= 6


GO_HEAD = "func d(a []int, b string, c bool) (int, string, error) {\n"


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        (REFACTOR_GO, GO_HEAD + "if c {" * 3_000 + "}" * 3_000 + "\nreturn 0, b, nil\n}\n"),
        (REFACTOR_GO, GO_HEAD + "return " + "(" * 20_000 + "1" + ")" * 20_000 + ", b, nil\n}\n"),
        (REFACTOR_GO, GO_HEAD + "return " + "!" * 50_000 + "c, b, nil\n}\n"),
        (REFACTOR_GO, GO_HEAD + "func() {" * 5_000 + "}()" * 5_000 + "\n}\n"),
        (REFACTOR_GO, GO_HEAD + "}\n" + ";".join(f"func g{n}() {{ g{n + 1}() }}" for n in range(1_500)) + "\n"),
        (REFACTOR_GO, GO_HEAD + "}\n" + ";".join("func g() { g() }" for _ in range(2_500)) + "\n"),
        (REFACTOR_GO, "const (" + "a = 1;" * 5_000 + ")\n" + GO_HEAD + "}\n"),
        (REFACTOR_PYTHON, "def d(a, b, c):\n    return " + "(" * 20_000 + "1" + ")" * 20_000 + "\n"),
        (REFACTOR_PYTHON, "def d(a, b, c):\n    return " + "lambda: " * 5_000 + "1\n"),
        (REFACTOR_PYTHON, "".join(" " * n + "def d():\n" for n in range(300)) + " " * 300 + "return 1\n"),
        (REFACTOR_PYTHON, "class A:\n" + " def m(self): return self.m\n" * 1_900),
        (REFACTOR_PYTHON, "def d(a, b, c): return 1\n" + "# a\n" * 1_900),
    ],
)
def test_depth_and_number_end_in_a_score(probe: Probe, text: str) -> None:
    assert score_text(probe.scorer, text).valid
    assert_sound(score_text(probe.scorer, text))


@pytest.mark.parametrize(("probe", "mark"), [(REFACTOR_GO, "//"), (REFACTOR_PYTHON, "#")])
def test_a_text_beyond_the_limits_is_not_read(probe: Probe, mark: str) -> None:
    code = probe.stimulus
    space = OUTPUT_BYTES_MAX - len(code.encode()) - len(mark)
    assert score_text(probe.scorer, code + mark + "-" * space).valid
    assert not score_text(probe.scorer, code + mark + "-" * (space + 1)).valid
    assert not score_text(probe.scorer, code + mark + "é" * (space // 2 + 1)).valid
    lines = LINES_MAX - code.count("\n")
    assert score_text(probe.scorer, code + f"{mark}\n" * lines + "\n" * 9).valid
    assert not score_text(probe.scorer, code + f"{mark}\n" * (lines + 1)).valid
    for megabyte in ("a" * 1_000_000, code * 3_000, "\0" * 1_000_000, "(" * 1_000_000):
        assert score_text(probe.scorer, megabyte) == ProbeScore(valid=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_every_process_gives_the_same_score(seed: str) -> None:
    program = (
        "import msgspec\n"
        "from tests.instruments.probes.test_refactor_laws import TEXTS\n"
        "print(msgspec.json.encode([probe.scorer.score(text) for probe, text in TEXTS]).decode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    from_here = [score_text(probe.scorer, text) for probe, text in TEXTS]
    assert msgspec.json.decode(done.stdout, type=list[ProbeScore]) == from_here
    assert done.stdout.strip().encode() == msgspec.json.encode(from_here)


@pytest.mark.parametrize("probe", [REFACTOR_GO, REFACTOR_PYTHON])
def test_the_probe_says_what_it_is(probe: Probe) -> None:
    assert probe.scorer.id == probe.id
    assert (probe.version, probe.scorer.version, probe.kind) == ("1", "1", "code")
    assert probe.id == f"refactor-{probe.language}"
    assert f"```{probe.language}\n{probe.stimulus}```\n" in probe.prompt
    assert not re.search(r"claude|gpt|gemini|llama|mistral|sonnet|opus|deepseek|qwen", probe.prompt, re.IGNORECASE)
