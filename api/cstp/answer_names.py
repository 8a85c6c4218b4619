"""Name the fields of an answer as the protocol does, and round its figures as the protocol specifies."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

_underscored = re.compile(r"_([a-z])")

_NONE: Mapping[str, Any] = {}

_DIGITS: Mapping[str, int] = dict.fromkeys(
    (
        "accuracy", "avgConfidence", "avgStrength", "brierScore", "brier_score", "calibrationGap", "historicalValue",
        "meanConfidence", "overallAccuracy", "recentValue", "successRate",
    ),
    3,
)  # fmt: skip
"""The digits after the point of the protocol's figures. Those that we add are not rounded."""


def named(
    struct: object,
    fields: Iterable[str],
    renamed: Mapping[str, str] = _NONE,
    digits: Mapping[str, int] = _NONE,
) -> dict[str, object]:
    """Return some fields of a struct, in this order, under the protocol's names: in camelCase, or as in `renamed`.

    `digits` are those after the point of the figures that differ from _DIGITS, by the protocol's name.
    """
    row: dict[str, object] = {}
    for field in fields:
        name, value = renamed.get(field) or to_camel(field), getattr(struct, field)
        places = digits.get(name, _DIGITS.get(name))
        if isinstance(value, datetime):
            value = value.isoformat()
        row[name] = value if value is None or places is None else rounded(value, places)
    return row


def without_none(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row without the fields that are None: clients cannot read null there."""
    return {name: value for name, value in row.items() if value is not None}


def rounded(value: float, places: int = 3) -> float:
    """Round, and never return -0.0."""
    return round(value, places) + 0.0


@cache
def to_camel(name: str) -> str:
    """Convert a name from snake_case to camelCase."""
    return _underscored.sub(lambda match: match[1].upper(), name)


def to_camel_json(struct: msgspec.Struct) -> object:
    """Convert a struct and its nested structs to objects with camelCase names."""
    return _camel_keys(msgspec.to_builtins(struct, builtin_types=(datetime,)))


def _camel_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {to_camel(name): _camel_keys(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_camel_keys(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value
