"""The addresses of a client's servers, and the base of both kinds of client."""

from collections.abc import Sequence
from typing import Protocol

from tallystick.errors import TallystickError
from tallystick.operations import Operations
from tallystick.request_flow import Failure, Response
from tallystick.settings import RETRY_S, TIMEOUT_S, make_settings

UNAVAILABLE = frozenset({502, 503, 504})
"""Statuses after which another server may answer."""


class Endpoint(Protocol):
    """The address of the server, which may change after a failure if the server is private."""

    def url(self) -> str:
        """Return the server's address, without a slash at its end. It may block. Errors: LocalServerFailed."""

    def failed(self, url: str) -> None:
        """Note that the server at this address did not answer."""

    def unavailable(self, url: str) -> None:
        """Note that the server at this address answered that it cannot serve now, or ended a stream."""

    def close(self) -> None:
        """Stop the server if this endpoint started it."""


class FixedEndpoint:
    """Servers of one ledger that stay at their addresses: after a failure the next one is used."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._current = 0

    def url(self) -> str:
        return self._urls[self._current]

    def failed(self, url: str) -> None:
        """Use the next address, unless another request of this client has changed it already."""
        if url == self.url():
            self._current = (self._current + 1) % len(self._urls)

    unavailable = failed

    def close(self) -> None:
        """Do nothing: the endpoint did not start the server."""


class BaseClient:
    """The base of `Client` and `AsyncClient`."""

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        retry_s: float = RETRY_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._settings = make_settings(url, agent, token, retry_s=retry_s, timeout_s=timeout_s)
        self._operations = Operations(self._settings)
        self._endpoint: Endpoint = FixedEndpoint(self._settings.urls)
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(self._settings.urls)!r}, agent={self._settings.agent!r})"

    @property
    def agent(self) -> str | None:
        """The agent that this client names; None if the token names it."""
        return self._settings.agent

    def _note(self, outcome: Response | Failure, url: str) -> Response | Failure:
        """Note whether the server at an address answers and can serve now; return its answer."""
        if isinstance(outcome, Failure):
            self._endpoint.failed(url)
        elif outcome.status in UNAVAILABLE:
            self._endpoint.unavailable(url)
        return outcome

    def _check_open(self) -> None:
        if self._closed:
            raise TallystickError("The client is closed.", "Make another one. Nothing was sent.")
