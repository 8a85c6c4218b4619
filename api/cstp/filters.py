"""Filters, which some clients put into `filters` and some beside it."""

from collections.abc import Mapping
from typing import Any

from api.cstp.shape import Wrong, refusal


def merged(params: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in `filters`, and what stands beside it where `filters` does not say. Errors: RpcError."""
    filters = params.get("filters", {})
    if not isinstance(filters, dict):
        raise refusal([Wrong("filters", f"must be an object, got {type(filters).__name__}")])
    inside = {name: value for name, value in filters.items() if value is not None}
    beside = {name: value for name, value in params.items() if name != "filters" and name not in inside}
    return {**inside, **beside}
