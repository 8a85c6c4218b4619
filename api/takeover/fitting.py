"""Values as CSTP stored them to the vocabulary's fields: all that fits is kept, the rest is noted, value by value.

A value that does not fit is left out together with the smallest thing that cannot be without it: a reason without a
text, a step without a thought, at last the decision without its words. Numbers written as text count as numbers, as
they do for CSTP; nothing is guessed.
"""

import math
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from api.kinds import allowed, plain
from api.parameters import instant
from api.takeover.report import Notes, quoted
from api.takeover.tree import Tagged
from events.limits import ITEMS_MAX
from ledger.errors import InvalidQuery

_number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_capital = re.compile(r"_([a-z])")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ALIASES = {"function": "purpose"}
_EMPTY: tuple[object, ...] = ("", [], (), {})
"""What CSTP also writes where nothing was said."""
_LEFT_OUT: Any = object()


class Unfit(Exception):
    """A value that its field cannot have; the text says what it can."""


class Fitting:
    """The fitting of one decision's values, noted under its file and id."""

    def __init__(self, notes: Notes, file: str, decision_id: str | None) -> None:
        self._notes = notes
        self._file = file
        self._id = decision_id

    def fields(
        self,
        struct: type[msgspec.Struct],
        given: Mapping[str, Any],
        path: str = "",
        *,
        whole: str = "decision",
        without: frozenset[str] = frozenset(),
    ) -> dict[str, Any] | None:
        """The fields of a struct that are given and fit; None, where one it must have is not among them.

        `whole` is what is then left out, where the struct is no part of another.
        """
        before = len(self._notes.losses)
        spelled = {_name_of(struct, key): key for key in given}
        values: dict[str, Any] = {}
        missing = False
        for name, (info, required) in _fields_of(struct).items():
            if name in without:
                continue
            key = spelled.get(name)
            value = given[key] if key is not None else None
            at = f"{path}.{name}" if path else name
            if value is None or (value in _EMPTY and not required):
                if required:
                    self.lose(at, None, f"{allowed(info)}, which must be there")
                    missing = True
                continue
            fitted = self.take(info, value, at)
            if fitted is not _LEFT_OUT and (fitted not in _EMPTY or required):
                values[name] = fitted
            missing |= required and fitted is _LEFT_OUT
        for name, key in spelled.items():
            if name not in _fields_of(struct) and given[key] is not None and path:
                self._notes.no_place[re.sub(r"\[\d+\]", "[]", f"{path}.{key}")] += 1
        if missing:
            for loss in self._notes.losses[before:]:
                loss.left_out = path or whole
            return None
        return values

    def lose(self, field: str, value: object, must_be: str, left_out: str | None = None) -> None:
        """Note a value of this decision that is left out."""
        self._notes.lose(self._file, field, value, must_be, left_out, self._id)

    def take(self, info: inspect.Type, value: object, path: str) -> object:
        """The value in its field's type, or as much of it as fits."""
        bare = plain(info)
        try:
            match bare:
                case inspect.StructType(cls=struct):
                    return self._struct(struct, value, path)
                case inspect.VarTupleType(item_type=item):
                    return self._items(item, value, path)
                case inspect.DictType(value_type=inner):
                    return self._mapping(inner, value, path)
                case _:
                    return _leaf(bare, value)
        except Unfit as unfit:
            self.lose(path, value, str(unfit))
            return _LEFT_OUT

    def _struct(self, struct: type[msgspec.Struct], value: object, path: str) -> object:
        if not isinstance(value, Mapping):
            raise Unfit("an object")
        values = self.fields(struct, value, path)
        return _LEFT_OUT if values is None else struct(**values)

    def _items(self, item: inspect.Type, value: object, path: str) -> object:
        if isinstance(value, str) and isinstance(plain(item), inspect.StrType):
            value = [value]
        if not isinstance(value, list):
            raise Unfit("a list")
        if len(value) > ITEMS_MAX:
            self.lose(path, f"{len(value)} items", f"at most {ITEMS_MAX} items", f"{path}[{ITEMS_MAX}:]")
        taken = [self.take(item, one, f"{path}[{index}]") for index, one in enumerate(value[:ITEMS_MAX])]
        return tuple(one for one in taken if one is not _LEFT_OUT)

    def _mapping(self, inner: inspect.Type, value: object, path: str) -> object:
        if not isinstance(value, Mapping):
            raise Unfit("an object")
        taken = {str(key): self.take(inner, one, f"{path}.{quoted(key)}") for key, one in value.items()}
        return {key: one for key, one in taken.items() if one is not _LEFT_OUT}


def text(value: object) -> str:
    """A text of whole Unicode characters; a bare number or truth value as it is written. Errors: Unfit."""
    if isinstance(value, Tagged):
        raise Unfit("a plain value without a tag")
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    if not isinstance(value, str):
        raise Unfit("a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unfit("a text of whole Unicode characters") from None
    return value


def moment(value: object) -> datetime:
    """An instant; one without an offset is UTC, and a bare date its first moment. Errors: Unfit."""
    try:
        return instant("time", text(value).strip())
    except InvalidQuery:
        raise Unfit("a date or an RFC 3339 time (2026-02-05, 2026-02-05T14:30:00Z)") from None


def _leaf(info: inspect.Type, value: object) -> object:
    match info:
        case inspect.StrType(min_length=least, max_length=most):
            said = text(value)
            if len(said) < (least or 0) or (most is not None and len(said) > most):
                raise Unfit(f"a text of 1..{most} characters" if most is not None else "a text that is not empty")
            return said
        case inspect.LiteralType(values=values):
            word = text(value).strip().lower()
            if word not in values:
                raise Unfit(allowed(info))
            return word
        case inspect.FloatType(ge=low, le=high):
            return _within(_real(value, info), low, high, info)
        case inspect.IntType(ge=low, le=high):
            number = _within(_real(value, info), low, high, info)
            if number != int(number):
                raise Unfit(allowed(info))
            return int(number)
        case inspect.BoolType():
            return _truth(value)
        case inspect.DateTimeType():
            return moment(value)
    raise AssertionError(f"the vocabulary has a type that is not fitted here: {info}")


def _real(value: object, info: inspect.Type) -> float:
    """A finite number. Errors: Unfit."""
    if isinstance(value, str) and _number.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        raise Unfit(allowed(info))
    if math.isnan(value):
        raise Unfit(allowed(info))
    return value + 0.0


def _within(number: float, low: float | None, high: float | None, info: inspect.Type) -> float:
    if (low is not None and number < low) or (high is not None and number > high):
        raise Unfit(allowed(info))
    return number


def _truth(value: object) -> bool:
    known = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(known, bool):
        raise Unfit("true or false")
    return known


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, tuple[inspect.Type, bool]]:
    """Name to type and whether it must be there."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {field.name: (field.type, field.required) for field in info.fields}


@lru_cache(4096)
def _name_of(struct: type[msgspec.Struct], key: str) -> str:
    """The field that a key means: by its name, in camelCase, or by CSTP's other word for it."""
    for name in _fields_of(struct):
        if key in {name, _capital.sub(lambda found: found[1].upper(), name), _ALIASES.get(name)}:
            return name
    return key
