"""What a router answered, as a client states it over HTTP or MCP."""

from typing import Annotated, Protocol

import msgspec

from events.errors import InvalidEvent
from events.payload import COUNT_MAX
from instruments.answer import Failure, RouterAnswer

NS_PER_MS = 1_000_000

ElapsedMs = Annotated[float, msgspec.Meta(ge=0, le=COUNT_MAX // NS_PER_MS)]
"""A duration in milliseconds, which is stored in nanoseconds."""


class StatedAnswer(Protocol):
    """The fields of a request that state an answer."""

    @property
    def response(self) -> str | None: ...
    @property
    def failure(self) -> Failure | None: ...
    @property
    def detail(self) -> str | None: ...
    @property
    def elapsed_ns(self) -> int | None: ...
    @property
    def elapsed_ms(self) -> float | None: ...
    @property
    def reported_model(self) -> str | None: ...
    @property
    def tokens_used(self) -> int | None: ...


def to_router_answer(stated: StatedAnswer) -> RouterAnswer:
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
