"""The arguments of a tool, made from the parameters that a use case declares. A tool may rename and hide them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, inspect, structs

from api.parameters import parse_instant
from api.principal import DeliberationPolicy
from events.envelope import EventId
from events.payload import Label

Struct = msgspec.Struct
S = TypeVar("S", bound=msgspec.Struct)
NONE: Mapping[str, Any] = {}

PAGE_MAX = 50
"""Rows of a page at most."""

PageSize = Annotated[int, msgspec.Meta(ge=1, le=PAGE_MAX)]

DATE = msgspec.Meta(examples=["2026-11-01"])

_OF_PAGES = ("limit", "offset")

Arguments = Any
"""The arguments of a call: a struct that `arguments` made."""


class ClosedStruct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object with no other fields than the declared ones."""


class WriteArguments(ClosedStruct, frozen=True, kw_only=True):
    """Arguments of a tool that writes. The author is the agent of the token; without tokens `agent_id` names it."""

    agent_id: Label | None = None


class ReadArguments(ClosedStruct, frozen=True, kw_only=True):
    """Arguments of a tool that reads: the position or time that the answer is as of, by default now."""

    as_of: int | str | None = None


class PageArguments(ReadArguments, frozen=True, kw_only=True):
    """Arguments of a tool that lists: the rows of a page, and the `next` of the last one."""

    limit: PageSize | None = None
    cursor: str | None = None


class Keyed(Struct, frozen=True, kw_only=True):
    """The key that makes a retry safe."""

    idempotency_key: EventId | None = None


class Detailed(Struct, frozen=True, kw_only=True):
    """How much of an answer to show."""

    detail: Literal["short", "full"] = "short"


class Tracked(Struct, frozen=True, kw_only=True):
    """Whether a call takes part in automatic deliberation."""

    deliberation: DeliberationPolicy | None = None


class Speaking(Struct, frozen=True, kw_only=True):
    """The agent that reads, without tokens."""

    agent_id: Label | None = None


def arguments(
    base: type[Struct],
    *declared: type[Struct],
    only: Sequence[str] = (),
    hidden: Sequence[str] = (),
    names: Mapping[str, str] = NONE,
    types: Mapping[str, Any] = NONE,
    page_max: int = PAGE_MAX,
) -> type[Any]:
    """Return a struct with the fields of `base` and of each struct that a use case declares.

    Of several fields of one name the last counts. One with a default may be left out, or null. Times are texts, which
    `filled` parses. `only` and `hidden` select fields, `names` has other names of fields, and `types` other types. A
    list has pages of at most `page_max` rows in place of its `limit` and `offset`.
    """
    without = (*hidden, *base.__struct_fields__, *(_OF_PAGES if base is PageArguments else ()))
    fields: dict[str, tuple[str, Any, Any]] = {}
    for field in (field for struct in declared for field in structs.fields(struct)):
        if field.name in without or (only and field.name not in only):
            continue
        kind = types.get(field.name, field.type)
        required = field.required and NoneType not in _members(kind)
        kind = _stated(kind)
        fields[field.name] = (field.name, kind, NODEFAULT) if required else (field.name, kind | None, None)
    if page_max != PAGE_MAX:
        fields["limit"] = ("limit", Annotated[int, msgspec.Meta(ge=1, le=page_max)] | None, None)
    return msgspec.defstruct(
        f"{declared[0].__name__}Arguments",
        list(fields.values()),
        bases=(base,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        rename=dict(names) or None,
        namespace={"declared": declared},
    )


def filled(struct: type[S], given: Struct, **stated: object) -> S:
    """Return a struct of a use case with the arguments that a caller gave, and what the tool states.

    Errors: InvalidQuery, for a text that is not a time.
    """
    return struct(**{**dict(_given(struct, given)), **stated})


def stated(given: Struct | None) -> dict[str, Any]:
    """Return the arguments of an object that a caller gave."""
    return {} if given is None else {name: value for name, value in structs.asdict(given).items() if value is not None}


def _given(struct: type[Struct], given: Struct) -> Iterator[tuple[str, Any]]:
    names = dict(zip(given.__struct_fields__, given.__struct_encode_fields__, strict=True))
    for field in structs.fields(struct):
        value = getattr(given, field.name, None)
        if isinstance(value, str) and _is_time(field.type):
            yield field.name, parse_instant(names[field.name], value, end=_ends(field.type))
        elif value is not None:
            yield field.name, value


def _stated(kind: Any) -> Any:  # noqa: ANN401 - any type of a field
    """Return the type of a value that is stated: without None, which the decoder cannot read inside annotations."""
    if not hasattr(kind, "__metadata__"):
        return Annotated[str, DATE] if _is_time(kind) else kind
    union, *annotations = get_args(kind)
    members = [one for one in get_args(union) if one is not NoneType] if _is_union(union) else [union]
    inner = Annotated[str, DATE] if _is_time(union) else Union[tuple(members)]  # noqa: UP007 - the members are listed
    return Annotated[inner, *annotations]


def _is_union(kind: object) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _is_time(kind: object) -> bool:
    return datetime in _members(kind)


def _members(kind: object) -> Iterator[object]:
    """Yield the types of a union, without annotations."""
    if hasattr(kind, "__metadata__"):
        yield from _members(get_args(kind)[0])
    elif _is_union(kind):
        yield from (member for one in get_args(kind) for member in _members(one))
    else:
        yield kind


def _ends(kind: object) -> bool:
    info = inspect.type_info(kind)
    return isinstance(info, inspect.Metadata) and bool((info.extra or {}).get("end"))


def descriptions(struct: type[Struct]) -> dict[str, str]:
    """Return the description of each field that has one, by the name in JSON: its first sentence."""
    found: dict[str, str] = {}
    for field in structs.fields(struct):
        info = inspect.type_info(field.type)
        while isinstance(info, inspect.Metadata | inspect.UnionType):
            if isinstance(info, inspect.Metadata):
                if text := (info.extra_json_schema or {}).get("description"):
                    found[field.encode_name] = text.partition(". ")[0].rstrip(".")
                info = info.type
            else:
                info = next(member for member in info.types if not isinstance(member, inspect.NoneType))
    return found
