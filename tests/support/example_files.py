"""The files of examples/postgresql, as their programs read them."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.paths import ROOT

FILES = ROOT / "examples" / "postgresql"

Yaml = dict[str, Any]


def parse_variables(text: str) -> dict[str, str]:
    """The variables of a file for EnvironmentFile=."""
    lines = text.splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def variables_of(path: Path) -> dict[str, str]:
    """The variables of a file for EnvironmentFile=."""
    return parse_variables(path.read_text(encoding="utf-8"))


def loaded(path: Path) -> Yaml:
    """The contents of a YAML file."""
    read: Yaml = yaml.safe_load(path.read_text(encoding="utf-8"))
    return read
