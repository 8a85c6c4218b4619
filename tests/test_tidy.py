"""What ruff cannot check: sizes, dead modules, leftovers, names. Each failure states the rule and the way out."""

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePath

import pytest

from api.cli.commands import VERBS
from api.cli.lazy_group import Verb
from tests.support import plain_english
from tests.support.paths import ROOT

SHIPPED = ("events", "ledger", "projections", "instruments", "api", "tallystick")
UNSHIPPED = ("tests", "benchmarks", "examples", "docs")

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
LEFTOVERS = tuple(word.upper() for word in ("fixme", "todo", "xxx"))
EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})


def sources(*folders: str) -> list[PurePath]:
    """Every Python file of the folders, relative to the root."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found)


@cache
def text_of(path: PurePath) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree_of(path: PurePath) -> ast.Module:
    return ast.parse(text_of(path), filename=str(path))


def module_of(path: PurePath) -> str:
    """`ledger.sqlite.log` for ledger/sqlite/log.py, `ledger` for ledger/__init__.py."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def entry_points() -> set[str]:
    """Modules that a command, `python -m`, pytest or Sphinx starts; an example is started by its path."""
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
    return scripts | started | verbs


def every_verb(verbs: Sequence[Verb]) -> Iterator[Verb]:
    """Every verb of the command line, those of groups too. Their modules are imported by name."""
    for verb in verbs:
        yield from every_verb(verb.verbs) if verb.verbs else (verb,)


