"""Routes of pages that need no token, because they contain nothing of the ledger; and of forms."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class PublicRoute:
    """A method of a path. As a decorator it takes Starlette's endpoint, which checks by itself what it must."""

    method: Literal["GET", "POST"]
    path: str
    endpoint: Endpoint | None = None

    def __call__(self, endpoint: Endpoint) -> "PublicRoute":
        """Return the route with an endpoint."""
        return replace(self, endpoint=endpoint)

    def route(self) -> Route:
        """Return Starlette's route."""
        assert self.endpoint is not None
        return Route(self.path, self.endpoint, methods=[self.method])
