"""A benchmark case as a scenario, and the error of a case that cannot become one."""

import re
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

from events.limits import STREAM_ID_CHARS_MAX
from instruments.evals.errors import FixtureFault

_Kind = TypeVar("_Kind")
_no_name = re.compile(r"[^A-Za-z0-9._-]+")
_kept_chars = STREAM_ID_CHARS_MAX - 9
_place = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_named = re.compile(r"field `(?P<name>[^`]+)`")


class Case(NamedTuple):
    """A scenario in the form of its three files."""

    id: str
    """Its id in the benchmark."""
    where: str
    """The file and line that it was read from, for people."""
    description: dict[str, Any]
    """`scenario.yaml`."""
    investigation: dict[str, Any]
    """`investigation.json`: the agent's input, without any part of the solution."""
    readme: str


class CaseError(Exception):
    """A value that cannot become a case: its key, what is wrong, and advice."""

    def __init__(self, key: str | None, what: str, advice: str) -> None:
        super().__init__(what)
        self.key = key
        self.what = what
        self.advice = advice

    def at(self, file: str) -> FixtureFault:
        """Return it as a fault in a file."""
        return FixtureFault(file, self.key, self.what, self.advice)


def convert_value(value: object, kind: type[_Kind]) -> _Kind:
    """Convert a value to a type. Errors: CaseError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        match = _place.match(str(error))
        assert match is not None
        what, key = match["what"], (match["path"] or "").rstrip(".")
    if named := _named.search(what):
        raise CaseError(f"{key}.{named['name']}".lstrip("."), "is required and missing", "Add it.")
    raise CaseError(key or None, f"is not what it should be: {what[0].lower()}{what[1:]}", "Correct the value.")


def folder_name(name: str, prefix: str | None = None) -> str:
    """Return a case's folder name: its id with `-` for unsupported characters; a long one is cut and gets a digest.

    Errors: CaseError.
    """
    full_name = name if prefix is None else f"{prefix}-{name}"
    folder = _no_name.sub("-", full_name).strip("-.")
    if not folder:
        raise CaseError("id", f"names no folder: {name!r}", "Use letters and digits.")
    if len(folder) > STREAM_ID_CHARS_MAX:
        folder = f"{folder[:_kept_chars]}-{sha256(full_name.encode()).hexdigest()[:8]}"
    return folder


def alert_fingerprint(name: str) -> str:
    """Return the fingerprint of a case's alert: 16 hex digits, a digest of the id that does not reveal it."""
    return sha256(name.encode()).hexdigest()[:16]
