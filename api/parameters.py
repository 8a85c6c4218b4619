"""Declare the parameters of queries, and parse their values.

A struct declares the parameters of an operation: each field is one. Its type is `Annotated` with a `Meta` of its
meaning and bounds; `extra` of the Meta has `aliases` of a choice, or `end` for the time that ends a period. Every
interface takes the parameters from these fields, and may only rename and hide them.

A `Parameter` is made of each field. It parses query strings and the command line, and `/openapi.json` describes it.
Every error is an InvalidQuery that names the parameter.

A time in an event needs a zone. Here, and so in filters, in options of commands and in files to import, one without a
zone is UTC, and the answer says so.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import structs

from events.limits import ITEMS_MAX
from ledger.errors import InvalidQuery
from projections.shared_params import Since, Until, Window
from projections.time_range import TimeRange

JsonSchema = dict[str, Any]

WINDOWS = {"30d": 30, "60d": 60, "90d": 90, "all": None}
"""The windows that end now: name and days."""

POSITION_MAX = 2**63 - 2

POSITION_SCHEMA: JsonSchema = {"type": "integer", "minimum": 1, "maximum": POSITION_MAX}
CURSOR_SCHEMA: JsonSchema = {"type": "integer", "minimum": 0, "maximum": POSITION_MAX}
TIME_SCHEMA: JsonSchema = {"type": "string", "format": "date-time"}
DATE_SCHEMA: JsonSchema = {"type": "string", "format": "date"}

ASSUMED_UTC: dict[str, str] = {}
"""What `collect_assumed_utc` would collect where nothing does: a command names it at its end."""

_collected: ContextVar[dict[str, str]] = ContextVar("assumed_utc", default=ASSUMED_UTC)
_plus_as_space = re.compile(r" (\d\d:\d\d)$")
_date = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_integer = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_decimal = re.compile(r"\d{0,20}\.?\d{1,20}(e-?\d{1,3})?", re.ASCII | re.IGNORECASE)

_Value = TypeVar("_Value")
_Word = TypeVar("_Word", bound=str)
_Params = TypeVar("_Params", bound=msgspec.Struct)


@dataclass(frozen=True, kw_only=True)
class Parameter(Generic[_Value]):
    """A named parameter: its meaning, its JSON Schema, and the function that parses its text.

    `parse` raises InvalidQuery. `default` is the value of an absent parameter; None: it has no default.
    """

    name: str
    description: str
    schema: JsonSchema
    parse: Callable[[str], _Value]
    default: _Value | None = None
    required: bool = False
    aliases: Collection[str] = ()
    is_option: bool = False
    """Whether the command line takes it as an option although it is required."""

    def find(self, parameters: Mapping[str, str]) -> _Value | None:
        """Return the parsed value, or the default if the parameter is absent. Errors: InvalidQuery."""
        text = parameters.get(self.name)
        return self.default if text is None else self.parse(text)

    def read(self, parameters: Mapping[str, str]) -> _Value:
        """Return the parsed value or the default. Errors: InvalidQuery, also if the parameter has neither."""
        value = self.find(parameters)
        if value is None:
            raise InvalidQuery(self.name, "is missing.", f"Add it: ?{self.name}=VALUE.")
        return value


def integer_parameter(
    name: str,
    description: str,
    low: int,
    high: int = POSITION_MAX,
    *,
    default: int | None = None,
    required: bool = False,
) -> Parameter[int]:
    """Declare a whole number from `low` to `high`."""
    schema: JsonSchema = {"type": "integer", "minimum": low, "maximum": high}
    if default is not None:
        schema["default"] = default
    return Parameter(
        name=name,
        description=description,
        schema=schema,
        parse=lambda text: parse_integer(name, text, low, high),
        default=default,
        required=required,
    )


def choice_parameter(
    name: str,
    description: str,
    choices: Collection[_Word],
    *,
    default: _Word | None = None,
    aliases: Mapping[str, _Word] | None = None,
) -> Parameter[_Word]:
    """Declare a choice of words. `aliases` maps further spellings to words."""
    spellings = {**{str(word): word for word in choices}, **(aliases or {})}
    schema: JsonSchema = {"enum": list(spellings)}
    if default is not None:
        schema["default"] = default
    return Parameter(
        name=name,
        description=description,
        schema=schema,
        parse=lambda text: spellings[parse_choice(name, text, spellings)],
        default=default,
        aliases=aliases or (),
    )


def choice_list_parameter(name: str, description: str, choices: Collection[_Word]) -> Parameter[tuple[_Word, ...]]:
    """Declare a list of words from `choices`, separated by commas; empty by default."""
    return Parameter(
        name=name,
        description=description,
        schema=_list_schema({"enum": list(choices)}),
        parse=lambda text: tuple(parse_choice(name, word, choices) for word in split_list(name, text)),
        default=(),
    )


def text_parameter(name: str, description: str, schema: JsonSchema | None = None) -> Parameter[str]:
    """Declare a text. The use case that receives the text checks the bounds of its schema."""
    return Parameter(
        name=name,
        description=description,
        schema={"type": "string"} if schema is None else schema,
        parse=str,
    )


def flag_parameter(name: str, description: str) -> Parameter[bool]:
    """Declare a flag: `true` or `false`; `false` by default."""
    return Parameter(
        name=name,
        description=description,
        schema={"type": "boolean", "default": False},
        parse=lambda text: parse_choice(name, text, ("false", "true")) == "true",
        default=False,
    )


def declared(params: type[msgspec.Struct]) -> tuple[Parameter[Any], ...]:
    """Return each parameter of a struct of parameters, in the order of its fields."""
    return _declared(params)


@cache
def _declared(params: Any) -> tuple[Parameter[Any], ...]:  # noqa: ANN401 - a type, which mypy does not call hashable
    hints = get_type_hints(params, include_extras=True)
    return tuple(declare(each.name, hints[each.name], each.default) for each in structs.fields(params))


def named(params: type[msgspec.Struct]) -> dict[str, Parameter[Any]]:
    """Return each parameter of a struct of parameters by its name."""
    return {parameter.name: parameter for parameter in declared(params)}


def parse_params(params: type[_Params], texts: Mapping[str, str]) -> _Params:
    """Return the parameters whose texts are given by name. Errors: InvalidQuery."""
    return params(
        **{
            parameter.name: parameter.read(texts) if parameter.required else parameter.find(texts)
            for parameter in declared(params)
        }
    )


def texts_of(params: msgspec.Struct) -> dict[str, str]:
    """Return the texts of the parameters that are required or differ from the default: `parse_params` reads them."""
    values = ((parameter, getattr(params, parameter.name)) for parameter in declared(type(params)))
    return {
        parameter.name: _text_of(value)
        for parameter, value in values
        if parameter.required or value != parameter.default
    }


def _text_of(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text_of, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def declare(name: str, hint: Any, default: Any = None) -> Parameter[Any]:  # noqa: ANN401 - any type of a field
    """Declare a parameter as a field of a struct is: by its annotated type and its default."""
    union, meta = get_args(hint)
    (kind,) = (
        (one for one in get_args(union) if one is not NoneType) if get_origin(union) in (Union, UnionType) else (union,)
    )
    extra, text = meta.extra or {}, meta.description
    required, default = default is msgspec.NODEFAULT, None if default is msgspec.NODEFAULT else default
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        declared = choice_parameter(name, text, arguments, default=default, aliases=extra.get("aliases"))
    elif origin is tuple and get_origin(arguments[0]) is Literal:
        declared = choice_list_parameter(name, text, get_args(arguments[0]))
    elif origin is tuple:
        schema = _list_schema({"type": "string", "pattern": "^[^,]+$"})
        declared = Parameter(name=name, description=text, schema=schema, parse=partial(split_list, name), default=())
    elif kind is bool and default is None:
        either = choice_parameter(name, text, ("true", "false"))
        declared = replace(either, parse=lambda text: either.parse(text) == "true")  # type: ignore[arg-type, return-value]
    elif kind is bool:
        declared = flag_parameter(name, text)
    elif kind is int:
        declared = integer_parameter(name, text, meta.ge, POSITION_MAX if meta.le is None else meta.le, default=default)
    elif kind is float:
        schema = {"type": "number", "minimum": meta.ge, "maximum": meta.le}
        parse_float = partial(parse_number, name, low=meta.ge, high=meta.le)
        declared = Parameter(name=name, description=text, schema=schema, parse=parse_float)
    elif kind is datetime:
        schema = {"anyOf": [TIME_SCHEMA, DATE_SCHEMA]}
        parse_time = partial(parse_instant, name, end=bool(extra.get("end")))
        declared = Parameter(name=name, description=text, schema=schema, parse=parse_time)
    else:
        declared = text_parameter(name, text, meta.extra_json_schema)
    default = default if declared.default is None else declared.default
    return replace(declared, default=default, required=required, is_option="option" in extra)


def time_range(since: datetime | None, until: datetime | None, window: str | None, now: datetime) -> TimeRange:
    """Return the range of two times. `window` ends now and overrides `since`. Errors: InvalidQuery."""
    if window is not None:
        days = WINDOWS[window]
        since = now - timedelta(days=days) if days is not None else None
    if since is not None and until is not None and since > until:
        if window is not None:
            raise InvalidQuery("window", "begins after until ends.", "A window ends now: omit window or until.")
        raise InvalidQuery("since", "begins after until ends.", "Exchange them.")
    return TimeRange(since, until)


def parameters_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the parameters of a query string by name. Errors: InvalidQuery, if a name occurs twice."""
    parameters: dict[str, str] = {}
    for name, text in pairs:
        if name in parameters:
            raise InvalidQuery(name, "is given more than once.", "Give it once; separate several values by commas.")
        parameters[name] = text
    return parameters


