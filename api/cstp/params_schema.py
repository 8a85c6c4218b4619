"""Convert parameters to structs, with the protocol's spellings and defaults. One error names every wrong parameter.

A field may be spelled as in the struct, in camelCase, or by an alias. Unknown fields are ignored, as in the protocol.
`null` means that a parameter is absent; so does an empty text, if the field cannot be empty, and a text of spaces, if
it is required too. Types are strict: a number is not accepted for a text. But as on the reference server, a text may
state a number ("0.7"), and a method that reads ignores an unknown word. A time is a text, and may be a
date.

A call with parameters that the reference server takes, although their values are not of the documented form, succeeds.
In its answer, `ignored` names the parameters whose value was not used as it was sent, and `used` has the values that
were used in their place, such as 0.7 for "0.7".
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import inspect, structs

from api.cstp.jsonrpc import RpcError
from api.errors import INVALID_PARAMS
from api.parameters import collect_assumed_utc, parse_instant
from api.service.agent_calls.answer_names import to_camel
from api.service.ledger import View
from api.type_description import describe_type, strip_annotations
from events.decode_error_messages import in_json_words, json_type
from events.limits import EVENT_ID_CHARS_MAX, STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE
from ledger.errors import InvalidQuery

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T", bound=msgspec.Struct)

KEY = "idempotency_key"
"""The field of the key with which a client makes a retry safe. It becomes the id of the event."""

_NAME_PATTERN = STREAM_ID_PATTERN.removesuffix("$") + r"\Z"

DecisionName = Annotated[str, msgspec.Meta(min_length=1, max_length=STREAM_ID_CHARS_MAX, pattern=_NAME_PATTERN)]
"""The id of a decision that need not be in the ledger."""

_got = re.compile(r"got `(\w+)`")


class ParameterError(NamedTuple):
    """A wrong parameter, as the caller spelled it, and the rule that it breaks."""

    field: str
    rule: str


def wrong_params_error(errors: list[ParameterError]) -> RpcError:
    """Return the error that names every wrong parameter."""
    message = "; ".join(f"{field}: {rule}" for field, rule in errors)
    return RpcError(INVALID_PARAMS, f"Validation failed: {message}", {"fields": [field for field, _ in errors]})


def missing_param_error(name: str) -> RpcError:
    """Return the error for a required parameter that is missing."""
    return RpcError(INVALID_PARAMS, f"Missing required parameter: {name}", {"fields": [name]})


def check_errors(errors: list[ParameterError]) -> None:
    """Refuse a call with wrong parameters. Errors: RpcError."""
    if errors:
        raise wrong_params_error(errors)


class ParamsSchema(Generic[S]):
    """Converts the parameters of a call to a struct, such as that of an operation.

    `aliases` are further spellings of a field; errors use the first. `types` are other types of fields. `defaults`
    replace absent values. `only` are the fields that the protocol has, by default all but those in `without`. `inner`
    are the schemas of nested structs. `reads` is for parameters that only select or arrange what is read: words that
    the type lacks are ignored, and an empty text is absent.
    """

    def __init__(
        self,
        struct: type[S],
        *,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        types: Mapping[str, Any] | None = None,
        defaults: Mapping[str, object] | None = None,
        only: Sequence[str] | None = None,
        without: Sequence[str] = (),
        inner: "Mapping[str, ParamsSchema[Any]] | None" = None,
        reads: bool = False,
    ) -> None:
        self.struct = struct
        self._defaults = dict(defaults or {})
        self._fields: dict[str, _Field] = {}
        self._field_names: dict[str, str] = {}
        for field in structs.fields(struct):
            if field.name in without or (only is not None and field.name not in only):
                continue
            spellings = (*(aliases or {}).get(field.name, ()), to_camel(field.name), field.name)
            required = field.required and field.name not in self._defaults
            kind = (types or {}).get(field.name, field.type)
            self._fields[field.name] = _Field(
                spellings[0],
                kind,
                required,
                (inner or {}).get(field.name),
                reads=reads,
                optional=field.default is None,
                is_key=field.name == KEY,
            )
            self._field_names.update(dict.fromkeys(spellings, field.name))

    def decode(self, params: Mapping[str, Any]) -> S:
        """Return the struct. Errors: RpcError, naming every wrong parameter."""
        errors: list[ParameterError] = []
        values = self.convert(params, errors)
        check_errors(errors)
        return self.struct(**values)

    def convert(self, params: Mapping[str, Any], errors: list[ParameterError], path: str = "") -> dict[str, Any]:
        """Return the values of the struct's fields. Wrong parameters are added to `errors`, and have no value."""
        spelled: dict[str, str] = {}
        for spelling, value in params.items():
            name = self._field_names.get(spelling)
            if name is not None and not self._fields[name].absent(value):
                spelled.setdefault(name, spelling)
        values = dict(self._defaults)
        for name, field in self._fields.items():
            param = spelled.get(name)
            if param is not None:
                value = field.convert(params[param], errors, f"{path}{param}")
                if value is not None:
                    values[name] = value
            elif field.required:
                errors.append(ParameterError(f"{path}{field.spelling}", field.rule_when_missing(nested=bool(path))))
        since, until = values.get("since"), values.get("until")
        if isinstance(since, datetime) and isinstance(until, datetime) and since > until:
            errors.append(ParameterError(f"{path}{spelled['since']}", "begins after until ends. Exchange them."))
        return values

    def spelling(self, name: str, params: Mapping[str, Any]) -> str:
        """Return the caller's spelling of a field, or the default spelling if it is absent."""
        field = self._fields[name]
        for spelling, value in params.items():
            if self._field_names.get(spelling) == name and not field.absent(value):
                return spelling
        return field.spelling

    def states(self, name: str, params: Mapping[str, Any]) -> bool:
        """Return whether a call states a field."""
        return self.spelling(name, params) in params

    def convert_object(self, value: object, errors: list[ParameterError], path: str) -> S | None:
        """Return the struct of a nested object; None if the object is wrong, which is added to `errors`."""
        if not isinstance(value, dict):
            errors.append(ParameterError(path, f"must be an object, got {json_type(value)}"))
            return None
        errors_before = len(errors)
        values = self.convert(value, errors, f"{path}.")
        return self.struct(**values) if len(errors) == errors_before else None


