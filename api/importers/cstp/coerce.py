"""Values as CSTP stored them to the vocabulary's fields: all that fits is kept, the rest is noted, value by value.

A value that does not fit is left out together with the smallest thing that cannot be without it: a reason without a
text, a step without a thought, at last the decision without its words. Numbers written as text count as numbers, as
they do for CSTP; nothing is guessed.
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
from api.importers.cstp.report import ReportBuilder, quoted
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
"""What CSTP also writes where nothing was said."""
_LEFT_OUT: Any = object()


class CoercionError(Exception):
    """A value that its field cannot have; the text says what it can."""


class Coercion:
    """The fitting of one decision's values, noted under its file and id."""

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
        """The fields of a struct that are given and fit; None, where one it must have is not among them.

        `whole` is what is then left out, where the struct is no part of another.
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
                fitted = self.take(field.fit, value, f"{path}.{name}" if path else name)
                if fitted is not _LEFT_OUT and (field.required or fitted not in _EMPTY):
                    values[name] = fitted
        for name in _required_of(struct) - without - values.keys():
            missing = True
            if given.get(name) is None:
                self.lose(f"{path}.{name}" if path else name, None, f"{fields[name].must_be}, which must be there")
        if missing:
            for loss in self._notes.losses[before:]:
                loss.left_out = path or whole
            return None
        return values

    def lose(self, field: str, value: object, must_be: str, left_out: str | None = None) -> None:
        """Note a value of this decision that is left out."""
        self._notes.lose(self._file, field, value, must_be, left_out, self._id)

    def take(self, fit: "_Fit", value: object, path: str) -> object:
        """The value in its field's type, or as much of it as fits."""
        try:
            return fit(self, value, path)
        except CoercionError as unfit:
            self.lose(path, value, str(unfit))
            return _LEFT_OUT


_Fit = Callable[[Coercion, object, str], object]


class _Field(NamedTuple):
    """How a field's value is fitted, whether it must be there, and what it may be in words."""

    fit: _Fit
    required: bool
    must_be: str


def _fit_of(info: inspect.Type) -> _Fit:
    """How a value is fitted to a type."""
    bare = strip_annotations(info)
    match bare:
        case inspect.StructType(cls=struct):
            return _fit_of_struct(struct)
        case inspect.VarTupleType(item_type=item):
            return _fit_of_items(_fit_of(item), texts=isinstance(strip_annotations(item), inspect.StrType))
        case inspect.DictType(value_type=value):
            return _fit_of_mapping(_fit_of(value))
        case _:
            leaf = _leaf_of(bare)
            return lambda fitting, value, path: leaf(value)


def _fit_of_struct(struct: type[msgspec.Struct]) -> _Fit:
    def fit(fitting: Coercion, value: object, path: str) -> object:
        if not isinstance(value, dict):
            raise CoercionError("an object")
        values = fitting.fields(struct, value, path)
        return _LEFT_OUT if values is None else struct(**values)

    return fit


def _fit_of_items(item: _Fit, *, texts: bool) -> _Fit:
    def fit(fitting: Coercion, value: object, path: str) -> object:
        if texts and isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            raise CoercionError("a list")
        if len(value) > ITEMS_MAX:
            must_be = f"at most {ITEMS_MAX} items"
            fitting.lose(path, f"{len(value)} items", must_be, f"{path}[{ITEMS_MAX}:]")
        taken = [fitting.take(item, one, f"{path}[{index}]") for index, one in enumerate(value[:ITEMS_MAX])]
        return tuple(one for one in taken if one is not _LEFT_OUT)

    return fit


def _fit_of_mapping(inner: _Fit) -> _Fit:
    def fit(fitting: Coercion, value: object, path: str) -> object:
        if not isinstance(value, dict):
            raise CoercionError("an object")
        taken = {str(key): fitting.take(inner, one, f"{path}.{quoted(key)}") for key, one in value.items()}
        return {key: one for key, one in taken.items() if one is not _LEFT_OUT}

    return fit


def text(value: object) -> str:
    """A text of whole Unicode characters; a bare number or truth value as it is written. Errors: Unfit."""
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


def moment(value: object) -> datetime:
    """An instant; one without an offset is UTC, and a bare date its first moment. Errors: Unfit."""
    try:
        return parse_instant("time", text(value).strip())
    except InvalidQuery:
        raise CoercionError("a date or an RFC 3339 time (2026-02-05, 2026-02-05T14:30:00Z)") from None


def _leaf_of(info: inspect.Type) -> Callable[[object], object]:
    """How a single value is fitted to a type."""
    must_be = describe_type(info)
    match info:
        case inspect.StrType(min_length=least, max_length=most):
            return partial(_text_within, least or 0, most)
        case inspect.LiteralType(values=values):
            return partial(_word_of, frozenset(values), must_be)
        case inspect.FloatType(ge=low, le=high):
            return partial(_number_within, low, high, must_be)
        case inspect.IntType(ge=low, le=high):
            return partial(_whole_within, low, high, must_be)
        case inspect.BoolType():
            return _truth
        case inspect.DateTimeType():
            return moment
    raise AssertionError(f"the vocabulary has a type that is not fitted here: {info}")


def _text_within(least: int, most: int | None, value: object) -> str:
    said = text(value)
    if len(said) < least or (most is not None and len(said) > most):
        raise CoercionError(f"a text of 1..{most} characters" if most is not None else "a text that is not empty")
    return said


def _word_of(words: frozenset[object], must_be: str, value: object) -> str:
    word = text(value).strip().lower()
    if word not in words:
        raise CoercionError(must_be)
    return word


def _number_within(low: float | None, high: float | None, must_be: str, value: object) -> float:
    """A finite number, given as one or as its text."""
    if isinstance(value, str) and _number.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise CoercionError(must_be)
    if (low is not None and value < low) or (high is not None and value > high):
        raise CoercionError(must_be)
    return value + 0.0


def _whole_within(low: float | None, high: float | None, must_be: str, value: object) -> int:
    number = _number_within(low, high, must_be, value)
    if number != int(number):
        raise CoercionError(must_be)
    return int(number)


def _truth(value: object) -> bool:
    known = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(known, bool):
        raise CoercionError("true or false")
    return known


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, _Field]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {field.name: _Field(_fit_of(field.type), field.required, describe_type(field.type)) for field in info.fields}


@cache
def _required_of(struct: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(name for name, field in _fields_of(struct).items() if field.required)


@lru_cache(4096)
def _name_of(struct: type[msgspec.Struct], key: str) -> str:
    """The field that a key means: by its name, in camelCase, or by CSTP's other word for it."""
    for name in _fields_of(struct):
        if key in {name, _capital.sub(lambda found: found[1].upper(), name), _ALIASES.get(name)}:
            return name
    return key
