"""The answer of a router to one prompt, or the reason why it gave none."""

from typing import Literal

import msgspec

Failure = Literal["timeout", "failed"]


class RouterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A router's answer to one prompt: untrusted text that nothing has checked yet."""

    text: str | None = None
    """The whole answer; None if the router gave none. Source: the router."""
    elapsed_ns: int | None = None
    """From prompt to answer, nanoseconds. Source: measured."""
    reported_model: str | None = None
    """The model that the endpoint says it used. Source: the endpoint."""
    tokens_used: int | None = None
    """Tokens of prompt and answer. Source: the endpoint."""
    input_tokens: int | None = None
    """Tokens of the prompt. Source: the endpoint."""
    output_tokens: int | None = None
    """Tokens of the answer. Source: the endpoint."""
    cut_off: bool = False
    """Whether the endpoint ended the answer at its limit of tokens. Source: the endpoint."""
    status: int | None = None
    """The HTTP status of a refusal. Source: the endpoint."""
    failure: Failure | None = None
    """The kind of failure; None if the router answered. Source: the router."""
    detail: str | None = None
    """The cause of the failure, in words, with secrets removed. Source: the router."""
    transient: bool = False
    """Whether the failure may be gone later: a timeout, a limit, or an outage of the endpoint. Source: the router."""
