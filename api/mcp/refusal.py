"""Refusals: what is wrong with a call, in which field, and what to send instead."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from api.errors import AttemptTaken, RunEnded
from api.mcp.compact_schema import example_value
from events.decode_error_messages import explain_decode_error
from events.errors import TallystickError
from ledger.errors import NotFound

_ENVELOPE: Mapping[str, tuple[str, ...]] = {
    "id": ("idempotency_key",),
    "source": ("agent_id",),
    "subject": ("run_id", "decision_id", "id"),
}
"""The arguments that become the attributes of an event that an error of the ledger names."""

_ARGUMENT: Mapping[type[TallystickError], str] = {AttemptTaken: "attempt", RunEnded: "run_id"}
"""The argument that an error without a field is about."""

_ADVICE: Mapping[object, str] = {
    "decision": "Find its id: query_decisions lists ids.",
    "check": "Give the checkId of your own check_action or pre_action, or leave it out.",
    "run": "Give the run_id that start_discovery returned.",
    "evaluation": "Find its id: list_evaluations lists ids.",
    RunEnded: "get_discovery_report is its report; start_discovery begins another.",
}
"""What to do about a kind of thing that is not found, or about a class of error, in the words of these tools."""


class Refusal(Exception):
    """A call that is refused: the error, the field at fault, and the advice that mends it."""

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
    explained = explain_decode_error(error, (), fields=params.__struct_encode_fields__, shape=params)
    return Refusal(explained.detail, explained.field, _with_example(explained.advice, params, explained.field))


def refusal_of_error(error: TallystickError, params: type[msgspec.Struct], arguments: Mapping[str, Any]) -> Refusal:
    """Return the refusal for an error of a use case, with the names of the tool."""
    field = _own_field(params, error.field) or _ARGUMENT.get(type(error))
    advice = _ADVICE.get(type(error)) or error.advice or "Correct the arguments."
    if isinstance(error, NotFound) and error.name is not None:
        field = next((name for name, value in arguments.items() if str(value) == error.name), field)
        advice = _ADVICE.get(error.kind, advice)
    text = error.detail if field is None else error.detail_for(field)
    return Refusal(text, field, _with_example(advice, params, error.field and field))


def _own_field(params: type[msgspec.Struct], path: str | None) -> str | None:
    """Return the path of a field as the tool names it; None for a field that it does not have.

    A tool has no `data.` or `updates.` around a field, but may have it in an object, such as `filters`.
    """
    own = _names(params)
    inside = {
        name: f"{it.encode_name}.{own_name}"
        for it in msgspec.structs.fields(params)
        if (struct := _struct_of(it.type)) is not None
        for name, own_name in _names(struct).items()
    }
    while path:
        name = path.partition(".")[0].partition("[")[0]
        if found := own.get(name) or inside.get(name):
            return f"{found}{path[len(name) :]}"
        if name in _ENVELOPE:
            return next((argument for argument in _ENVELOPE[name] if argument in own), None)
        path = path.partition(".")[2]
    return None


def _names(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the names of fields as a caller writes them, by these names and by those of the use case."""
    fields = msgspec.structs.fields(struct)
    return {it.name: it.encode_name for it in fields} | {it.encode_name: it.encode_name for it in fields}


def _with_example(advice: str, params: type[msgspec.Struct], field: str | None) -> str:
    """Return advice with a value of a field as JSON, if the parameters have the field."""
    example = _example_at(params, [part.partition("[")[0] for part in (field or "").split(".")])
    return advice if example is None else f"{advice} Example: {msgspec.json.encode(example).decode()}"


def _example_at(params: type[msgspec.Struct], path: list[str]) -> dict[str, object] | None:
    """Return an object with a value of the field at a path."""
    for known in msgspec.structs.fields(params):
        if known.encode_name != path[0]:
            continue
        struct = _struct_of(known.type)
        inner = _example_at(struct, path[1:]) if struct is not None and len(path) > 1 else None
        return {known.encode_name: inner if inner is not None else example_value(inspect.type_info(known.type))}
    return None


def _struct_of(kind: object) -> type[msgspec.Struct] | None:
    """Return the struct that a field holds; None if it holds none."""
    info = inspect.type_info(kind)
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    return next((member.cls for member in members if isinstance(member, inspect.StructType)), None)
