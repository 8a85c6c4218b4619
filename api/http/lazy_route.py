"""Routes that import the module of their operation or page when the first request comes, not when the server starts."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from api.http.operation import HttpOperation

Endpoint = Callable[[Request], Awaitable[Response]]


class Row(NamedTuple):
    """A route, as the table lists it. A test compares method and path with those that the operation declares."""

    method: str
    """Its method."""
    path: str
    """Its path, as Starlette writes it."""
    function: str
    """Its operation or page, as `module:function` below the package."""
    package: str = "api.http.routes"
    """The package of its module."""

    def operation(self) -> "HttpOperation":
        """Return the operation. This imports its module."""
        operation: HttpOperation = self.load()  # type: ignore[assignment]
        return operation

    def load(self) -> "HttpOperation | Endpoint":
        """Return the operation, or the endpoint of a page. This imports its module."""
        from api.http.operation import http_operation  # noqa: PLC0415 - a server starts without them
        from api.service.operation import Operation  # noqa: PLC0415

        module, _, name = self.function.partition(":")
        declared: HttpOperation | Endpoint | Operation[Any, Any] = getattr(
            import_module(f"{self.package}.{module}"), name
        )
        return http_operation(declared) if isinstance(declared, Operation) else declared

    def route(self) -> Route:
        """Return its route. This imports the module of its operation or page."""
        from api.http.operation import HttpOperation  # noqa: PLC0415 - as above

        loaded = self.load()
        return loaded.route() if isinstance(loaded, HttpOperation) else Route(self.path, loaded, methods=[self.method])


class LazyRoute(Route):
    """Starlette's route of a row. Its first request imports the operation, in a thread: others are answered then."""

    def __init__(self, row: Row) -> None:
        async def endpoint(request: Request) -> Response:
            raise NotImplementedError("the first request takes the operation's endpoint instead")

        endpoint.__name__ = row.function.partition(":")[2]
        super().__init__(row.path, endpoint, methods=[row.method])
        self._row = row
        self.app = self._answer_first

    async def _answer_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        loaded = await to_thread(self._row.route)
        self.endpoint, self.app = loaded.endpoint, loaded.app
        await self.app(scope, receive, send)
