"""Operations: each route declares its path, parameters, body, answers and links once.

The application's routes and `/openapi.json` are both built from these declarations. The summary of an operation is the
first paragraph of its docstring, the description is the rest.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from inspect import cleandoc
from typing import Any, Literal, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.auth import Scope
from api.http.media import JSON
from api.http.request import Call, read_request
from api.parameters import JsonSchema, Parameter

Method = Literal["GET", "PUT", "POST", "DELETE"]

Shape = type[msgspec.Struct] | tuple[type[msgspec.Struct], ...] | JsonSchema
"""What a body is: a struct, one of several, or a JSON Schema."""

Handler = Callable[[Call], Awaitable[Response]]

TEXT: JsonSchema = {"type": "string"}
BYTES: JsonSchema = {}


@dataclass(frozen=True)
class Answer:
    """An answer: when it comes, its body by media type, and what its headers mean."""

    description: str
    content: Mapping[str, Shape] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Link(NamedTuple):
    """A value of the answer that is a path parameter of another operation; `value` is a runtime expression."""

    operation: str
    parameter: str
    value: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """A method of a path. As a decorator it takes the handler of authenticated calls.

    `scopes` are those that the token must have; the methods of CSTP have scopes of their own. A `public` operation
    needs no token. `errors` are its error statuses besides those of every operation with a token, or with a body.
    """

    method: Method
    path: str
    answers: Mapping[int, Answer]
    public: bool = False
    scopes: tuple[Scope, ...] = ("read",)
    path_parameters: tuple[Parameter[Any], ...] = ()
    query: tuple[Parameter[Any], ...] = ()
    headers: tuple[Parameter[Any], ...] = ()
    body: Mapping[str, Shape] = field(default_factory=dict)
    body_required: bool = False
    errors: tuple[int, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)
    endpoint: Any = None

    def __call__(self, handler: Handler) -> "Operation":
        """Return the operation with a handler, called once the token and the query are checked."""

        async def endpoint(request: Request) -> Response:
            return await handler(read_request(request, self.scopes, self.query))

        return replace(self, endpoint=update_wrapper(endpoint, handler))

    def raw(self, endpoint: Any) -> "Operation":  # noqa: ANN401 # Starlette takes functions and ASGI applications
        """Return the operation with an endpoint of Starlette that checks token and query itself."""
        return replace(self, endpoint=endpoint)

    @property
    def name(self) -> str:
        name: str = self.endpoint.__name__
        return name

    @property
    def tag(self) -> str:
        """The resource: the name of the module that declares the endpoint."""
        module: str = self.endpoint.__module__
        return module.rpartition(".")[2]

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it: Starlette's `{subject:path}` is `{subject}`."""
        return re.sub(r":\w+}", "}", self.path)

    @property
    def summary(self) -> str:
        return self._documentation()[0]

    @property
    def description(self) -> str:
        return self._documentation()[1]

    def route(self) -> Route:
        """Return the route of the application."""
        return Route(self.path, self.endpoint, methods=[self.method])

    def _documentation(self) -> tuple[str, str]:
        paragraphs = [" ".join(text.split()) for text in cleandoc(self.endpoint.__doc__).split("\n\n")]
        return paragraphs[0], "\n\n".join(paragraphs[1:])


def json_answer(description: str, shape: Shape) -> Answer:
    """Declare an answer in JSON."""
    return Answer(description, {JSON: shape})


def reference(name: str) -> JsonSchema:
    """Return a reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}
