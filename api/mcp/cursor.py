"""Opaque cursors: where the next page of a list begins, as of which position, for which tool and arguments."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from api.mcp.refusal import Refusal

_DIGEST_BYTES = 6
_PAGE_PARAMETERS = frozenset({"cursor", "limit", "as_of"})


class CursorPlace(NamedTuple):
    """The position that all pages of a list rest on, and the offset of one page."""

    position: int
    offset: int


def encode_cursor(place: CursorPlace, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the cursor of a place in the list of a call."""
    text = f"{place.position}.{place.offset}.{tool}.{_digest(arguments)}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, tool: str, arguments: Mapping[str, Any]) -> CursorPlace:
    """Return the place of a cursor. Errors: Refusal, for one of another tool or list, or another text."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        position, offset, made_by, digest = text.split(".")
        place = CursorPlace(int(position), int(offset))
    except ValueError:
        raise Refusal(
            "cursor: it is not one that this tool returned.", "cursor", "Leave cursor out to begin with the first page."
        ) from None
    if made_by != tool:
        detail = f"cursor: it is one of {made_by}, and this tool is {tool}."
        raise Refusal(detail, "cursor", "Leave cursor out to begin with the first page.")
    if digest != _digest(arguments):
        raise Refusal(
            "cursor: it belongs to a call with other arguments.",
            "cursor",
            "Leave cursor out, or repeat the arguments of the call that returned it.",
        )
    return place


def _digest(arguments: Mapping[str, Any]) -> str:
    selected = {name: value for name, value in arguments.items() if name not in _PAGE_PARAMETERS and value is not None}
    return hashlib.sha256(msgspec.json.encode(selected, order="deterministic")).hexdigest()[: 2 * _DIGEST_BYTES]
