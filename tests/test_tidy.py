"""What ruff cannot check: sizes, dead modules, leftovers, names. Each failure states the rule and the way out.

A rule is a function from a file to its faults; one test asks all of them about every file.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

import pytest

from api.cli.commands import VERBS
from api.cli.lazy_group import Verb
from api.http.pages.page_table import PAGES
from api.http.route_table import ROWS
from tests.support import plain_english
from tests.support.paths import ROOT

SHIPPED = ("events", "ledger", "projections", "instruments", "api", "tallystick")
UNSHIPPED = ("tests", "benchmarks", "examples", "docs")

FUNCTION_LINES_MAX = 70
LEFTOVERS = tuple(word.upper() for word in ("fixme", "todo", "xxx"))
EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
WORDED_FILES: frozenset[str] = frozenset(
    {
        "instruments/discovery/identity_parser.py",
        "instruments/discovery/prompts.py",
        "instruments/probes/text/debugging_probe.py",
        "instruments/probes/text/mentions.py",
        "instruments/probes/text/summarising_probe.py",
    }
)
"""Files whose strings are data that must not change, such as texts of published probes: only comments are checked."""


def sources(*folders: str) -> list[PurePath]:
    """Every Python file of the folders, relative to the root."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found)


def documents() -> list[PurePath]:
    """Every Markdown document at the top, in docs/ and in examples/, except built ones; and the glossary."""
    found = [
        *ROOT.glob("*.md"),
        ROOT / "api" / "http" / "pages" / "glossary.md",
        *(path for folder in ("docs", "examples") for path in (ROOT / folder).rglob("*.md")),
    ]
    return sorted(path.relative_to(ROOT) for path in found if "_build" not in path.parts)


HISTORIC = {PurePath("CHANGELOG.md"), *(path for path in documents() if path.parts[:2] == ("docs", "decisions"))}
"""Documents about the past: a path in them need not exist any more."""

MADE = frozenset({"docs/_build", "tallystick/_app/"})
"""Folders that exist only once the manual or the wheel is built."""

_path = re.compile(rf"`((?:{'|'.join((*SHIPPED, *UNSHIPPED))})/[\w./-]*)`")


class File:
    """A file of the project: its path from the root, its text, and of Python its tree."""

    def __init__(self, path: PurePath, text: str) -> None:
        self.path = path
        self.text = text

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


def read(paths: Iterable[PurePath]) -> Iterator[File]:
    """Each file in turn: the trees of all at once would be 2 million objects."""
    return (File(path, (ROOT / path).read_text(encoding="utf-8")) for path in paths)


Rule = Callable[[File], Iterable[str]]
"""A rule returns the faults of a file, each with its place."""


def complaint(advice: str, faults: Sequence[str]) -> str:
    return "\n  ".join([advice, *faults])


def module_of(path: PurePath) -> str:
    """`ledger.sqlite.log` for ledger/sqlite/log.py, `ledger` for ledger/__init__.py."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def entry_points() -> set[str]:
    """Modules that a command, a request, `python -m`, pytest or Sphinx starts; an example is started by its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = (*project["scripts"].values(), *project["entry-points"]["pytest11"].values())
    scripts = {target.partition(":")[0] for target in named}
    started = {
        module_of(path)
        for path in sources(*SHIPPED, *UNSHIPPED)
        if path.stem in {"__main__", "conftest", "conf"}
        or (path.parts[0] == "tests" and path.stem.startswith("test_"))
        or path.parts[0] == "examples"
    }
    verbs = {f"api.cli.commands.{verb.function.partition(':')[0]}" for verb in every_verb(VERBS)}
    routes = {f"{row.package}.{row.function.partition(':')[0]}" for row in (*ROWS, *PAGES)}
    return scripts | started | verbs | routes


def every_verb(verbs: Sequence[Verb]) -> Iterator[Verb]:
    """Every verb of the command line, those of groups too. Their modules are imported by name."""
    for verb in verbs:
        yield from every_verb(verb.verbs) if verb.verbs else (verb,)


