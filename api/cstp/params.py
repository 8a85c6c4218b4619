"""Parameters to structs: every spelling the protocol knows, its defaults, and all that is wrong in one answer.

A field may be spelled as the struct names it, in camelCase, or by an alias. An unknown one is passed over, as the
protocol does; `null`, and an empty text where an empty one says nothing, are the same as absent. Types are strict: a
number is no text and a text no number.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import inspect, structs

from api.cstp.jsonrpc import RpcError
from api.errors import INVALID_PARAMS
from api.parameters import parse_time_range
from api.type_text import describe_type, strip_annotations
from ledger.errors import InvalidQuery
from projections.time_range import TimeRange

S = TypeVar("S", bound=msgspec.Struct)

_underscored = re.compile(r"_([a-z])")
_got = re.compile(r"got `(\w+)`")


class ParameterError(NamedTuple):
    """A parameter as the caller spelled it, and what it must be."""

    field: str
    rule: str


def refusal(wrong: list[ParameterError]) -> RpcError:
    """The error that names every parameter that is wrong."""
    message = "; ".join(f"{field}: {rule}" for field, rule in wrong)
    return RpcError(INVALID_PARAMS, f"Validation failed: {message}", {"fields": [field for field, _ in wrong]})


def missing(name: str) -> RpcError:
    """The error for a parameter without which a method has nothing to do."""
    return RpcError(INVALID_PARAMS, f"Missing required parameter: {name}", {"fields": [name]})


class ParamsSchema(Generic[S]):
    """How the parameters of a call become a struct.

    `aliases` are further spellings of a field, the first of which errors use; `types` are narrower types; `defaults`
    stand for what is absent; `without` are fields that no parameter sets; `inner` are the shapes of structs within.
    """

    def __init__(
        self,
        struct: type[S],
        *,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        types: Mapping[str, Any] | None = None,
        defaults: Mapping[str, object] | None = None,
        without: tuple[str, ...] = (),
        inner: "Mapping[str, ParamsSchema[Any]] | None" = None,
    ) -> None:
        self._struct = struct
        self._defaults = dict(defaults or {})
        self._fields: dict[str, _Field] = {}
        self._names: dict[str, str] = {}
        for field in structs.fields(struct):
            if field.name in without:
                continue
            spellings = (*(aliases or {}).get(field.name, ()), camel(field.name), field.name)
            required = field.required and field.name not in self._defaults
            kind = (types or {}).get(field.name, field.type)
            self._fields[field.name] = _Field(spellings[0], kind, required, (inner or {}).get(field.name))
            self._names.update(dict.fromkeys(spellings, field.name))
        leaves = [(name, field.kind, msgspec.field(default=None)) for name, field in self._fields.items() if field.leaf]
        self._leaves = msgspec.defstruct(f"{struct.__name__}Leaves", leaves)

    def decode(self, given: Mapping[str, Any]) -> S:
        """The struct. Errors: RpcError, naming every parameter that is wrong."""
        wrong: list[ParameterError] = []
        values = self.take(given, wrong)
        if wrong:
            raise refusal(wrong)
        return self._struct(**values)

    def take(self, given: Mapping[str, Any], wrong: list[ParameterError], path: str = "") -> dict[str, Any]:
        """The values of the struct's fields; what is wrong is added to a list, and its value left out."""
        spelled: dict[str, str] = {}
        for spelling, value in given.items():
            name = self._names.get(spelling)
            if name is not None and not self._fields[name].absent(value):
                spelled.setdefault(name, spelling)
        leaves = self._convert({name: given[at] for name, at in spelled.items() if self._fields[name].leaf})
        values = dict(self._defaults)
        for name, field in self._fields.items():
            at = spelled.get(name)
            if at is not None and leaves is not None and field.leaf:
                values[name] = getattr(leaves, name)
            elif at is not None:
                found = field.take(given[at], wrong, f"{path}{at}")
                if found is not None:
                    values[name] = found
            elif field.required:
                wrong.append(ParameterError(f"{path}{field.spelling}", field.rule_when_missing(nested=bool(path))))
        return values

    def _convert(self, given: dict[str, Any]) -> msgspec.Struct | None:
        """All values that are no structs at once; None where one of them is wrong, to be found one by one.

        (One by one takes one to two microseconds each, all at once half of one: a struct's type is worked out once.)
        """
        try:
            return msgspec.convert(given, self._leaves)
        except msgspec.ValidationError:
            return None

    def spelling(self, name: str, given: Mapping[str, Any]) -> str:
        """A field as the caller spelled it, or as errors do where it is absent."""
        field = self._fields[name]
        spelled = (at for at, value in given.items() if self._names.get(at) == name and not field.absent(value))
        return next(spelled, field.spelling)

    def make(self, value: object, wrong: list[ParameterError], path: str) -> S | None:
        """The struct of an object within the parameters; None where something is wrong."""
        if not isinstance(value, dict):
            wrong.append(ParameterError(path, f"must be an object, got {type(value).__name__}"))
            return None
        before = len(wrong)
        values = self.take(value, wrong, f"{path}.")
        return self._struct(**values) if len(wrong) == before else None


