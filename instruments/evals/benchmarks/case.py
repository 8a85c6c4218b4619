"""A benchmark case as a scenario, and the error of a case that cannot become one."""

import re
from typing import Any, NamedTuple, TypeVar

import msgspec

from events.decode_error_messages import locate_decode_error
from events.limits import STREAM_ID_CHARS_MAX
from instruments.errors import FixtureFault
from instruments.stored_text import sha256_hex

_Kind = TypeVar("_Kind")
_not_name_char = re.compile(r"[^A-Za-z0-9._-]+")
_DIGEST_CHARS = 8
_kept_chars = STREAM_ID_CHARS_MAX - _DIGEST_CHARS - 1
_missing_field = re.compile(r"field `(?P<name>[^`]+)`")


class Case(NamedTuple):
    """A scenario in the form of its three files."""

    id: str
    """Its id in the benchmark."""
    where: str
    """Its file and line, for messages."""
    description: dict[str, Any]
    """`scenario.yaml`."""
    investigation: dict[str, Any]
    """`investigation.json`: the agent's input. Nothing in it comes from the case's id, place or label."""
    readme: str
    golden_evidence: bool = False
    """Whether its evidence is only what the golden paths looked at: the choice of it points to the solution."""


class CaseError(Exception):
    """A value that cannot become a case: its key, the problem, and advice."""

    def __init__(self, key: str | None, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.key = key
        self.problem = problem
        self.advice = advice

    def at(self, file: str) -> FixtureFault:
        """Return this error as a fault in a file."""
        return FixtureFault(file, self.key, self.problem, self.advice)


def convert_value(value: object, kind: type[_Kind]) -> _Kind:
    """Convert a value to a type. Errors: CaseError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        path, problem = locate_decode_error(error)
    key = path.lstrip(".")
    if field := _missing_field.search(problem):
        raise CaseError(f"{key}.{field['name']}".lstrip("."), "is required and missing", "Add it.")
    raise CaseError(key or None, f"is not what it should be: {problem}", "Correct the value.")


def folder_name(name: str, prefix: str | None = None) -> str:
    """Return a case's folder name: its id with `-` for unsupported characters; a long one is cut and gets a digest.

    Errors: CaseError.
    """
    full_name = name if prefix is None else f"{prefix}-{name}"
    folder = _not_name_char.sub("-", full_name).strip("-.")
    if not folder:
        raise CaseError("id", f"names no folder: {name!r}", "Use letters and digits.")
    if len(folder) > STREAM_ID_CHARS_MAX:
        folder = f"{folder[:_kept_chars]}-{sha256_hex(full_name)[:_DIGEST_CHARS]}"
    return folder
