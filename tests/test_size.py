"""The program does not grow by accident: its lines, routes, verbs, options and dependencies have limits.

A limit is today's number. A change that raises one lowers another, or names in the changelog the user whom it serves,
and states the new number here. A change that lowers one states it, too.
"""

import inspect
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from api.cli.commands import VERBS
from api.cli.lazy_group import Verb, function_of
from api.cstp.method_table import METHODS
from api.http.route_table import ROWS
from api.mcp.toolsets import TOOLS
from events.registry import VOCABULARY
from tests.support.paths import ROOT

SHIPPED = ("events", "ledger", "projections", "instruments", "api", "tallystick")

SLACK = 300
"""Lines that may be written before the number has to be stated again."""

LIMITS: Mapping[str, int] = {
    "lines": 132_270,
    "lines of api": 67_660,
    "routes": 83,
    "verbs": 102,
    "options": 530,
    "CSTP methods": 34,
    "tools of MCP": 28,
    "event types": 62,
    "dependencies": 20,
}


def lines_of(*folders: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for name in folders for path in sources(ROOT / name))


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.py") if "_app" not in path.parts)


def verbs(table: Sequence[Verb] = VERBS) -> Iterator[Verb]:
    for verb in table:
        yield from verbs(verb.verbs) if verb.verbs else (verb,)


def options() -> int:
    """The options and arguments of all verbs, without those that every verb has."""
    common = {"invocation", "ledger", "state", "durability", "url", "token", "as_json"}
    return sum(len(inspect.signature(function_of(verb.function)).parameters.keys() - common) for verb in verbs())


def test_the_program_is_no_larger_than_agreed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sizes = {
        "lines": lines_of(*SHIPPED) - SLACK,
        "lines of api": lines_of("api") - SLACK,
        "routes": len(ROWS),
        "verbs": len(list(verbs())),
        "options": options(),
        "CSTP methods": len(METHODS),
        "tools of MCP": len(TOOLS),
        "event types": len(VOCABULARY.type_names),
        "dependencies": len(project["dependencies"]),
    }
    larger = {name: (size, LIMITS[name]) for name, size in sizes.items() if size > LIMITS[name]}
    assert not larger, (
        f"Larger than agreed (now, limit): {larger}. Lower another number, or name in CHANGELOG.md the user whom it "
        "serves; then state the new limit in tests/test_size.py."
    )
