"""Refusals: what is wrong with a call, in which field, and what to send instead."""

from typing import Any

import msgspec
from msgspec import inspect

from api.cstp.jsonrpc import RpcError
from api.mcp.compact_schema import example_value
from events.decode_error_messages import explain_decode_error
from events.errors import TallystickError

_NOTHING_WRITTEN = " Nothing was written."


class Refusal(Exception):
    """A call that was not carried out: the error, the field at fault, and the advice that mends it."""

    def __init__(self, error: str, field: str | None, advice: str) -> None:
        super().__init__(error)
        self.error = error
        self.field = field
        self.advice = advice

    def to_answer(self) -> dict[str, str]:
        """Return the refusal as the text of a tool's result states it."""
        stated = {"error": self.error, "field": self.field, "advice": self.advice}
        return {name: text for name, text in stated.items() if text}


def refusal_of_params(error: msgspec.ValidationError, params: type[msgspec.Struct]) -> Refusal:
    """Return the refusal of arguments that do not fit the parameters of a tool."""
    explained = explain_decode_error(error, (), fields=params.__struct_fields__, shape=params)
    advice = explained.advice.removesuffix(_NOTHING_WRITTEN)
    field = explained.field
    if (example := _example(params, field)) is not None:
        advice = f"{advice} Example: {example}"
    return Refusal(explained.detail, field, advice)


def refusal_of_error(error: TallystickError | RpcError, params: type[msgspec.Struct]) -> Refusal:
    """Return the refusal for an error of a use case."""
    if isinstance(error, TallystickError):
        return Refusal(error.detail, getattr(error, "field", None), error.advice or "Correct the arguments.")
    data: dict[str, Any] = error.data if isinstance(error.data, dict) else {}
    fields: list[str] = data.get("fields") or []
    field = data.get("field") or (fields[0] if fields else None)
    advice = data.get("advice")
    if advice is None and error.message.startswith("Decision not found"):
        advice = "Find its id: query_decisions lists ids."
    if advice is None:
        example = _example(params, field)
        advice = f"Correct {field or 'the arguments'}." + (f" Example: {example}" if example else "")
    return Refusal(error.message, field, advice)


def _example(params: type[msgspec.Struct], field: str | None) -> str | None:
    """Return a value of a field as JSON; None for a field that the parameters do not have."""
    name = (field or "").partition(".")[0].partition("[")[0]
    for known in msgspec.structs.fields(params):
        if known.encode_name == name:
            value = example_value(inspect.type_info(known.type))
            return msgspec.json.encode({name: value}).decode()
    return None