def decode_both(first: ParamsSchema[S], second: ParamsSchema[T], params: Mapping[str, Any]) -> tuple[S, T]:
    """Return two structs of the same parameters. Errors: RpcError, naming every wrong parameter."""
    errors: list[ParameterError] = []
    values, others = first.convert(params, errors), second.convert(params, errors)
    check_errors(errors)
    return first.struct(**values), second.struct(**others)


class _Field:
    """One parameter: its default spelling, its type, whether it is required, and the schema of a nested struct.

    An `optional` one is None by default.
    """

    def __init__(
        self,
        spelling: str,
        kind: object,
        required: bool,
        schema: ParamsSchema[Any] | None,
        *,
        reads: bool,
        optional: bool,
        is_key: bool,
    ) -> None:
        declared = inspect.type_info(kind)
        info = strip_annotations(declared)
        extra = (declared.extra or {}) if isinstance(declared, inspect.Metadata) else {}
        self._word_aliases: Mapping[str, str] = extra.get("aliases", {})
        self._is_time, self._is_end = isinstance(info, inspect.DateTimeType), bool(extra.get("end"))
        if self._is_time:
            kind, info = str | None, inspect.StrType()
        self.spelling = spelling
        self.required = required
        self.kind: Any = kind
        self._is_key = is_key
        self._is_list = isinstance(info, inspect.VarTupleType)
        self._length_max = info.max_length if isinstance(info, inspect.VarTupleType) else None
        self._is_literal = isinstance(info, inspect.LiteralType)
        self._empty_is_absent = (
            self._is_literal
            or bool(getattr(info, "min_length", None))
            or (reads and optional and isinstance(info, inspect.StrType))
        )
        names_stream = isinstance(info, inspect.StrType) and info.pattern == _NAME_PATTERN
        self._allowed = STREAM_ID_SHAPE if names_stream else describe_type(info)
        item = strip_annotations(info.item_type) if isinstance(info, inspect.VarTupleType) else info
        self.words: frozenset[object] | None = None
        if reads and isinstance(item, inspect.LiteralType):
            self.words = frozenset((*item.values, *self._word_aliases))
        self.number = (
            int if isinstance(info, inspect.IntType) else float if isinstance(info, inspect.FloatType) else None
        )
        self._schema = schema or (ParamsSchema(item.cls) if isinstance(item, inspect.StructType) else None)

    def absent(self, value: object) -> bool:
        if not isinstance(value, str):
            return value is None
        return self._empty_is_absent and (not value or (self.required and value.isspace()))

    def rule_when_missing(self, *, nested: bool) -> str:
        if self._is_literal:
            return f"must be {self._allowed}"
        return "required" if nested else "required field"

    def convert(self, value: object, errors: list[ParameterError], path: str) -> object:
        """Convert a value; None if it is wrong, which is added to `errors`."""
        if self._schema is None:
            return self._convert_leaf(value, errors, path)
        if not self._is_list:
            return self._schema.convert_object(value, errors, path)
        objects = "objects" if self._length_max is None else f"at most {self._length_max} objects"
        if not isinstance(value, list):
            errors.append(ParameterError(path, f"must be a list of {objects}, got {json_type(value)}"))
            return None
        if self._length_max is not None and len(value) > self._length_max:
            errors.append(ParameterError(path, f"must be a list of {objects}, got {len(value)}"))
            return None
        return tuple(self._schema.convert_object(item, errors, f"{path}[{index}]") for index, item in enumerate(value))

    def _convert_leaf(self, value: object, errors: list[ParameterError], path: str) -> object:
        readable = self._without_unknown_words(value)
        if self.number is not None and isinstance(value, str):
            readable = read_number(value, self.number)
        word = self._word_aliases.get(readable, readable) if isinstance(readable, str) else readable
        try:
            converted = None if word is None else msgspec.convert(word, self.kind)
        except msgspec.ValidationError as error:
            got = _got.search(in_json_words(str(error)))
            errors.append(ParameterError(path, f"must be {self._allowed}{f', got {got[1]}' if got else ''}"))
            return None
        if readable is not value:
            tolerate(path, converted)
        if isinstance(converted, str) and self._is_key and not converted.isprintable():
            errors.append(ParameterError(path, f"must be 1..{EVENT_ID_CHARS_MAX} printable characters"))
        if isinstance(converted, str) and self._is_time:
            return self._parse_time(converted, errors, path)
        return converted

    def _parse_time(self, text: str, errors: list[ParameterError], path: str) -> datetime | None:
        try:
            with collect_assumed_utc() as assumed:
                moment = parse_instant(path, text, end=self._is_end)
        except InvalidQuery as error:
            errors.append(ParameterError(path, f"{error.cause} {error.full_advice}".rstrip()))
            return None
        for name, time in assumed.items():
            tolerate(name, time)
        return moment

    def _without_unknown_words(self, value: object) -> object:
        """Return a value without words that the type does not have; None for a single unknown word."""
        if self.words is None:
            return value
        if isinstance(value, str) and not self._is_list:
            return value if value in self.words else None
        if isinstance(value, list) and any(isinstance(word, str) and word not in self.words for word in value):
            return [word for word in value if not isinstance(word, str) or word in self.words]
        return value


