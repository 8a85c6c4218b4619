"""Messages that the SDK would drop, or would read only in part: how they are refused."""

import json
from typing import Any, NamedTuple

import msgspec

from api.errors import INVALID_PARAMS
from events.errors import MalformedInput
from events.json_check import TEXT_RULE, check_json, half_surrogate_error


class RefusedMessage(NamedTuple):
    """The id of a message, None if it has none that can be read, and the error of JSON-RPC that answers it."""

    call_id: int | str | None
    error: dict[str, Any]

    def encode(self) -> bytes:
        """Return the answer to the message."""
        return msgspec.json.encode({"jsonrpc": "2.0", "id": self.call_id, "error": self.error})


def refuse_message(body: bytes) -> RefusedMessage | None:
    """Return the refusal of a message with half of a surrogate pair, a key twice or deep nesting; None: it is read."""
    try:
        check_json(body)
        found, rule = half_surrogate_error(body), TEXT_RULE
    except MalformedInput as error:
        found, rule = error, error.detail.removesuffix(".")
    if found is None:
        return None
    field = (found.field or "").removeprefix("params.arguments.")
    place = f"{field}: " if field else ""
    data = {"field": field, "advice": found.full_advice}
    message = f"{place}{rule}. {found.full_advice}"
    return RefusedMessage(_id_of(body), {"code": INVALID_PARAMS, "message": message, "data": data})


def _id_of(body: bytes) -> int | str | None:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    call_id = message.get("id") if isinstance(message, dict) else None
    is_readable = isinstance(call_id, int) or (isinstance(call_id, str) and call_id.isascii())
    return call_id if is_readable else None
