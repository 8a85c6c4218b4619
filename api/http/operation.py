"""Operations: the declaration of each route's path, parameters, body, answers and links.

The application's routes and `/openapi.json` are built from these declarations. The first paragraph of an endpoint's
docstring is the summary of the operation, the rest is the description.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial, update_wrapper
from inspect import cleandoc
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http.media_types import JSON, NOTE
from api.http.request import Call, json_response, read_request, run_query
from api.parameters import JsonSchema, Parameter, collect_assumed_utc, declared, parse_params
from api.principal import Scope
from api.service.event_params import AS_OF
from api.service.ledger import LedgerService
from api.service.operation import Link, Operation

Method = Literal["GET", "PUT", "POST", "DELETE"]


@dataclass(frozen=True)
class ArrayOf:
    """The type of a body that is an array of 1 to `maximum` structs."""

    struct: type[msgspec.Struct]
    maximum: int


Struct = type[msgspec.Struct] | ArrayOf
Shape = Struct | tuple[Struct, ...] | JsonSchema
"""The type of a body: a struct, an array of structs, a choice of these, or a JSON Schema."""

Handler = Callable[[Call], Coroutine[Any, Any, Response]]

TEXT: JsonSchema = {"type": "string"}
BYTES: JsonSchema = {}


@dataclass(frozen=True)
class Answer:
    """An answer: its description, its body by media type, and the meaning of its headers."""

    description: str
    content: Mapping[str, Shape] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


ASSUMED_UTC = "tallystick-assumed-utc"
"""The header of an answer to parameters whose time has no zone: each with the time in UTC that was used."""

LEFT_OUT = "tallystick-left-out"
"""The header of answers while views leave out events: how many, and the first position."""


@dataclass(frozen=True, eq=False)
class HttpOperation:
    """A method of a path. As a decorator it takes the handler of authenticated calls.

    The token must have every scope of `scopes`; CSTP checks the scope of each method by itself. A `public` operation
    needs no token. `errors` lists only the error statuses that the token or the body does not add; `error_content`
    are their bodies besides problem documents. `resource` is the
    tag in OpenAPI, by default the name of the module that declares the endpoint. A `heavy` operation computes a view
    for long enough that each token may run one at a time; so does every operation with the parameter `as_of`.
    """

    method: Method
    path: str
    _: KW_ONLY
    answers: Mapping[int, Answer]
    public: bool = False
    scopes: tuple[Scope, ...] = ("read",)
    path_parameters: tuple[Parameter[Any], ...] = ()
    query: tuple[Parameter[Any], ...] = ()
    body: Mapping[str, Shape] = field(default_factory=dict)
    body_required: bool = True
    errors: tuple[int, ...] = ()
    error_content: Mapping[str, Shape] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)
    endpoint: Any = None
    resource: str | None = None
    heavy: bool = False

    def __call__(self, handler: Handler) -> "HttpOperation":
        """Return the operation with a handler, which is called after the token and the query are checked."""

        async def endpoint(request: Request) -> Response:
            with collect_assumed_utc() as assumed:
                call = read_request(request, self.scopes, self.query)
                work = partial(handler, call)
                response = await (run_query(call, work) if self.heavy or "as_of" in call.parameters else work())
            if assumed:
                response.headers[ASSUMED_UTC] = "; ".join(f"{name}={time}" for name, time in assumed.items())
            return with_left_out(response, call.ledger)

        return replace(self, endpoint=update_wrapper(endpoint, handler))

    def raw(self, endpoint: Any) -> "HttpOperation":  # noqa: ANN401 # Starlette takes functions and ASGI applications
        """Return the operation with a Starlette endpoint that checks token and query by itself."""
        return replace(self, endpoint=endpoint)

    @property
    def name(self) -> str:
        name: str = self.endpoint.__name__
        return name

    @property
    def tag(self) -> str:
        module: str = self.endpoint.__module__
        return self.resource or module.rpartition(".")[2]

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it: `{subject}` for Starlette's `{subject:path}`."""
        return re.sub(r":\w+}", "}", self.path)

    @property
    def summary(self) -> str:
        return self._documentation()[0]

    @property
    def description(self) -> str:
        return self._documentation()[1]

    @property
    def is_linkable(self) -> bool:
        """Whether a link can name it: a GET that needs no parameter, other than the home page."""
        required = any(parameter.required for parameter in self.query)
        return self.method == "GET" and not self.path_parameters and not required and self.path != "/"

    def route(self) -> Route:
        """Return Starlette's route for the operation."""
        return Route(self.path, self.endpoint, methods=[self.method])

    def _documentation(self) -> tuple[str, str]:
        paragraphs = [" ".join(text.split()) for text in cleandoc(self.endpoint.__doc__).split("\n\n")]
        return paragraphs[0], "\n\n".join(paragraphs[1:])


def http_operation(
    operation: Operation[Any, Any],
    answer: Answer | None = None,
    respond: Callable[[Any, Any], Response] = lambda found, params: json_response(found),
) -> HttpOperation:
    """Return how HTTP answers an operation: `as_of` selects the view. Without `answer` and `respond`, it is JSON."""
    placed = operation.placed
    parameters = declared(operation.params)

    async def handle(call: Call) -> Response:
        texts = {**call.parameters, **call.request.path_params}
        params = parse_params(operation.params, texts)
        return respond(await operation(await call.view(), params, call.caller), params)

    return HttpOperation(
        "GET",
        operation.path,
        path_parameters=tuple(each for each in parameters if each.name in placed),
        query=(*(each for each in parameters if each.name not in placed), *(() if operation.of_now else (AS_OF,))),
        answers={200: answer or json_answer(_first_sentence(operation.answer.__doc__ or ""), operation.answer)},
        errors=operation.errors,
        links=operation.links,
        heavy=operation.heavy,
        resource=operation.resource,
    )(update_wrapper(handle, operation.run))


def _first_sentence(text: str) -> str:
    """Return the first sentence of a docstring."""
    paragraph = " ".join(cleandoc(text).partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def with_left_out(response: Response, ledger: LedgerService) -> Response:
    """Return a response with the header LEFT_OUT, if views leave out events."""
    if left_out := ledger.engine.left_out:
        response.headers[LEFT_OUT] = f"{len(left_out)}; first={min(left_out)}"
    return response


def json_answer(description: str, shape: Shape) -> Answer:
    """Declare an answer whose body is JSON."""
    return Answer(description, {JSON: shape})


def note_answer(description: str) -> Answer:
    """Declare an answer whose body is a signed note or a receipt."""
    return Answer(description, {NOTE.partition(";")[0]: TEXT})


def reference(name: str) -> JsonSchema:
    """Return a JSON Schema that refers to a schema of the OpenAPI document by name."""
    return {"$ref": f"#/components/schemas/{name}"}
