"""The error that an agent states about itself: what its endpoint refused, and when to ask again.

A command that ends with exit code 75 (EX_TEMPFAIL), or with another one but 0, may print one JSON object with `error`:
`kind` is `rate_limit` or `unavailable`, `retry_after_s` the seconds until it may be asked again, `endpoint` the host
that refused, `message` its words. A value of another kind states nothing.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from instruments.routers.endpoint_limits import endpoint_name
from instruments.routers.router import shorten

EX_TEMPFAIL = 75
"""The exit code of a failure that may be gone later. Source: sysexits.h."""

RETRY_AFTER_S_READ_MAX = 1e9
"""Longer waits count as this one."""

ErrorKind = Literal["rate_limit", "unavailable"]

_words: dict[ErrorKind, str] = {"rate_limit": "refused for its rate limit", "unavailable": "was unavailable"}
_stated = re.compile(r"[^\n]*?: its endpoint [a-z ]+ \(retry after ([0-9.]+) s(?:, ([^\s()]+))?\)")


class AgentError(msgspec.Struct, frozen=True, kw_only=True):
    """A failure of the agent's endpoint, in its words."""

    kind: ErrorKind
    retry_after_s: float | None = None
    """Seconds from the end of the command until it may be asked again."""
    endpoint: str | None = None
    """The host that refused, with a port or without."""
    message: str | None = None

    def describe(self, program: str) -> str:
        """Return the failure in words; `parse_pause` reads the wait again."""
        stated = []
        if self.retry_after_s is not None:
            stated.append(f"retry after {math.ceil(self.retry_after_s * 1_000) / 1_000:.13g} s")
        if self.endpoint is not None:
            stated.append(self.endpoint)
        facts = f" ({', '.join(stated)})" if stated else ""
        return f"{program}: its endpoint {_words[self.kind]}{facts}{f': {self.message}' if self.message else ''}"


class StatedPause(msgspec.Struct, frozen=True):
    """The wait that the detail of a recorded error states, seconds, and the endpoint that asked for it."""

    seconds: float
    endpoint: str | None


def parse_agent_error(
    output: str, code: int | None, hide: Callable[[Any], Any]
) -> tuple[AgentError | None, dict[str, Any]]:
    """Return the error that a failed command stated, and its whole JSON object; None for a failure of another kind.

    `hide` removes secrets from the object. Exit code 75 without a readable `error` is `unavailable`.
    """
    try:
        whole = msgspec.json.decode(output)
    except (msgspec.DecodeError, RecursionError):
        whole = None
    whole = hide(whole) if isinstance(whole, dict) else {}
    stated = whole.get("error")
    error: dict[str, Any] = stated if isinstance(stated, dict) else {}
    kind = next((known for known in _words if known == error.get("kind")), None)
    if kind is None and code != EX_TEMPFAIL:
        return None, whole
    endpoint, message = error.get("endpoint"), error.get("message")
    return (
        AgentError(
            kind=kind or "unavailable",
            retry_after_s=_seconds(error.get("retry_after_s")),
            endpoint=endpoint_name(endpoint) if isinstance(endpoint, str) else None,
            message=shorten(message) if isinstance(message, str) and message.strip() else None,
        ),
        whole,
    )


def parse_pause(detail: str | None) -> StatedPause | None:
    """Return the wait in the detail of an error that `describe` wrote; None if it states none."""
    found = _stated.match(detail or "")
    return None if found is None else StatedPause(float(found[1]), found[2])


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(min(value, RETRY_AFTER_S_READ_MAX)) if value >= 0 else None