def check_parameter_names(names: Collection[str], declared: Collection[Parameter[Any]]) -> None:
    """Refuse undeclared names, so that a misspelt filter is an error and not ignored. Errors: InvalidQuery."""
    allowed = {parameter.name for parameter in declared}
    for name in names:
        if name not in allowed:
            advice = f"Parameters: {', '.join(sorted(allowed))}." if allowed else "Omit it: this takes no parameters."
            raise InvalidQuery(name, "is not a parameter here.", advice)


def split_list(name: str, text: str) -> tuple[str, ...]:
    """Split a text at its commas. Errors: InvalidQuery, for more than ITEMS_MAX values."""
    values = tuple(text.split(","))
    if len(values) > ITEMS_MAX:
        raise InvalidQuery(name, f"{len(values)} values are more than {ITEMS_MAX}.", "Send several requests.")
    return values


def parse_integer(name: str, text: str, low: int, high: int = POSITION_MAX) -> int:
    """Parse a whole number from `low` to `high`. Errors: InvalidQuery."""
    if not _integer.fullmatch(text) or not low <= int(text) <= high:
        raise InvalidQuery(name, f"{text!r} is not a whole number from {low} to {high}.", "Correct it.")
    return int(text)


def parse_number(name: str, text: str, low: float, high: float) -> float:
    """Parse a number from `low` to `high`, 0 or greater. Errors: InvalidQuery."""
    if _decimal.fullmatch(text) is None or not low <= float(text) <= high:
        advice = "Write 0.9 for 90%." if (low, high) == (0, 1) else "Correct it."
        raise InvalidQuery(name, f"{text!r} is not a number from {low:g} to {high:g}.", advice)
    return float(text)


