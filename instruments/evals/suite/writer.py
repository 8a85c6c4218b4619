"""A scenario to its files, as `loading.py` reads them: investigation.json, scenario.yaml and README.md."""

import errno
import json
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import yaml

from instruments.evals.errors import FixtureExists
from instruments.evals.suite.loader import INVESTIGATION_FILE, SCENARIO_FILES

README = "README.md"
DESCRIPTION, *_OTHERS = SCENARIO_FILES
FILES = (README, INVESTIGATION_FILE, DESCRIPTION)
"""In the order in which they are put in place: a folder is a scenario's once it has the last of them."""

_ambiguous = re.compile(r"[yYnN]|0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
"""Plain texts that some reader of YAML takes for a value, beside those that PyYAML itself quotes."""

_odd_breaks = re.compile("[\r\x85\u2028\u2029]")
"""Line breaks that a block scalar does not keep."""


def write(
    folder: Path, description: dict[str, Any], investigation: dict[str, Any], readme: str, *, force: bool = False
) -> None:
    """Write the three files of a scenario, all of them or none. The same values give the same bytes.

    Shapes: `description` is scenario.yaml, `investigation` investigation.json, both in the order of their keys. Folders
    that are not there are made; a new fixture is there at once. `force` replaces one, whichever of its forms the
            description has, and leaves other files alone.
    Errors: FixtureExists; ValueError, for what no JSON holds; OSError. None leaves anything behind.
    """
    contents = {
        README: readme,
        INVESTIGATION_FILE: json_text(investigation),
        DESCRIPTION: yaml_text(description),
    }
    folder = folder.resolve()
    _check(folder, force=force)
    made = [one for one in (folder.parent, *folder.parent.parents) if not one.exists()]
    staged = folder.parent / f".{folder.name}.{token_hex(4)}"
    try:
        staged.mkdir(parents=True)
        for name in FILES:
            (staged / name).write_bytes(contents[name].encode())
        if folder.exists():
            _replace(staged, folder)
        else:
            staged.rename(folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        for one in made:
            with suppress(OSError):  # what holds the new folder stays
                one.rmdir()


def check_free(folder: Path, *, force: bool) -> list[str]:
    """Those of a scenario's files that are in a folder, none unless `force`. Errors: FixtureExists."""
    there = [name for name in (*FILES, *_OTHERS) if os.path.lexists(folder / name)]
    if there and not force:
        raise FixtureExists(
            f"{folder} holds a fixture already ({', '.join(sorted(there))}); nothing was written.",
            "Name another folder, or replace it with --force.",
        )
    return there


def json_text(value: object) -> str:
    """A value as JSON for people, its keys as they come. Errors: ValueError, for what no JSON holds."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def yaml_text(value: object) -> str:
    """A value as YAML for people: in blocks, never folded, texts quoted that would be read as something else."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=float("inf"))
    return text


def _check(folder: Path, *, force: bool) -> None:
    """Errors: FixtureExists, OSError."""
    there = check_free(folder, force=force)
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    for name in there:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))


def _replace(staged: Path, folder: Path) -> None:
    """Put the files into a folder that is there; where one cannot be, those that were there come back."""
    done: list[str] = []
    try:
        for name in (*FILES, *_OTHERS):
            with suppress(FileNotFoundError):
                (folder / name).rename(staged / f"{name}.before")
            done.append(name)
            if name in FILES:
                (staged / name).rename(folder / name)
    except BaseException:
        for name in done:
            (folder / name).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                (staged / f"{name}.before").rename(folder / name)
        raise


class _Dumper(yaml.SafeDumper):
    """YAML without aliases, the items of a list indented below their key."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "'" if _ambiguous.fullmatch(value) else None
    if _odd_breaks.search(value):
        style = '"'
    elif "\n" in value and value.strip():
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _items(dumper: _Dumper, value: Sequence[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(tuple, _items)
