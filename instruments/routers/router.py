"""The interface of routers, which send one prompt and return an answer or a failure, and builders of their answers."""

from typing import Protocol

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer

DETAIL_CHARS_MAX = 300
"""Characters of a router's description of a failure that are kept."""


class Router(Protocol):
    """Sends a prompt once and returns one answer. Each call is an attempt."""

    @property
    def name(self) -> str:
        """The name in events; it contains no secrets."""

    @property
    def model(self) -> str | None:
        """The model to request; None if the router does not select one."""

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        """Send a prompt; return the answer or the failure within `timeout_s` seconds; never raise.

        Secrets of the router are removed from both. Cancelling ends the program or the request.
        """


def shorten(text: str) -> str:
    """Return the beginning of a text on one line, for use in `detail`."""
    words = " ".join(text.split())
    return words if len(words) <= DETAIL_CHARS_MAX else f"{words[:DETAIL_CHARS_MAX]}..."


def build_answer(
    text: str, elapsed_ns: int, *, reported_model: str | None = None, tokens_used: int | None = None
) -> RouterAnswer:
    """Build an answer; a failure if replaced secrets or bytes have made the text exceed ANSWER_BYTES_MAX."""
    if len(text) * 4 > ANSWER_BYTES_MAX and len(text.encode()) > ANSWER_BYTES_MAX:
        return build_failure(f"answered with more than {ANSWER_BYTES_MAX:,} bytes", elapsed_ns)
    return RouterAnswer(text=text, elapsed_ns=elapsed_ns, reported_model=reported_model, tokens_used=tokens_used)


def build_failure(detail: str, elapsed_ns: int | None = None, *, status: int | None = None) -> RouterAnswer:
    """Build a failure; `detail` must not contain secrets, `status` is that of HTTP."""
    return RouterAnswer(text=None, failure="failed", detail=detail, elapsed_ns=elapsed_ns, status=status)


def build_timeout(timeout_s: float, elapsed_ns: int, output: str = "") -> RouterAnswer:
    """Build a timeout; `output` is the output so far, redacted."""
    detail = f"no whole answer within {timeout_s:g} s{f'; it said: {output}' if output else ''}"
    return RouterAnswer(text=None, failure="timeout", detail=detail, elapsed_ns=elapsed_ns)