def merge_filters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `filters` with the parameters beside it; `filters` takes precedence. Errors: RpcError."""
    filters = params.get("filters", {})
    if filters is None:
        tolerate("filters")
        filters = {}
    if not isinstance(filters, dict):
        raise wrong_params_error([ParameterError("filters", f"must be an object, got {json_type(filters)}")])
    inside = {name: value for name, value in filters.items() if value is not None}
    beside = {name: value for name, value in params.items() if name != "filters" and name not in inside}
    return {**inside, **beside}


class _AsOf(msgspec.Struct, frozen=True, kw_only=True):
    as_of: str | None = None


_as_of: ParamsSchema[_AsOf] = ParamsSchema(_AsOf)


async def view_of(view: View, params: Mapping[str, Any]) -> View:
    """Return the view as of `asOf`, a position or a time; without it, the given one. Errors: RpcError, InvalidQuery."""
    numbers = {name: str(params[name]) for name in ("as_of", "asOf") if type(params.get(name)) is int}
    when = _as_of.decode({**params, **numbers}).as_of
    return view if when is None else await view.as_of(when, _as_of.spelling("as_of", params))


_whole = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_decimal = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE)

_current: ContextVar[dict[str, object] | None] = ContextVar("tolerated", default=None)


@contextmanager
def collect_tolerated() -> Iterator[dict[str, object]]:
    """Collect the parameters that are tolerated meanwhile: the value used for each, None if it counts as absent."""
    tolerated: dict[str, object] = {}
    token = _current.set(tolerated)
    try:
        yield tolerated
    finally:
        _current.reset(token)


def tolerate(field: str, used: object = None) -> None:
    """Note that the value of a parameter was ignored, and the value that was used in its place."""
    tolerated = _current.get()
    if tolerated is not None and tolerated.get(field) is None:
        tolerated[field] = used


def name_tolerated(result: object, tolerated: dict[str, object]) -> object:
    """Return the result of a call with the names of the tolerated parameters."""
    if not tolerated or not isinstance(result, dict):
        return result
    ignored = dict.fromkeys([*result.get("ignored", []), *tolerated])
    used = {field: value for field, value in tolerated.items() if value is not None}
    return {**result, "ignored": list(ignored), **({"used": used} if used else {})}


def read_number(text: str, kind: type[int] | type[float]) -> object:
    """Return the number that a text states, or the text itself if it states none."""
    if kind is int:
        return int(text) if _whole.fullmatch(text) else text
    number = float(text) if _decimal.fullmatch(text) else math.nan
    return number if math.isfinite(number) else text
