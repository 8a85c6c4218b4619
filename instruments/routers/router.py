"""What a router is: something that is given a prompt and answers it, or says why not."""

from typing import Protocol

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer

DETAIL_CHARS_MAX = 300
"""So much of what a router said went wrong is kept."""


class Router(Protocol):
    """Asked once, it answers once: whoever asks again counts another attempt."""

    @property
    def name(self) -> str:
        """How events name it: no secret is in it."""

    @property
    def model(self) -> str | None:
        """The model it is asked for."""

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        """The answer to a prompt, or why there is none, within `timeout_s` seconds; never an error.

        No secret of the router stands in it, whatever the router said. Cancelling ends what was begun.
        """


def short(text: str) -> str:
    """The beginning of a text, on one line, fit for `detail`."""
    words = " ".join(text.split())
    return words if len(words) <= DETAIL_CHARS_MAX else f"{words[:DETAIL_CHARS_MAX]}..."


def answered(
    text: str, elapsed_ns: int, *, reported_model: str | None = None, tokens_used: int | None = None
) -> RouterAnswer:
    """An answer; one that has grown over the limit, by what was put in place of secrets or of no UTF-8, is none."""
    if len(text) * 4 > ANSWER_BYTES_MAX and len(text.encode()) > ANSWER_BYTES_MAX:
        return failed(f"answered with more than {ANSWER_BYTES_MAX:,} bytes", elapsed_ns)
    return RouterAnswer(text=text, elapsed_ns=elapsed_ns, reported_model=reported_model, tokens_used=tokens_used)


def failed(detail: str, elapsed_ns: int | None = None) -> RouterAnswer:
    """No answer, and why; `detail` has no secret in it."""
    return RouterAnswer(text=None, failure="failed", detail=detail, elapsed_ns=elapsed_ns)


def timed_out(timeout_s: float, elapsed_ns: int, said: str = "") -> RouterAnswer:
    """No answer in time; `said` is what was heard until then."""
    detail = f"no whole answer within {timeout_s:g} s{f'; it said: {said}' if said else ''}"
    return RouterAnswer(text=None, failure="timeout", detail=detail, elapsed_ns=elapsed_ns)
