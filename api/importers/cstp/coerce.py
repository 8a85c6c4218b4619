"""Convert CSTP's values to the fields of our events: keep what fits, and report each value that does not.

A value that does not fit is left out. If it is required, the smallest part that requires it is left out: a reason
without a text, a step without a thought, the whole decision without its text. Numbers may be written as text, as in
CSTP. No value is guessed.
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
from api.importers.cstp.report import CstpImportResult, quote
from api.importers.values import NUMBER, InvalidValue, check_unicode, parse_time
from api.type_description import describe_type, strip_annotations
from events.limits import ITEMS_MAX

_index = re.compile(r"\[\d+\]")
_after_underscore = re.compile(r"_([a-z])")
NO_PLACE = "a field that an event has"
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ALIASES = {"function": "purpose"}
_EMPTY: tuple[object, ...] = ("", [], (), {})
"""Values that CSTP writes for fields without a value."""
_LEFT_OUT: Any = object()
"""Stands for a value that does not fit."""


class Coercion:
    """Converts the values of one decision, or of a line of a file; reports losses with the file and the decision."""

    def __init__(self, report: CstpImportResult, file: str, decision_id: str | None) -> None:
        self._report = report
        self._file = file
        self._decision_id = decision_id

    def fields(
        self,
        struct: type[msgspec.Struct],
        values: Mapping[str, Any],
        path: str = "",
        *,
        left_out: str = "decision",
        except_for: frozenset[str] = frozenset(),
    ) -> dict[str, Any] | None:
        """Return the fields of a struct from values by name, without `except_for`; None if a required one is missing.

        `path` is the place of the struct in the decision. A struct without a path is reported as `left_out` if a
        required field is missing.
        """
        losses_before = len(self._report.losses)
        fields = _fields_of(struct)
        converted: dict[str, Any] = {}
        for key, value in values.items():
            name = key if key in fields else _field_name(struct, key)
            field = fields.get(name)
            if field is None:
                if path and value is not None:
                    self.add_no_place(f"{path}.{key}", value)
            elif value is not None and name not in except_for and (field.required or value not in _EMPTY):
                result = self.convert(field.convert, value, _join(path, name))
                if result is not _LEFT_OUT and (field.required or result not in _EMPTY):
                    converted[name] = result
        found = except_for | converted.keys()
        missing = [name for name, field in fields.items() if field.required and name not in found]
        if not missing:
            return converted
        for name in missing:
            if values.get(name) is None:
                self.add_loss(_join(path, name), None, f"{fields[name].allowed}, which is required")
        for loss in self._report.losses[losses_before:]:
            loss.left_out = path or left_out
        return None

    def add_loss(self, field: str, value: object, allowed: str, left_out: str = "") -> None:
        """Report a value of this decision that is left out."""
        self._report.add_loss(self._file, field, value, allowed, left_out=left_out, decision_id=self._decision_id)

    def add_no_place(self, field: str, value: object) -> None:
        """Report a value of a field that no event has."""
        self._report.no_place[_index.sub("[]", field)] += 1
        self.add_loss(field, value, NO_PLACE)

    def convert(self, convert: "_Convert", value: object, path: str) -> object:
        """Return the value in its field's type, or as much of it as fits."""
        try:
            return convert(self, value, path)
        except InvalidValue as error:
            self.add_loss(path, value, str(error))
            return _LEFT_OUT


_Convert = Callable[[Coercion, object, str], object]


class _Field(NamedTuple):
    """How to convert a field's value, whether it is required, and what is allowed, in words."""

    convert: _Convert
    required: bool
    allowed: str


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


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
        raise InvalidValue("an object")
    values = coercion.fields(struct, value, path)
    return _LEFT_OUT if values is None else struct(**values)


def _to_items(convert: _Convert, texts: bool, coercion: Coercion, value: object, path: str) -> object:
    if texts and isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise InvalidValue("a list")
    if len(value) > ITEMS_MAX:
        coercion.add_loss(path, f"{len(value)} items", f"at most {ITEMS_MAX} items", f"{path}[{ITEMS_MAX}:]")
    items = [coercion.convert(convert, item, f"{path}[{index}]") for index, item in enumerate(value[:ITEMS_MAX])]
    return tuple(item for item in items if item is not _LEFT_OUT)


def _to_mapping(convert: _Convert, coercion: Coercion, value: object, path: str) -> object:
    if not isinstance(value, dict):
        raise InvalidValue("an object")
    items = {str(key): coercion.convert(convert, item, f"{path}.{quote(key)}") for key, item in value.items()}
    return {key: item for key, item in items.items() if item is not _LEFT_OUT}


def to_text(value: object) -> str:
    """Return a text of whole Unicode characters; a bare number or boolean as it is written. Errors: InvalidValue."""
    if isinstance(value, TaggedValue):
        raise InvalidValue("a plain value without a tag")
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    if not isinstance(value, str):
        raise InvalidValue("a text")
    return check_unicode(value)


def to_time(value: object) -> datetime:
    """Return a time; without an offset it is UTC, a date alone is midnight. Errors: InvalidValue."""
    return parse_time(to_text(value).strip())


def _single_converter(info: inspect.Type) -> Callable[[object], object]:
    match info:
        case inspect.StrType(min_length=chars_min, max_length=chars_max):
            return partial(_to_limited_text, chars_min or 0, chars_max)
        case inspect.LiteralType(values=values):
            return partial(_to_word, frozenset(values), describe_type(info))
        case inspect.FloatType(ge=lowest, le=highest):
            return partial(_to_number, lowest, highest, describe_type(info))
        case inspect.IntType(ge=lowest, le=highest):
            return partial(_to_integer, lowest, highest, describe_type(info))
        case inspect.BoolType():
            return _to_bool
        case inspect.DateTimeType():
            return to_time
    raise AssertionError(f"the vocabulary has a type that this module cannot convert: {info}")


def _to_limited_text(chars_min: int, chars_max: int | None, value: object) -> str:
    text = to_text(value)
    if len(text) < chars_min or (chars_max is not None and len(text) > chars_max):
        raise InvalidValue(
            f"a text of 1..{chars_max} characters" if chars_max is not None else "a text that is not empty"
        )
    return text


def _to_word(words: frozenset[object], allowed: str, value: object) -> str:
    word = to_text(value).strip().lower()
    if word not in words:
        raise InvalidValue(allowed)
    return word


def _to_number(lowest: float | None, highest: float | None, allowed: str, value: object) -> float:
    """Return a finite number, given as a number or as a text."""
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise InvalidValue(allowed)
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        raise InvalidValue(allowed)
    return value + 0.0


def _to_integer(lowest: float | None, highest: float | None, allowed: str, value: object) -> int:
    number = _to_number(lowest, highest, allowed, value)
    if number != int(number):
        raise InvalidValue(allowed)
    return int(number)


def _to_bool(value: object) -> bool:
    boolean = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(boolean, bool):
        raise InvalidValue("true or false")
    return boolean


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, _Field]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {
        field.name: _Field(_converter(field.type), field.required, describe_type(field.type)) for field in info.fields
    }


@lru_cache(4096)
def _field_name(struct: type[msgspec.Struct], key: str) -> str:
    """Return the field that a key names as it is, in camelCase, or by CSTP's other name for it."""
    for name in _fields_of(struct):
        if key in {name, _after_underscore.sub(lambda match: match[1].upper(), name), _ALIASES.get(name)}:
            return name
    return key