class _Field:
    """One parameter: its chief spelling, its type, whether it must be there, and the shape of a struct within."""

    def __init__(self, spelling: str, kind: object, required: bool, shape: ParamsSchema[Any] | None) -> None:
        info = strip_annotations(inspect.type_info(kind))
        self.spelling = spelling
        self.required = required
        self.kind: Any = kind
        self._many = isinstance(info, inspect.VarTupleType)
        self._length_max = info.max_length if isinstance(info, inspect.VarTupleType) else None
        self._no_empty = isinstance(info, inspect.LiteralType) or bool(getattr(info, "min_length", None))
        self._allowed = describe_type(info)
        self._literal = isinstance(info, inspect.LiteralType)
        item = strip_annotations(info.item_type) if isinstance(info, inspect.VarTupleType) else info
        self._shape = shape or (ParamsSchema(item.cls) if isinstance(item, inspect.StructType) else None)
        self.leaf = self._shape is None

    def absent(self, value: object) -> bool:
        return value is None or (value == "" and self._no_empty)

    def rule_when_missing(self, *, nested: bool) -> str:
        if self._literal:
            return f"must be {self._allowed}"
        return "required" if nested else "required field"

    def take(self, value: object, wrong: list[ParameterError], path: str) -> object:
        """The value, converted; None where it is wrong."""
        if self._shape is None:
            try:
                return msgspec.convert(value, self.kind)
            except msgspec.ValidationError as error:
                got = _got.search(str(error))
                wrong.append(ParameterError(path, f"must be {self._allowed}{f', got {got[1]}' if got else ''}"))
                return None
        if not self._many:
            return self._shape.make(value, wrong, path)
        objects = "objects" if self._length_max is None else f"at most {self._length_max} objects"
        if not isinstance(value, list):
            wrong.append(ParameterError(path, f"must be a list of {objects}, got {type(value).__name__}"))
            return None
        if self._length_max is not None and len(value) > self._length_max:
            wrong.append(ParameterError(path, f"must be a list of {objects}, got {len(value)}"))
            return None
        return tuple(self._shape.make(item, wrong, f"{path}[{index}]") for index, item in enumerate(value))


@cache
def camel(name: str) -> str:
    """A name in snake_case, in camelCase."""
    return _underscored.sub(lambda found: found[1].upper(), name)


def told(struct: msgspec.Struct) -> object:
    """A struct, and those within it, as objects with camelCase names."""
    return _camelled(msgspec.to_builtins(struct, builtin_types=(datetime,)))


def _camelled(value: object) -> object:
    if isinstance(value, Mapping):
        return {camel(name): _camelled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_camelled(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value


def merged(params: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in `filters`, and what stands beside it where `filters` does not say. Errors: RpcError."""
    filters = params.get("filters", {})
    if not isinstance(filters, dict):
        raise refusal([ParameterError("filters", f"must be an object, got {type(filters).__name__}")])
    inside = {name: value for name, value in filters.items() if value is not None}
    beside = {name: value for name, value in params.items() if name != "filters" and name not in inside}
    return {**inside, **beside}


def period_of(
    since: str | None,
    until: str | None,
    now: datetime,
    *,
    window: str | None = None,
    names: tuple[str, str] = ("since", "until"),
) -> TimeRange:
    """A range from instants or dates, both ends included; a window counts back from now and beats `since`.

    `names` are what the method calls the two ends. Errors: RpcError.
    """
    given = {"since": since, "until": until, "window": window}
    try:
        return parse_time_range({name: text for name, text in given.items() if text is not None}, now)
    except InvalidQuery as error:
        raise _renamed(error, names) from None


def _renamed(error: InvalidQuery, names: tuple[str, str]) -> RpcError:
    field = {"since": names[0], "until": names[1]}.get(error.field, error.field)
    rule = str(error).removeprefix(f"{error.field}: ")
    return refusal([ParameterError(field, rule)])
