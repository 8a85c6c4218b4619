"""Operations: the questions to a ledger, each declared once. Every interface is made from these declarations."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from api.principal import Principal
from api.service.ledger import View

P = TypeVar("P", bound=msgspec.Struct)
A = TypeVar("A")


class Link(NamedTuple):
    """A value of the answer that is a path parameter of another operation; `value` is OpenAPI's runtime expression."""

    operation: str
    parameter: str
    value: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Generic[P, A]):
    """A question to a ledger: its parameters, its answer, and the function that answers it from a view.

    `run` names it, and its docstring describes it; it takes a view, the parameters, and perhaps the caller. A field of
    `params` that `path` names is a part of the address over HTTP. A `heavy` operation computes for long enough that
    each token may run one at a time. An operation `of_now` has no answer as of a position. `resource` is its tag in
    OpenAPI. `errors` are the error statuses that neither the token nor the parameters add.
    """

    path: str
    params: type[P]
    answer: type[A]
    run: Callable[..., Awaitable[A]] = field(repr=False)
    takes_caller: bool
    resource: str
    heavy: bool = False
    of_now: bool = False
    errors: tuple[int, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)

    async def __call__(self, view: View, params: P, caller: Principal | None = None) -> A:
        """Answer the question. Errors: InvalidQuery, and those of `run`."""
        if not self.takes_caller:
            return await self.run(view, params)
        assert caller is not None, f"the answer of {self.name} depends on the caller"
        return await self.run(view, params, caller)

    @property
    def name(self) -> str:
        name: str = self.run.__name__
        return name

    @property
    def placed(self) -> list[str]:
        """The names of the parameters that are in the path."""
        return re.findall(r"{(\w+)", self.path)


class Answers(Protocol):
    """What answers operations: a view of a ledger here, or a server."""

    async def answer(self, operation: Operation[P, A], params: P) -> A:
        """Return the answer of an operation."""
        ...

    async def evidence_bytes(self, digest: str) -> bytes:
        """Return the bytes of a digest. Errors: NotFound, Gone."""
        ...

    async def past(self, position: int) -> "Answers":
        """Return what answers as of a position."""
        ...


def operation(
    path: str,
    resource: str,
    *,
    heavy: bool = False,
    of_now: bool = False,
    errors: tuple[int, ...] = (),
    links: Mapping[str, Link] | None = None,
) -> Callable[[Callable[..., Awaitable[A]]], Operation[Any, A]]:
    """Make a function an operation. The types of its parameters and of its answer are those in its signature."""

    def declare(run: Callable[..., Awaitable[A]]) -> Operation[Any, A]:
        types: dict[str, Any] = get_annotations(run)
        return Operation(
            path=path,
            params=types["params"],
            answer=types["return"],
            run=run,
            takes_caller="caller" in types,
            resource=resource,
            heavy=heavy,
            of_now=of_now,
            errors=errors,
            links=links or {},
        )

    return declare
