"""A case of a benchmark as the scenario it becomes, and what is wrong with one that becomes none."""

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
    """A scenario, as its three files say it."""

    id: str
    """What the benchmark calls it."""
    where: str
    """Where it was read, for people."""
    description: dict[str, Any]
    """`scenario.yaml`."""
    investigation: dict[str, Any]
    """`investigation.json`: what an agent is given. Nothing of the truth is in it."""
    readme: str


class CaseError(Exception):
    """A value that makes no case: its key, what is wrong with it, and what to do."""

    def __init__(self, key: str | None, what: str, advice: str) -> None:
        super().__init__(what)
        self.key = key
        self.what = what
        self.advice = advice

    def at(self, file: str) -> FixtureFault:
        """The fault that it is in that file."""
        return FixtureFault(file, self.key, self.what, self.advice)


def converted(value: object, kind: type[_Kind]) -> _Kind:
    """A value as what it should be. Errors: Wrong."""
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
    """A case's folder: its id with `-` for all that a name cannot hold; a long one is cut, and told apart by a digest.

    Errors: Wrong.
    """
    whole = name if prefix is None else f"{prefix}-{name}"
    made = _no_name.sub("-", whole).strip("-.")
    if not made:
        raise CaseError("id", f"names no folder: {name!r}", "Use letters and digits.")
    if len(made) > STREAM_ID_CHARS_MAX:
        made = f"{made[:_kept_chars]}-{sha256(whole.encode()).hexdigest()[:8]}"
    return made


def fingerprint(name: str) -> str:
    """The fingerprint of a case's alert: 16 hex digits, a digest of the id that says nothing of it."""
    return sha256(name.encode()).hexdigest()[:16]