def parse_choice(name: str, text: str, choices: Collection[_Word]) -> _Word:
    """Return the choice that equals a text. Errors: InvalidQuery, if none does."""
    for word in choices:
        if word == text:
            return word
    raise InvalidQuery(
        name, f"{text!r} is not one of the choices.", f"Choose one of {', '.join(filter(None, choices))}."
    )


def parse_instant(name: str, text: str, *, end: bool = False) -> datetime:
    """Parse an RFC 3339 time or a date. A date means its first moment, or its last if `end`. Errors: InvalidQuery.

    A time without an offset is UTC, and `collect_assumed_utc` collects it.
    """
    try:
        if _date.fullmatch(text):
            day = datetime.combine(date.fromisoformat(text), time(), UTC)
            return day + timedelta(days=1, microseconds=-1) if end else day
        return _in_utc(name, datetime.fromisoformat(_plus_as_space.sub(r"+\1", text)))
    except (ValueError, OverflowError):
        advice = "Write 2026-02-05, or 2026-02-05T14:30:00Z."
        raise InvalidQuery(name, f"{text!r} is neither a date nor an RFC 3339 time.", advice) from None


@contextmanager
def collect_assumed_utc() -> Iterator[dict[str, str]]:
    """Collect the parameters or fields whose time has no zone meanwhile; of each the first such time, in UTC."""
    collected: dict[str, str] = {}
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def _in_utc(name: str, moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC already, and is collected."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
        _collected.get().setdefault(name, moment.isoformat().replace("+00:00", "Z"))
    return moment.astimezone(UTC)


def _list_schema(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": ITEMS_MAX}


SINCE, UNTIL, WINDOW = declare("since", Since), declare("until", Until), declare("window", Window)


def parse_time_range(parameters: Mapping[str, str], now: datetime) -> TimeRange:
    """Return the range of `since` and `until`. `window` ends now and overrides `since`. Errors: InvalidQuery."""
    return time_range(SINCE.find(parameters), UNTIL.find(parameters), WINDOW.find(parameters), now)