def imports_of(path: PurePath) -> Iterator[str]:
    """Every dotted name that a file imports, at any depth of nesting."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_by(paths: list[PurePath]) -> set[str]:
    """What the files import; a module that imports itself does not count."""
    return {name for path in paths for name in imports_of(path) if name != module_of(path)}


EVERY = sources(*SHIPPED, *UNSHIPPED)


@pytest.mark.parametrize("path", EVERY, ids=str)
def test_functions_fit_on_a_page(path: PurePath) -> None:
    long = [
        f"{path}:{node.lineno} {node.name} has {(node.end_lineno or node.lineno) - node.lineno + 1} lines"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert not long, (
        f"A function has at most {FUNCTION_LINES_MAX} lines: {'; '.join(long)}. "
        "Give a part of it that can be said in a few words a function and a name of its own."
    )


@pytest.mark.parametrize("path", EVERY, ids=str)
def test_files_have_one_subject(path: PurePath) -> None:
    lines = text_of(path).count("\n")
    assert lines <= FILE_LINES_MAX, (
        f"A file has at most {FILE_LINES_MAX} lines: {path} has {lines}. "
        "It has more than one subject: move one to a module named by its noun."
    )


@pytest.mark.parametrize("path", EVERY, ids=str)
def test_nothing_is_left_for_later(path: PurePath) -> None:
    left = [
        f"{path}:{number} {word}"
        for number, line in enumerate(text_of(path).splitlines(), 1)
        for word in LEFTOVERS
        if word in line
    ]
    assert not left, (
        f"Nothing is left for later in the code: {'; '.join(left)}. Do it now, or open an issue and take the mark out."
    )


@pytest.mark.parametrize("path", EVERY, ids=str)
def test_modules_are_named_by_a_noun(path: PurePath) -> None:
    empty = [part for part in path.with_suffix("").parts if part.strip("_") in EMPTY_NAMES]
    assert not empty, (
        f"A module is named by the thing it holds: {path} is named {empty[0]}, which any thing could be. "
        "Name it by its noun, as in lock.py or merkle.py, or move what it holds to where its noun is."
    )


@pytest.mark.parametrize(
    ("owners", "importers"),
    [(SHIPPED, SHIPPED), (UNSHIPPED, (*SHIPPED, *UNSHIPPED))],
    ids=["shipped", "tests and benchmarks"],
)
def test_every_module_is_imported(owners: tuple[str, ...], importers: tuple[str, ...]) -> None:
    needed = {module_of(path) for path in sources(*owners) if path.stem != "__init__"} - entry_points()
    dead = sorted(needed - imported_by(sources(*importers)))
    assert not dead, (
        f"Every module is imported by another: nothing in {', '.join(importers)} imports {', '.join(dead)}. "
        "Delete it, or import it where it is needed; an entry point is named in pyproject.toml under scripts. "
        "A shipped module that only tests import is dead too."
    )


def documents() -> list[PurePath]:
    """Every Markdown document at the top, in docs/ and in examples/, except built ones."""
    found = [
        *ROOT.glob("*.md"),
        *(path for folder in ("docs", "examples") for path in (ROOT / folder).rglob("*.md")),
    ]
    return sorted(path.relative_to(ROOT) for path in found if "_build" not in path.parts)


PLAIN = (
    "Write plain English: say who does what, verb first, with the field's usual word, and no metaphor. Reword, with "
    "the word after the arrow or one of the glossary (docs/reference/glossary.md). If the word is right here, add this "
    "exception to its pattern in tests/support/plain_english.py."
)


def complaint(path: PurePath, found: list[plain_english.Match]) -> str:
    lines = "".join(f"\n  {path}:{line} '{phrase}' -> {instead}" for line, phrase, instead in found)
    return f"{PLAIN}{lines}"


@pytest.mark.parametrize("path", documents(), ids=str)
def test_prose_is_plain(path: PurePath) -> None:
    found = plain_english.find(plain_english.of_markdown(text_of(path)))
    assert not found, complaint(path, found)


HISTORIC = {PurePath("CHANGELOG.md"), *(path for path in documents() if path.parts[:2] == ("docs", "decisions"))}
"""Documents about the past: a path in them need not exist any more."""

MADE = frozenset({"docs/_build", "tallystick/_app/"})
"""Folders that exist only once the manual or the wheel is built."""

_path = re.compile(rf"`((?:{'|'.join((*SHIPPED, *UNSHIPPED))})/[\w./-]*)`")


@pytest.mark.parametrize("path", sorted(set(documents()) - HISTORIC), ids=str)
def test_paths_in_documents_exist(path: PurePath) -> None:
    missing = [name for name in _path.findall(text_of(path)) if name not in MADE and not (ROOT / name).exists()]
    assert not missing, f"{path} names what does not exist: {', '.join(missing)}. Name where it is now."


CHECKED_FOLDERS: tuple[str, ...] = (*SHIPPED, *UNSHIPPED)
"""Folders of Python code that are checked against the word list. Add a folder once its code is plain."""

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

CHECKED = sources(*CHECKED_FOLDERS)


@pytest.mark.parametrize("path", CHECKED, ids=str)
def test_code_is_plain(path: PurePath) -> None:
    """Comments, docstrings and messages; of tests, whose other strings are data, comments and docstrings."""
    found = plain_english.find(plain_english.of_comments(text_of(path)))
    if path.parts[0] == "tests":
        found += plain_english.find(plain_english.of_docstrings(tree_of(path)))
    elif str(path) not in WORDED_FILES:
        found += plain_english.find(plain_english.of_strings(tree_of(path)))
    assert not found, complaint(path, found)


@pytest.mark.parametrize("path", CHECKED, ids=str)
def test_names_are_plain(path: PurePath) -> None:
    names = [(1, part) for part in path.with_suffix("").parts] + list(plain_english.of_names(tree_of(path)))
    found = [
        plain_english.Match(line, name, f"a usual word instead of '{words[0]}'")
        for line, name in names
        if (words := plain_english.forbidden_in(name))
    ]
    assert not found, complaint(path, found)


def test_the_word_list_finds_what_it_should() -> None:
    page = (
        "# A title\n\nThe house of `doors` is\ntold about it, of course.\n\n```sh\nsink\n```\n\nIt is no longer so.\n"
    )
    found = plain_english.find(plain_english.of_markdown(page))
    assert [(match.line, match.found) for match in found] == [(3, "house"), (3, "is told")]
    assert plain_english.forbidden_in("open_house") == plain_english.forbidden_in("HouseKeeper") == ["house"]
    source = '"""Its room is here."""\nDOOR = 1  # whoever asks\n'
    assert [match.found for match in plain_english.find(plain_english.of_comments(source))] == ["whoever"]
    assert [match.found for match in plain_english.find(plain_english.of_strings(ast.parse(source)))] == ["room"]
    assert [name for _, name in plain_english.of_names(ast.parse(source))] == ["DOOR"]


def test_the_checks_see_the_code() -> None:
    """A check over an empty list would always pass."""
    assert {path.parts[0] for path in EVERY} >= {"events", "ledger", "tests", "examples"}
    assert "tests.test_tidy" in entry_points()
    assert "events.envelope" in imported_by(sources("ledger"))
