"""What a client is made with: the address of the server, the agent it speaks for, and the token."""

import os
from urllib.parse import urlsplit

import msgspec

from tallystick.errors import InvalidArgument

DEFAULT_URL = "http://127.0.0.1:8321"
"""The default address of `tallystick serve`."""

RETRY_S = 30.0
"""How long a request is tried again, seconds."""

TIMEOUT_S = 120.0
"""How long one try may take, seconds."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one client. Its repr holds no token."""

    url: str
    """The address of the server, without a slash at its end."""
    agent: str | None
    """The agent that the client names as the source of its events; None leaves that to the token."""
    token: str | None
    """The token, sent as a bearer token."""
    retry_s: float
    """How long a request is tried again, seconds."""
    timeout_s: float
    """How long one try may take, seconds."""

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, agent={self.agent!r})"


def settings_of(url: str | None, agent: str | None, token: str | None, *, retry_s: float, timeout_s: float) -> Settings:
    """Return settings from arguments, and from the environment where an argument is None. Errors: InvalidArgument."""
    url = url or os.environ.get("TALLYSTICK_URL") or DEFAULT_URL
    token = token or os.environ.get("TALLYSTICK_TOKEN") or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidArgument("token: it holds characters that no token has.", "Copy it again.", field="token")
    if not 0 <= retry_s < float("inf"):
        raise InvalidArgument(f"retry_s: {retry_s!r} is not a number of seconds.", "Give 0 or more.", field="retry_s")
    if not 0 < timeout_s < float("inf"):
        raise InvalidArgument(f"timeout_s: {timeout_s!r} is not a time.", "Give more than 0.", field="timeout_s")
    agent = agent or os.environ.get("TALLYSTICK_AGENT") or None
    return Settings(url=checked_url(url), agent=agent, token=token, retry_s=retry_s, timeout_s=timeout_s)


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
        raise InvalidArgument("url: it holds a user or a password.", "Leave them out; use a token.", field="url")
    return url.rstrip("/")
