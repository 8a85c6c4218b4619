"""The layout: what a reader can take in of each package, and names that tell one thing from another.

import-linter holds the layers and refuses cycles (pyproject.toml); here are the limits of size and of naming.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import grimp
import pytest

from tests.support.paths import ROOT

PACKAGES = ("events", "ledger", "projections", "instruments", "api")
SMALL_MODULE_LINES = 60
MODULES_DIRECTLY_IN_API_MAX = 12
API_BOXES_MAX = 20
API_LEVELS_MAX = 11

ING = {
    "logging": "the standard library's word",
    "findings": "a noun",
    "debugging": "a probe's id",
    "summarising": "a probe's id",
    "weighting": "a probe's id",
}
"""Module names that end in -ing, and why they may."""


SMALL = {
    "instruments.git.code_lines": "rules of thumb, with the errors that the manual names for each",
    "api.cli.progress_bar": "it loads rich, which only long work needs",
    "instruments.routers.command": "loaded for a router that is a command only",
    "projections.observation_counts": "a projection of its own, named in the registry",
}
"""Small modules that only a neighbour imports, and why they are not in that neighbour."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def modules() -> list[Path]:
    """Every shipped module of the five folders but `__init__`, relative to the root."""
    found = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if path.stem != "__init__")


def api_edges(graph: grimp.ImportGraph) -> dict[str, set[str]]:
    """What each module or package directly inside `api` imports of the others."""
    edges: dict[str, set[str]] = {box: set() for box in graph.find_children("api")}
    for module in graph.modules:
        box = ".".join(module.split(".")[:2])
        if box in edges:
            imported = graph.find_modules_directly_imported_by(module)
            edges[box] |= {".".join(name.split(".")[:2]) for name in imported} & edges.keys() - {box}
    return edges


def test_api_has_few_modules_of_its_own() -> None:
    direct = sorted(path.name for path in (ROOT / "api").glob("*.py"))
    assert len(direct) <= MODULES_DIRECTLY_IN_API_MAX, (
        f"At most {MODULES_DIRECTLY_IN_API_MAX} modules are directly in api/: {direct}. Move one into its layer."
    )


def test_the_graph_of_api_is_small(graph: grimp.ImportGraph) -> None:
    edges = api_edges(graph)
    assert len(edges) <= API_BOXES_MAX, f"The graph of api/ has at most {API_BOXES_MAX} boxes: {sorted(edges)}."
    levels: dict[str, int] = {}

    def level(box: str) -> int:
        if box not in levels:
            levels[box] = 1 + max(map(level, edges[box]), default=0)
        return levels[box]

    highest = max(map(level, edges))
    assert highest <= API_LEVELS_MAX, f"The graph of api/ has at most {API_LEVELS_MAX} levels: {levels}."


def test_a_small_module_that_only_a_neighbour_imports_is_in_that_neighbour(graph: grimp.ImportGraph) -> None:
    small = set()
    for path in modules():
        name = ".".join(path.with_suffix("").parts)
        importers = graph.find_modules_that_directly_import(name)
        is_small = len((ROOT / path).read_text(encoding="utf-8").splitlines()) < SMALL_MODULE_LINES
        if is_small and {importer.rpartition(".")[0] for importer in importers} == {name.rpartition(".")[0]}:
            small |= {name} if len(importers) == 1 else set()
    assert small == SMALL.keys(), f"Merge each into its importer, or add a reason to SMALL: {small ^ SMALL.keys()}"


def test_a_class_name_is_used_once() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(str(path))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert not twice, f"A public class name is used once: {twice}. Say in the name what each one is."


def test_modules_are_not_named_by_a_participle() -> None:
    bad = [str(path) for path in modules() if path.stem.endswith("ing") and path.stem not in ING]
    bad += [str(path) for path in modules() if path.stem.endswith("ings") and path.stem not in ING]
    assert not bad, f"A module is named by a noun: {bad} end in -ing. Name what it holds, or add the reason to ING."


def test_no_two_modules_of_a_package_differ_by_a_letter() -> None:
    siblings: dict[Path, list[str]] = defaultdict(list)
    for path in modules():
        siblings[path.parent].append(path.stem)
    close = [
        f"{folder}/{one}.py and {other}.py"
        for folder, names in siblings.items()
        for one, other in combinations(names, 2)
        if _one_letter_apart(one, other)
    ]
    assert not close, f"Names of modules side by side differ by more than a letter: {close}. Name one by what it holds."


def _one_letter_apart(one: str, other: str) -> bool:
    if len(one) == len(other):
        return sum(left != right for left, right in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(short == rest for rest in _one_left_out(long))


def _one_left_out(name: str) -> Iterator[str]:
    return (name[:place] + name[place + 1 :] for place in range(len(name)))


def test_the_checks_see_the_modules() -> None:
    """A check of an empty list would always pass."""
    assert {path.parts[0] for path in modules()} == set(PACKAGES)
    assert _one_letter_apart("run", "runs")
    assert _one_letter_apart("score", "store")
    assert not _one_letter_apart("run", "runner")
