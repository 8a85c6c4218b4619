"""Make a struct from another one that has some of the same fields."""

from typing import Any

import msgspec


def shared_fields(source: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the values of the fields of a struct that `kind` has, too, by their names."""
    return {name: getattr(source, name) for name in kind.__struct_fields__ if name in source.__struct_fields__}
