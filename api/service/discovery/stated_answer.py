"""What a router answered, as a client states it over HTTP or MCP."""

from typing import Annotated, Any, ClassVar

import msgspec

from events.errors import InvalidEvent
from events.payload import COUNT_MAX, Count, Label
from instruments.answer import Failure, RouterAnswer

NS_PER_MS = 1_000_000

ElapsedMs = Annotated[float, msgspec.Meta(ge=0, le=COUNT_MAX // NS_PER_MS)]
"""A duration in milliseconds, which is stored in nanoseconds."""


class ResponseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a prompt: `response`, which may be empty, or `failure`. `elapsed_*` is the time between both."""

    response: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)] | None = None
    elapsed_ns: Count | None = None
    elapsed_ms: ElapsedMs | None = None
    reported_model: Label | None = None
    tokens_used: Count | None = None

    json_schema_rules: ClassVar[dict[str, Any]] = {
        "if": {"properties": {"response": {"type": "string"}}, "required": ["response"]},
        "then": {"properties": {"failure": {"type": "null"}}},
        "else": {"properties": {"failure": {"type": "string"}}, "required": ["failure"]},
        "not": {
            "properties": {"elapsed_ns": {"type": "integer"}, "elapsed_ms": {"type": "number"}},
            "required": ["elapsed_ns", "elapsed_ms"],
        },
    }


def to_router_answer(stated: ResponseBody) -> RouterAnswer:
    """Return the answer of a router. Errors: InvalidEvent, for fields that contradict each other."""
    if (stated.response is None) == (stated.failure is None):
        raise InvalidEvent(
            "response and failure: exactly one of them is needed.",
            'Send {"response": "text"} or {"failure": "timeout"}.',
            field="response",
        )
    if stated.elapsed_ns is not None and stated.elapsed_ms is not None:
        raise InvalidEvent("elapsed_ns and elapsed_ms state the same time.", "Send one.", field="elapsed_ms")
    return RouterAnswer(
        text=stated.response,
        elapsed_ns=stated.elapsed_ns if stated.elapsed_ms is None else round(stated.elapsed_ms * NS_PER_MS),
        reported_model=stated.reported_model,
        tokens_used=stated.tokens_used,
        failure=stated.failure,
        detail=stated.detail,
    )
