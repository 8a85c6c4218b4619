"""Write a scenario's files, as `loader.py` reads them: investigation.json, scenario.yaml and README.md."""

import errno
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from instruments.errors import FixtureExists
from instruments.evals.suite.loader import INVESTIGATION_FILE, SCENARIO_FILES
from instruments.evals.suite.suite_folder import staged_folder

README = "README.md"
DESCRIPTION, *_OTHER_DESCRIPTIONS = SCENARIO_FILES
FILES = (README, INVESTIGATION_FILE, DESCRIPTION)
"""The files in the order in which they are moved into a folder: with the last one it is a scenario."""

_ambiguous = re.compile(r"[yYnN]|0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
"""Plain texts that some YAML readers convert to a value, in addition to those that PyYAML quotes."""

_odd_breaks = re.compile("[\r\x85\u2028\u2029]")
"""Line breaks that a block scalar does not preserve."""


def write_scenario(
    folder: Path, description: dict[str, Any], investigation: dict[str, Any], readme: str, *, force: bool = False
) -> None:
    """Write the three files of a scenario, all or none. The same values give the same bytes.

    `description` becomes scenario.yaml, `investigation` becomes investigation.json, both in the order of their keys.
    Missing folders are created; a new fixture appears at once. `force` replaces a fixture, also one with a description
    in another format, and keeps other files. Errors: FixtureExists; ValueError, for a value that JSON cannot represent;
    OSError. After an error, no new file remains.
    """
    contents = {
        README: readme,
        INVESTIGATION_FILE: json_text(investigation),
        DESCRIPTION: yaml_text(description),
    }
    folder = folder.resolve()
    _check_folder(folder, force=force)
    with staged_folder(folder) as staged:
        for name in FILES:
            (staged / name).write_bytes(contents[name].encode())
        if folder.exists():
            _replace(staged, folder)
        else:
            staged.rename(folder)


def check_free(folder: Path, *, force: bool) -> list[str]:
    """Return a scenario's files that a folder already contains. Errors: FixtureExists, if any and not `force`."""
    existing = [name for name in (*FILES, *_OTHER_DESCRIPTIONS) if os.path.lexists(folder / name)]
    if existing and not force:
        raise FixtureExists(
            f"{folder} already contains a fixture ({', '.join(sorted(existing))}).",
            "Name another folder, or replace it with --force.",
        )
    return existing


def json_text(value: object) -> str:
    """Format a value as indented JSON, keys in order. Errors: ValueError, for a value that JSON cannot represent."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def yaml_text(value: object) -> str:
    """Format a value as YAML in block style, without folding; ambiguous texts are quoted."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=float("inf"))
    return text


def _check_folder(folder: Path, *, force: bool) -> None:
    """Errors: FixtureExists, OSError."""
    existing = check_free(folder, force=force)
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    for name in existing:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))


def _replace(staged: Path, folder: Path) -> None:
    """Move the files into an existing folder; if one fails, restore the previous files."""
    moved: list[str] = []
    try:
        for name in (*FILES, *_OTHER_DESCRIPTIONS):
            with suppress(FileNotFoundError):
                (folder / name).rename(staged / f"{name}.before")
            moved.append(name)
            if name in FILES:
                (staged / name).rename(folder / name)
    except BaseException:
        for name in moved:
            (folder / name).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                (staged / f"{name}.before").rename(folder / name)
        raise


class _Dumper(yaml.SafeDumper):
    """A YAML dumper without aliases, and with list items indented below their key."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "'" if _ambiguous.fullmatch(value) else None
    if _odd_breaks.search(value):
        style = '"'
    elif "\n" in value and value.strip():
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _represent_items(dumper: _Dumper, value: Sequence[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(tuple, _represent_items)
