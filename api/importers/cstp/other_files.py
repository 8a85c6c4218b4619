"""Tell what a file of an installation holds, if it is neither decisions nor links, so that the report can name it."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from api.importers.cstp.cstp_yaml import CstpYaml
from events.decode_error_messages import DECODE_ERRORS
from events.limits import BODY_BYTES_MAX
from instruments.yaml_reader import UnreadableFile
from ledger.sqlite.schema import APPLICATION_ID

YAML_SUFFIXES = (".yaml", ".yml")
LINES_SUFFIX = ".jsonl"
DATA_SUFFIXES = (*YAML_SUFFIXES, LINES_SUFFIX, ".json", ".log")
"""Files that may hold data of CSTP. One of which nothing is known is listed as skipped."""

BREAKER_STATES = "the states of circuit breakers"
BREAKERS = "circuit breakers: set them with tallystick breakers set"
GUARDRAILS = "guardrails: set them with tallystick guardrail set"
CONTROLS = "a map of controls"
AUDIT = "an audit log"

_STATES_NAME = "circuit_breakers.jsonl"
_STATES_KEYS = {"scope", "state"}
_CONTROLS_KEYS = {"framework", "rules"}
_RULE_KEYS = ("action", "condition", "requires")
_BESIDE_LEDGER = (".views.db", ".search.db", ".vectors.db")
_APPLICATION_AT = 68
_APPLICATION_BYTES = 4
"""Place and length of the application_id in the header of a SQLite file."""


def is_special(path: Path) -> bool:
    """Return whether a path is there and is not a regular file: a pipe, for example, which must not be opened."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def is_tallystick(path: Path) -> bool:
    """Return whether a SQLite file is a ledger of Tallystick, or lies beside one and belongs to it."""
    name = next((path.name.removesuffix(end) for end in _BESIDE_LEDGER if path.name.endswith(end)), path.name)
    try:
        with path.with_name(name).open("rb") as file:
            header = file.read(_APPLICATION_AT + _APPLICATION_BYTES)
    except OSError:
        return False
    return header[_APPLICATION_AT:] == APPLICATION_ID.to_bytes(_APPLICATION_BYTES, "big")


def other_contents(path: Path) -> str | None:
    """Return in words what a file holds; None if it is not known to hold anything of CSTP. It is a regular file."""
    suffix = path.suffix.lower()
    if suffix in YAML_SUFFIXES:
        return _contents_of_yaml(path)
    if path.name == _STATES_NAME or (suffix == LINES_SUFFIX and first_line(path).keys() >= _STATES_KEYS):
        return BREAKER_STATES
    audited = path.parent.name.lower() == "audit" or path.name.lower().startswith("audit")
    return AUDIT if audited and suffix in DATA_SUFFIXES else None


def _contents_of_yaml(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            value = CstpYaml().read(file.read(BODY_BYTES_MAX))
    except (OSError, UnreadableFile):
        return None
    if isinstance(value, dict):
        if value.get("circuit_breakers"):
            return BREAKERS
        if value.keys() >= _CONTROLS_KEYS:
            return CONTROLS
        value = value.get("guardrails", [value])
    return GUARDRAILS if isinstance(value, list) and any(map(_is_rule, value)) else None


def _is_rule(value: object) -> bool:
    """Return whether a value of a YAML file has the keys of a guardrail."""
    return isinstance(value, dict) and "id" in value and any(key.startswith(_RULE_KEYS) for key in value)


def first_line(path: Path) -> Mapping[str, Any]:
    """Return the first line of a file of JSON lines; nothing if it is not an object."""
    try:
        with path.open("rb") as file:
            value = msgspec.json.decode(file.readline(BODY_BYTES_MAX))
    except (OSError, *DECODE_ERRORS):
        return {}
    return value if isinstance(value, dict) else {}
