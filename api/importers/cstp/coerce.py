"""Convert CSTP's values to the fields of our events: keep what fits, and note the rest value by value.

A value that does not fit is left out, with the smallest part that requires it: a reason without a text, a step without
a thought, or the whole decision without its text. Numbers written as text are numbers, as for CSTP. Nothing is guessed.
"""

import re
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from api.importers.cstp.cstp_yaml import TaggedValue
from api.importers.cstp.report import ReportBuilder, quote
from api.parameters import parse_instant
from api.type_text import describe_type, strip_annotations
from events.limits import ITEMS_MAX
from ledger.errors import InvalidQuery

_number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_index = re.compile(r"\[\d+\]")
_capital = re.compile(r"_([a-z])")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ALIASES = {"function": "purpose"}
_EMPTY: tuple[object, ...] = ("", [], (), {})
"""Values that CSTP writes for fields without a value."""
_LEFT_OUT: Any = object()


class CoercionError(Exception):
    """A value that its field cannot have; the text says what is allowed."""


class Coercion:
    """Converts the values of one decision; losses are noted with its file and id."""

    def __init__(self, notes: ReportBuilder, file: str, decision_id: str | None) -> None:
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
        """Return the given fields of a struct that fit; None, if a required one is missing.

        `whole` names what is then left out, unless the struct is part of another.
        """
        before = len(self._notes.losses)
        fields, missing = _fields_of(struct), False
        values: dict[str, Any] = {}
        for key, value in given.items():
            name = key if key in fields else _name_of(struct, key)
            field = fields.get(name)
            if field is None:
                if path and value is not None:
                    self._notes.no_place[_index.sub("[]", f"{path}.{key}")] += 1
            elif value is not None and name not in without and (field.required or value not in _EMPTY):
                converted = self.convert(field.convert, value, f"{path}.{name}" if path else name)
                if converted is not _LEFT_OUT and (field.required or converted not in _EMPTY):
                    values[name] = converted
        for name in _required_of(struct) - without - values.keys():
            missing = True
            if given.get(name) is None:
                self.lose(f"{path}.{name}" if path else name, None, f"{fields[name].allowed}, which is required")
        if missing:
            for loss in self._notes.losses[before:]:
                loss.left_out = path or whole
            return None
        return values

    def lose(self, field: str, value: object, must_be: str, left_out: str | None = None) -> None:
        """Note a value of this decision that is left out."""
        self._notes.lose(self._file, field, value, must_be, left_out, self._id)

    def convert(self, convert: "_Convert", value: object, path: str) -> object:
        """Return the value in its field's type, or as much of it as fits."""
        try:
            return convert(self, value, path)
        except CoercionError as error:
            self.lose(path, value, str(error))
            return _LEFT_OUT


_Convert = Callable[[Coercion, object, str], object]


class _Field(NamedTuple):
    """How to convert a field's value, whether it is required, and what is allowed, in words."""

    convert: _Convert
    required: bool
    allowed: str


def _converter(info: inspect.Type) -> _Convert:
    """Return the function that converts a value to a type."""
    bare = strip_annotations(info)
    match bare:
        case inspect.StructType(cls=struct):
            return partial(_to_struct, struct)
        case inspect.VarTupleType(item_type=item):
            return partial(_to_items, _converter(item), isinstance(strip_annotations(item), inspect.StrType))
        case inspect.DictType(value_type=value):
            return partial(_to_mapping, _converter(value))
        case _:
            single = _single_converter(bare)
            return lambda coercion, value, path: single(value)


def _to_struct(struct: type[msgspec.Struct], coercion: Coercion, value: object, path: str) -> object:
    if not isinstance(value, dict):
        raise CoercionError("an object")
    values = coercion.fields(struct, value, path)
    return _LEFT_OUT if values is None else struct(**values)


