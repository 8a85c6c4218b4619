"""Operations: the questions to a ledger, each declared once. Every interface is made from these declarations."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, Generic, NamedTuple, TypeVar

from api.parameters import Params
from api.principal import Principal
from api.service.ledger import View

P = TypeVar("P", bound=Params)
A = TypeVar("A")


class Link(NamedTuple):
    """A value of the answer that is a path parameter of another operation; `value` is OpenAPI's runtime expression."""

    operation: str
    parameter: str
    value: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Generic[P, A]):
    """A question to a ledger: its parameters, its answer, and the function that answers it from a view.

    `run` names it, and its docstring describes it. A field of `params` that `path` names is a part of the address over
    HTTP. A `heavy` operation computes for long enough that each token may run one at a time. `resource` is its tag in
    OpenAPI. `errors` are the error statuses that neither the token nor the parameters add.
    """

    path: str
    params: type[P]
    answer: type[A]
    run: Callable[[View, Principal, P], Awaitable[A]] = field(repr=False)
    resource: str
    heavy: bool = False
    errors: tuple[int, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)

    async def __call__(self, view: View, caller: Principal, params: P) -> A:
        """Answer the question. Errors: InvalidQuery, and those of `run`."""
        return await self.run(view, caller, params)

    @property
    def name(self) -> str:
        name: str = self.run.__name__
        return name


def operation(
    path: str,
    resource: str,
    *,
    heavy: bool = False,
    errors: tuple[int, ...] = (),
    links: Mapping[str, Link] | None = None,
) -> Callable[[Callable[[View, Principal, P], Awaitable[A]]], Operation[P, A]]:
    """Make a function an operation. The types of its parameters and of its answer are those in its signature."""

    def declare(run: Callable[[View, Principal, P], Awaitable[A]]) -> Operation[P, A]:
        types: dict[str, Any] = get_annotations(run)
        params, answer = types["params"], types["return"]
        return Operation(
            path=path,
            params=params,
            answer=answer,
            run=run,
            resource=resource,
            heavy=heavy,
            errors=errors,
            links=links or {},
        )

    return declare