def imports_of(file: File) -> Iterator[str]:
    """Every dotted name that a file imports, at any depth of nesting; a module that imports itself does not count."""
    for node in file.nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name != module_of(file.path))


def long_functions(file: File) -> Iterator[str]:
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{file.path}:{node.lineno} {node.name} has {lines} lines"


def leftovers(file: File) -> Iterator[str]:
    if any(word in file.text for word in LEFTOVERS):
        for number, line in enumerate(file.text.splitlines(), 1):
            yield from (f"{file.path}:{number} {word}" for word in LEFTOVERS if word in line)


def empty_names(file: File) -> Iterator[str]:
    for part in file.path.with_suffix("").parts:
        if part.strip("_") in EMPTY_NAMES:
            yield f"{file.path}:1 is named {part}"


def wording(file: File) -> Iterator[str]:
    """Comments, docstrings and messages; of tests, whose other strings are data, comments and docstrings."""
    found = plain_english.find(plain_english.of_comments(file.text))
    if file.path.parts[0] == "tests":
        found += plain_english.find(plain_english.of_docstrings(file.nodes))
    elif str(file.path) not in WORDED_FILES:
        found += plain_english.find(plain_english.of_strings(file.nodes))
    return lines_of(file, found)


def names(file: File) -> Iterator[str]:
    found = [(1, part) for part in file.path.with_suffix("").parts] + list(plain_english.of_names(file.nodes))
    for line, name in found:
        if words := plain_english.forbidden_in(name):
            yield f"{file.path}:{line} '{name}' -> a usual word instead of '{words[0]}'"


def prose(file: File) -> Iterator[str]:
    return lines_of(file, plain_english.find(plain_english.of_markdown(file.text)))


def missing_paths(file: File) -> Iterator[str]:
    """Paths in a document about the present that do not exist."""
    if file.path in HISTORIC:
        return
    for match in _path.finditer(file.text):
        if match[1] not in MADE and not (ROOT / match[1]).exists():
            yield f"{file.path}:{file.text.count(chr(10), 0, match.start()) + 1} {match[1]}"


def lines_of(file: File, found: Iterable[plain_english.Match]) -> Iterator[str]:
    return (f"{file.path}:{line} '{phrase}' -> {instead}" for line, phrase, instead in found)


PLAIN = (
    "Write plain English: say who does what, verb first, with the field's usual word, and no metaphor. Reword, with "
    "the word after the arrow or one of the glossary (docs/reference/glossary.md). If the word is right here, add this "
    "exception to its pattern in tests/support/plain_english.py."
)
CODE_RULES: dict[Rule, str] = {
    long_functions: f"A function has at most {FUNCTION_LINES_MAX} lines. "
    "Give a part of it that can be said in a few words a function and a name of its own.",
    leftovers: "Nothing is left for later in the code. Do it now, or open an issue and take the mark out.",
    empty_names: "A module is named by the thing it holds, and not by a word that any thing could be. "
    "Name it by its noun, as in lock.py or merkle.py, or move what it holds to where its noun is.",
    wording: PLAIN,
    names: PLAIN,
}
DOCUMENT_RULES: dict[Rule, str] = {
    prose: PLAIN,
    missing_paths: "A path that a document names exists. Name where it is now.",
}


class Code(NamedTuple):
    """What one pass over all Python files has found: the faults by rule, and the imports by file."""

    faults: dict[Rule, list[str]]
    imports: dict[PurePath, set[str]]

    def imported_by(self, paths: Iterable[PurePath]) -> set[str]:
        return set().union(*(self.imports[path] for path in paths))


EVERY = sources(*SHIPPED, *UNSHIPPED)

DEAD = (
    "Every module is imported by another: nothing in {} imports those below. Delete it, or import it where it is "
    "needed; an entry point is named in pyproject.toml under scripts. A shipped module that only tests import is dead."
)


