"""Name the fields of an answer as the protocol does, and round its figures as the protocol specifies."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import UnsetType

from api.service.ledger import View
from api.service.unknown_names import find_unknown_names
from projections.calibration.calibration_filter import CalibrationFilter
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from tallystick.shapes.parts import UnknownName

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
    if isinstance(value, list | tuple):
        return [_camel_keys(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value


def unknown_json(names: Sequence[UnknownName] | UnsetType) -> dict[str, object]:
    """Return the field `unknownNames`: parameter, value and the most similar name; nothing, if all are known."""
    return {"unknownNames": msgspec.to_builtins(names)} if names else {}


async def name_unknown(view: View, selection: DecisionSelection | CalibrationFilter) -> dict[str, object]:
    """Return the field `unknownNames` for the filter of an empty answer."""
    projection, _ = await view.at(DecisionIndex)
    asked = {name: getattr(selection, name) for name in ("agent", "category", "project", "feature")}
    return unknown_json(find_unknown_names({**asked, "tag": getattr(selection, "tags", ())}, projection.names()))
