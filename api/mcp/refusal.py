"""Refusals: what is wrong with a call, in which field, and what to send instead."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from api.cstp.jsonrpc import RpcError
from api.mcp.compact_schema import example_value
from api.service.id_prefix import AMBIGUOUS
from events.decode_error_messages import explain_decode_error
from events.errors import TallystickError

_NOTHING_WRITTEN = " Nothing was written."
_NAMES_OF_THINGS = (
    "id", "decision_id", "node_id", "check_id", "attempt", "run_id", "baseline", "candidate", "position",
)  # fmt: skip

_ENVELOPE: Mapping[str, tuple[str, ...]] = {
    "id": ("idempotency_key",),
    "source": ("agent_id",),
    "subject": ("run_id", "decision_id", "id"),
}
"""The arguments that become the attributes of an event that an error of the ledger names."""

_ADVICE = {
    "Decision not found:": "Find its id: query_decisions lists ids.",
    "Check not found": "Give the checkId of your own check_action or pre_action, or leave it out.",
    "Run not found": "Give the run_id that start_discovery returned.",
    "Run .* ended": "get_discovery_report is its report; start_discovery begins another.",
    "Evaluation not found": "Find its id: get_evaluations lists ids.",
}
"""What to do about a thing that is not found or has ended, by the error, in the words of these tools."""

_hump = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")


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
    explained = explain_decode_error(error, (), fields=params.__struct_fields__, shape=params)
    advice = explained.advice.removesuffix(_NOTHING_WRITTEN)
    field = explained.field
    if (example := _example(params, field)) is not None:
        advice = f"{advice} Example: {example}"
    return Refusal(explained.detail, field, advice)


def refusal_of_error(
    error: TallystickError | RpcError, params: type[msgspec.Struct], arguments: Mapping[str, Any]
) -> Refusal:
    """Return the refusal for an error of a use case."""
    if isinstance(error, TallystickError):
        wrong = _own_names(params, getattr(error, "field", None) or "") or None
        if wrong not in params.__struct_encode_fields__ and (names := _ENVELOPE.get(wrong or "")) is not None:
            wrong = next((name for name in names if name in params.__struct_encode_fields__), None)
        counsel = _advice_on(error) or error.advice or "Correct the arguments."
        if wrong is not None and (example := _example(params, wrong)) is not None:
            counsel = f"{counsel} Example: {example}"
        return Refusal(_own_names(params, error.detail), wrong or _named_by(error.detail, arguments), counsel)
    data: dict[str, Any] = error.data if isinstance(error.data, dict) else {}
    fields: list[str] = data.get("fields") or []
    field: str | None = data.get("field") or (fields[0] if fields else _named_by(error.message, arguments))
    field = _with_parent(params, _own_names(params, field or "") or None)
    advice: str | None = _advice_of_message(error.message) or data.get("advice")
    if advice is None:
        example = _example(params, field)
        advice = f"Correct {field or 'the arguments'}." + (f" Example: {example}" if example else "")
    return Refusal(_own_names(params, error.message), field, advice)


def _advice_on(error: TallystickError) -> str | None:
    """Return the advice of these tools on an error; None, if what it says itself is more precise."""
    return None if error.advice.endswith(AMBIGUOUS) else _advice_of_message(error.detail)


def _advice_of_message(message: str) -> str | None:
    return next((advice for beginning, advice in _ADVICE.items() if re.match(beginning, message)), None)


def _own_names(params: type[msgspec.Struct], text: str) -> str:
    """Return a text with the parameters named as the tool names them: target_id, where CSTP says targetId."""

    def own(found: re.Match[str]) -> str:
        name = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", found[0])
        return name if name in params.__struct_encode_fields__ else found[0]

    return _hump.sub(own, text)


def _named_by(message: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the argument that names a thing, such as an id, whose value a message repeats."""
    names = (name for name in _NAMES_OF_THINGS if name in arguments)
    return next((name for name in names if str(arguments[name]) in message), None)


def _example(params: type[msgspec.Struct], field: str | None) -> str | None:
    """Return a value of a field as JSON; None for a field that the parameters do not have."""
    example = _example_at(params, [part.partition("[")[0] for part in (field or "").split(".")])
    return None if example is None else msgspec.json.encode(example).decode()


def _with_parent(params: type[msgspec.Struct], field: str | None) -> str | None:
    """Return the path of a field that a use case names by itself, although it is in an inner object."""
    if field is None or field.partition(".")[0].partition("[")[0] in params.__struct_encode_fields__:
        return field
    inner = ((it.encode_name, _struct_of(it.type)) for it in msgspec.structs.fields(params))
    return next((f"{name}.{field}" for name, it in inner if it and field in it.__struct_encode_fields__), field)


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
