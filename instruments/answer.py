"""What a router brings back: an answer, or why there is none."""

from typing import Literal

import msgspec

Failure = Literal["timeout", "failed"]


class RouterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt's answer. Nothing in it is judged yet, and nothing of it may be trusted."""

    text: str | None = None
    """The whole answer; None where there is none. Source: the router."""
    elapsed_ns: int | None = None
    """From prompt to answer, nanoseconds. Source: measured."""
    reported_model: str | None = None
    """Which model the endpoint says it used. Source: the endpoint."""
    tokens_used: int | None = None
    """Tokens of prompt and answer. Source: the endpoint."""
    failure: Failure | None = None
    """Why there is no answer; None where there is one. Source: the router."""
    detail: str | None = None
    """What went wrong, in words and without secrets. Source: the router."""
