"""The course of an agent's calibration over time, in this protocol's words."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from api.cstp.shape import camel


def told(struct: msgspec.Struct) -> object:
    """A struct, and those within it, as objects with camelCase names."""
    return _camelled(msgspec.to_builtins(struct, builtin_types=(datetime,)))


def _camelled(value: object) -> object:
    if isinstance(value, Mapping):
        return {camel(name): _camelled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_camelled(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value
