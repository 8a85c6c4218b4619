"""The settings of a client: the servers' addresses, the agent, the token, and the time limits."""

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from tallystick.errors import InvalidArgument

DEFAULT_URL = "http://127.0.0.1:8321"
"""The default address of `tallystick serve`."""

RETRY_S = 30.0
"""The default of `retry_s`, seconds."""

TIMEOUT_S = 120.0
"""The default of `timeout_s`, seconds."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one client. Its repr does not contain the token."""

    urls: tuple[str, ...]
    """The addresses of the servers of one ledger, at least one, without a slash at their ends."""
    agent: str | None
    """The agent that the client names as the source of its events; None: the server uses the token's agent."""
    token: str | None
    """The token, sent as a bearer token."""
    retry_s: float
    """How long a request is retried, seconds."""
    timeout_s: float
    """How long one attempt may take, seconds."""

    def __repr__(self) -> str:
        return f"Settings(urls={self.urls!r}, agent={self.agent!r})"


def make_settings(
    url: str | Sequence[str] | None, agent: str | None, token: str | None, *, retry_s: float, timeout_s: float
) -> Settings:
    """Return settings from arguments, or if these are None from environment variables. Errors: InvalidArgument."""
    given = url or os.environ.get("TALLYSTICK_URL") or DEFAULT_URL
    urls = [checked_url(one.strip()) for one in (given.split(",") if isinstance(given, str) else given)]
    token = token or os.environ.get("TALLYSTICK_TOKEN") or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidArgument(
            "token: it contains characters that a token cannot contain.", "Copy it again.", field="token"
        )
    if not 0 <= retry_s < float("inf"):
        raise InvalidArgument(f"retry_s: {retry_s!r} is not a number of seconds.", "Give 0 or more.", field="retry_s")
    if not 0 < timeout_s < float("inf"):
        raise InvalidArgument(
            f"timeout_s: {timeout_s!r} is not a number of seconds.", "Give more than 0.", field="timeout_s"
        )
    agent = agent or os.environ.get("TALLYSTICK_AGENT") or None
    return Settings(urls=tuple(urls), agent=agent, token=token, retry_s=retry_s, timeout_s=timeout_s)


def checked_url(url: str) -> str:
    """Return the address of a server, without a slash at its end. Errors: InvalidArgument."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # port raises ValueError unless it is a number
    except ValueError:
        parts, host = None, None
    if parts is None or parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise InvalidArgument(f"url: {url!r} is not the address of a server.", f"Write {DEFAULT_URL}.", field="url")
    if parts.username is not None or parts.password is not None:
        raise InvalidArgument("url: it contains a user or a password.", "Leave them out; use a token.", field="url")
    return url.rstrip("/")
