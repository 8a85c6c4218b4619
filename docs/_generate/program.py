"""The program, as the generators and the tests of the documents see it.

Only this module imports the interfaces. Where one of them moves, this is the one place to change.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import typer.main

from api.cli.main import app
from api.errors import ERROR_TABLE, problem_name
from api.http.app import routes
from api.http.openapi.document import openapi_document
from api.principal import SCOPES
from api.rate_limit import BURST_DEFAULT, RATE_DEFAULT
from events import limits
from events.payload import COUNT_MAX
from events.registry import VOCABULARY
from events.schema import json_schema

__all__ = [
    "BURST_DEFAULT",
    "COUNT_MAX",
    "ERROR_TABLE",
    "RATE_DEFAULT",
    "SCOPES",
    "VOCABULARY",
    "Verb",
    "command",
    "limits",
    "metrics",
    "openapi",
    "plugin_options",
    "problem_name",
    "routes_named",
    "variables_read",
    "verbs",
    "vocabulary_schema",
]  # fmt: skip

SHIPPED = ("events", "ledger", "projections", "instruments", "api", "tallystick")
"""The folders that users get."""

_ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Verb:
    """A verb of the command line: its name as it is typed, and Typer's command behind it."""

    name: str
    command: Any

    @property
    def options(self) -> list[str]:
        """List every option, as it is typed."""
        return [name for parameter in self.command.params for name in parameter.opts if name.startswith("-")]


def command() -> Any:  # noqa: ANN401 - Typer names no public type for it
    """Return the command line as a whole."""
    return typer.main.get_command(app)


def verbs() -> list[Verb]:
    """List every verb, in the order of `tallystick --help`; the verbs of a group follow one another."""
    return _verbs(command(), "tallystick")


def _verbs(group: Any, path: str) -> list[Verb]:  # noqa: ANN401 - as `command`
    inner: Mapping[str, Any] | None = getattr(group, "commands", None)
    if inner is None:
        return [Verb(path, group)]
    return [verb for name in inner if not inner[name].hidden for verb in _verbs(inner[name], f"{path} {name}")]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document as `GET /openapi.json` answers it."""
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document()))
    return decoded


def routes_named() -> Sequence[str]:
    """List every route as a method and a path: `GET /events/{position}`."""
    return [
        f"{method} {route.path.replace(':path}', '}')}"
        for route in routes()
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]


def vocabulary_schema() -> dict[str, Any]:
    """Return the vocabulary as JSON Schema, as `tallystick schema` prints it."""
    return json_schema()


def variables_read() -> set[str]:
    """List every environment variable that the program's source reads or sets by its name."""
    own = re.findall(r"\bTALLYSTICK_[A-Z_]*[A-Z]\b", _source())
    others = re.findall(r"""environ(?:\.get\(|\[)["'](\w+)["']""", _source())
    return {*own, *others}


def plugin_options() -> set[str]:
    """List every option that the pytest plugin adds, as `pytest --help` lists them."""
    command = [sys.executable, "-m", "pytest", "--help"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    printed = done.stdout
    return set(re.findall(r"--tallystick-[a-z-]+", printed))


def metrics(text: str) -> set[str]:
    """List our metrics in an answer of `GET /metrics`."""
    found = re.findall(r"^# TYPE (tallystick_\w+?)(?:_created)? ", text, re.MULTILINE)
    return set(found)


@cache
def _source() -> str:
    paths = [path for folder in SHIPPED for path in sorted((_ROOT / folder).rglob("*.py"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)