def test_the_code_keeps_every_rule() -> None:
    """One test, because each parses every file: two processes would parse them twice."""
    code = Code({rule: [] for rule in CODE_RULES}, {})
    for file in read(EVERY):
        code.imports[file.path] = set(imports_of(file))
        for rule in CODE_RULES:
            code.faults[rule] += rule(file)
    broken = [complaint(CODE_RULES[rule], faults) for rule, faults in code.faults.items() if faults]
    for owners, importers in [(SHIPPED, SHIPPED), (UNSHIPPED, (*SHIPPED, *UNSHIPPED))]:
        needed = {module_of(path) for path in sources(*owners) if path.stem != "__init__"} - entry_points()
        if dead := sorted(needed - code.imported_by(sources(*importers))):
            broken.append(complaint(DEAD.format(", ".join(importers)), dead))
    assert not broken, "\n".join(broken)
    assert "events.envelope" in code.imported_by(sources("ledger")), "The checks see no code."


@pytest.mark.parametrize("rule", DOCUMENT_RULES, ids=lambda rule: rule.__name__)
def test_the_documents_have_none(rule: Rule) -> None:
    faults = [fault for file in read(documents()) for fault in rule(file)]
    assert not faults, complaint(DOCUMENT_RULES[rule], faults)


def test_the_word_list_finds_what_it_should() -> None:
    page = (
        "# A title\n\nThe house of `doors` is\ntold about it, of course.\n\n```sh\nsink\n```\n\nIt is no longer so.\n"
    )
    found = plain_english.find(plain_english.of_markdown(page))
    assert [(match.line, match.found) for match in found] == [(3, "house"), (3, "is told")]
    assert plain_english.forbidden_in("open_house") == plain_english.forbidden_in("HouseKeeper") == ["house"]
    source = '"""Its house is here."""\nDOOR = 1  # whoever asks\n'
    assert [match.found for match in plain_english.find(plain_english.of_comments(source))] == ["whoever"]
    assert [match.found for match in plain_english.find(plain_english.of_strings(ast.walk(ast.parse(source))))] == [
        "house"
    ]
    assert [name for _, name in plain_english.of_names(ast.walk(ast.parse(source)))] == ["DOOR"]


FAULTY: dict[Rule, tuple[str, str, str]] = {
    long_functions: ("ledger/log.py", "\n\ndef long():\n" + "    x = 1\n" * FUNCTION_LINES_MAX, ":3 long has 71 lines"),
    leftovers: ("ledger/log.py", f"x = 1\ny = 2  # {LEFTOVERS[0]}\n", f":2 {LEFTOVERS[0]}"),
    empty_names: ("ledger/_utils.py", "", ":1 is named _utils"),
    wording: ("ledger/log.py", 'x = 1\n"""Its house\nis here."""\n', ":2 'house' -> the project, the ledger service"),
    names: ("ledger/log.py", "x = 1\nopen_door = 2\n", ":2 'open_door' -> a usual word instead of 'door'"),
    prose: ("docs/page.md", "# Title\n\nThe house.\n", ":3 'house' -> the project, the ledger service"),
    missing_paths: ("docs/page.md", "# Title\n\n`ledger/log.py` and `ledger/gone.py`\n", ":3 ledger/gone.py"),
}
"""A file with one fault of each rule, and the line that reports it."""


@pytest.mark.parametrize("rule", [*CODE_RULES, *DOCUMENT_RULES], ids=lambda rule: rule.__name__)
def test_a_rule_finds_its_fault_and_where(rule: Rule) -> None:
    path, text, fault = FAULTY[rule]
    assert list(rule(File(PurePath(path), text))) == [path + fault]


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("tests/test_log.py", []),
        ("instruments/probes/text/mentions.py", []),
        ("ledger/log.py", ["ledger/log.py:1 'house' -> the project, the ledger service"]),
    ],
)
def test_strings_that_are_data_are_not_prose(path: str, fault: list[str]) -> None:
    assert list(wording(File(PurePath(path), "x = 'Our house'\n"))) == fault


def test_the_checks_see_the_code() -> None:
    """A check over an empty list would always pass."""
    assert {path.parts[0] for path in EVERY} >= {"events", "ledger", "tests", "examples"}
    assert {PurePath("README.md"), PurePath("docs/index.md")} <= set(documents()) - HISTORIC
    assert "tests.test_tidy" in entry_points()
