"""Hypothesis strategies for any struct of the vocabulary, made from its own type information."""

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta, timezone
from functools import cache
from typing import Any, TypeAlias

import msgspec
from hypothesis import reject
from hypothesis import strategies as st
from msgspec import inspect as types

from events.breaker import BREAKER_SCOPE_PATTERN
from events.guardrail import ORDERING, GuardrailCondition
from events.payload import DIGEST_PATTERN, SPAN_ID_PATTERN, TRACE_ID_PATTERN, Payload

Values: TypeAlias = st.SearchStrategy[Any]

CHARACTERS = st.characters(codec="utf-8")
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
BREAKER_SCOPES = st.sampled_from(["global", "stakes:high", "category:tooling", "tag:x:y", "agent:claude"])
PATTERNS = {
    DIGEST_PATTERN: DIGESTS,
    TRACE_ID_PATTERN: st.text("0123456789abcdef", min_size=32, max_size=32),
    SPAN_ID_PATTERN: st.text("0123456789abcdef", min_size=16, max_size=16),
    BREAKER_SCOPE_PATTERN: BREAKER_SCOPES,
}
STREAM_IDS = st.text("abcXYZ019._-", min_size=1, max_size=64)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
TEXT_CHARS, ITEMS = 12, 2
NUMBERS = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False))
PLAIN = st.one_of(st.booleans(), NUMBERS, st.text(CHARACTERS, max_size=TEXT_CHARS))
TEXTS = st.text(CHARACTERS, min_size=1, max_size=TEXT_CHARS)
CONDITION_VALUES = {
    **dict.fromkeys(ORDERING, NUMBERS), **dict.fromkeys(("eq", "ne"), PLAIN),
    **dict.fromkeys(("in", "not_in"), st.lists(PLAIN, min_size=1, max_size=ITEMS).map(tuple)),
    **dict.fromkeys(("contains", "not_contains"), TEXTS),
    **dict.fromkeys(("truthy", "falsy", "present", "missing"), st.none()),
}  # fmt: skip


def value_of(kind: types.Type) -> Values:
    """Any valid value of a type; texts and lists are kept short."""
    if isinstance(kind, types.Metadata):
        return STREAM_IDS if "pattern" in (kind.extra_json_schema or {}) else value_of(kind.type)
    if isinstance(kind, types.StrType) and kind.pattern is not None:
        return PATTERNS.get(kind.pattern, STREAM_IDS)
    assert type(kind) in MAKERS, f"tests/events/payloads.py makes no {type(kind).__name__} yet: add it to MAKERS"
    return MAKERS[type(kind)](kind)


@cache
def struct_of(struct: type[msgspec.Struct]) -> Values:
    """Any valid instance of a struct."""
    if struct is GuardrailCondition:
        return st.sampled_from(list(CONDITION_VALUES)).flatmap(
            lambda operator: st.builds(
                GuardrailCondition, field=TEXTS, operator=st.just(operator), value=CONDITION_VALUES[operator]
            )
        )
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)

    def build(values: dict[str, Any]) -> object:
        try:
            return struct(**values)
        except ValueError:
            reject()

    return st.fixed_dictionaries({field.name: value_of(field.type) for field in info.fields}).map(build)


def payload_of(payload: type[Payload]) -> st.SearchStrategy[Payload]:
    """Any valid payload of a type."""
    return struct_of(payload)


MAKERS: Mapping[type[types.Type], Callable[[Any], Values]] = {
    types.AnyType: lambda kind: PLAIN,
    types.NoneType: lambda kind: st.none(),
    types.BoolType: lambda kind: st.booleans(),
    types.IntType: lambda kind: st.integers(kind.ge, kind.le),
    types.FloatType: lambda kind: st.floats(
        kind.ge if kind.gt is None else kind.gt,
        kind.le,
        allow_nan=False,
        allow_infinity=False,
        exclude_min=kind.gt is not None,
    ),
    types.StrType: lambda kind: st.text(CHARACTERS, min_size=kind.min_length or 0, max_size=TEXT_CHARS),
    types.DateTimeType: lambda kind: st.datetimes(timezones=ZONES),
    types.LiteralType: lambda kind: st.sampled_from(kind.values),
    types.UnionType: lambda kind: st.one_of([value_of(option) for option in kind.types]),
    types.VarTupleType: lambda kind: st.lists(
        value_of(kind.item_type), min_size=kind.min_length or 0, max_size=ITEMS
    ).map(tuple),
    types.DictType: lambda kind: st.dictionaries(value_of(kind.key_type), value_of(kind.value_type), max_size=ITEMS),
    types.StructType: lambda kind: struct_of(kind.cls),
}
