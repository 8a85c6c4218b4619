"""The address of a client's server, and the base of both kinds of client."""

from typing import Protocol

from tallystick.errors import TallystickError
from tallystick.operations import Operations
from tallystick.settings import RETRY_S, TIMEOUT_S, make_settings


class Endpoint(Protocol):
    """The address of the server, which may change after a failure if the server is private."""

    def url(self) -> str:
        """Return the server's address, without a slash at its end. It may block. Errors: LocalServerFailed."""

    def failed(self, url: str) -> None:
        """Note that the server at this address did not answer."""

    def close(self) -> None:
        """Stop the server if this endpoint started it."""


class FixedEndpoint:
    """A server that stays at one address."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self) -> str:
        return self._url

    def failed(self, url: str) -> None:
        """Do nothing: the next try is at the same address."""

    def close(self) -> None:
        """Do nothing: the endpoint did not start the server."""


class BaseClient:
    """The base of `Client` and `AsyncClient`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        retry_s: float = RETRY_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._settings = make_settings(url, agent, token, retry_s=retry_s, timeout_s=timeout_s)
        self._operations = Operations(self._settings)
        self._endpoint: Endpoint = FixedEndpoint(self._settings.url)
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r}, agent={self._settings.agent!r})"

    @property
    def agent(self) -> str | None:
        """The agent that this client names; None if the token names it."""
        return self._settings.agent

    def _check_open(self) -> None:
        if self._closed:
            raise TallystickError("The client is closed.", "Make another one. Nothing was sent.")