def _to_items(item: _Convert, texts: bool, coercion: Coercion, value: object, path: str) -> object:
    if texts and isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise CoercionError("a list")
    if len(value) > ITEMS_MAX:
        coercion.lose(path, f"{len(value)} items", f"at most {ITEMS_MAX} items", f"{path}[{ITEMS_MAX}:]")
    found = [coercion.convert(item, one, f"{path}[{index}]") for index, one in enumerate(value[:ITEMS_MAX])]
    return tuple(one for one in found if one is not _LEFT_OUT)


def _to_mapping(inner: _Convert, coercion: Coercion, value: object, path: str) -> object:
    if not isinstance(value, dict):
        raise CoercionError("an object")
    found = {str(key): coercion.convert(inner, one, f"{path}.{quote(key)}") for key, one in value.items()}
    return {key: one for key, one in found.items() if one is not _LEFT_OUT}


def to_text(value: object) -> str:
    """Return a text of whole Unicode characters; a bare number or boolean as it is written. Errors: CoercionError."""
    if isinstance(value, TaggedValue):
        raise CoercionError("a plain value without a tag")
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    if not isinstance(value, str):
        raise CoercionError("a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CoercionError("a text of whole Unicode characters") from None
    return value


def to_time(value: object) -> datetime:
    """Return an instant; UTC without an offset, midnight for a bare date. Errors: CoercionError."""
    try:
        return parse_instant("time", to_text(value).strip())
    except InvalidQuery:
        raise CoercionError("a date or an RFC 3339 time (2026-02-05, 2026-02-05T14:30:00Z)") from None


def _single_converter(info: inspect.Type) -> Callable[[object], object]:
    match info:
        case inspect.StrType(min_length=least, max_length=most):
            return partial(_to_limited_text, least or 0, most)
        case inspect.LiteralType(values=values):
            return partial(_to_word, frozenset(values), describe_type(info))
        case inspect.FloatType(ge=low, le=high):
            return partial(_to_number, low, high, describe_type(info))
        case inspect.IntType(ge=low, le=high):
            return partial(_to_integer, low, high, describe_type(info))
        case inspect.BoolType():
            return _to_bool
        case inspect.DateTimeType():
            return to_time
    raise AssertionError(f"the vocabulary has a type that this module cannot convert: {info}")


def _to_limited_text(least: int, most: int | None, value: object) -> str:
    text = to_text(value)
    if len(text) < least or (most is not None and len(text) > most):
        raise CoercionError(f"a text of 1..{most} characters" if most is not None else "a text that is not empty")
    return text


def _to_word(words: frozenset[object], allowed_words: str, value: object) -> str:
    word = to_text(value).strip().lower()
    if word not in words:
        raise CoercionError(allowed_words)
    return word


def _to_number(low: float | None, high: float | None, allowed_range: str, value: object) -> float:
    """Return a finite number, given as a number or as a text."""
    if isinstance(value, str) and _number.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise CoercionError(allowed_range)
    if (low is not None and value < low) or (high is not None and value > high):
        raise CoercionError(allowed_range)
    return value + 0.0


def _to_integer(low: float | None, high: float | None, allowed_range: str, value: object) -> int:
    number = _to_number(low, high, allowed_range, value)
    if number != int(number):
        raise CoercionError(allowed_range)
    return int(number)


def _to_bool(value: object) -> bool:
    known = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(known, bool):
        raise CoercionError("true or false")
    return known


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, _Field]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {
        field.name: _Field(_converter(field.type), field.required, describe_type(field.type)) for field in info.fields
    }


@cache
def _required_of(struct: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(name for name, field in _fields_of(struct).items() if field.required)


@lru_cache(4096)
def _name_of(struct: type[msgspec.Struct], key: str) -> str:
    """Return the field that a key names: as it is, in camelCase, or by CSTP's other name for it."""
    for name in _fields_of(struct):
        if key in {name, _capital.sub(lambda found: found[1].upper(), name), _ALIASES.get(name)}:
            return name
    return key
