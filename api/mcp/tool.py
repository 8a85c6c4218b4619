"""The declaration of a tool. `toolsets.TOOLS` lists every tool: a further one is one more `Tool` in its module."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from api.mcp.arguments import descriptions, filled
from api.mcp.compact_schema import JsonSchema, compact_schema
from api.mcp.parameter_texts import IN_WORDS, text_of
from api.principal import Principal
from api.principal import Scope as TokenScope
from api.service.ledger import LedgerService, View
from api.service.operation import Operation

Answer = dict[str, Any]
Toolset = Literal["decisions", "links", "discovery", "evaluations", "proof"]
TOOLSETS: tuple[Toolset, ...] = get_args(Toolset)


@dataclass(frozen=True)
class ToolCall:
    """What a tool answers from: a view, its caller, and where the page of its list begins and how long it is."""

    view: View
    caller: Principal
    offset: int = 0
    limit: int | None = None

    async def ask(self, asked: Operation[Any, Any], given: msgspec.Struct, **stated: object) -> Answer:
        """Return the answer of an operation, without the `as_of` that every answer of a tool ends with."""
        params = filled(asked.params, given, **stated)
        answer: Answer = msgspec.to_builtins(await asked(self.view, params, self.caller))
        answer.pop("as_of", None)
        return answer

    @property
    def ledger(self) -> LedgerService:
        """The ledger, to write to."""
        return self.view.ledger


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool: its names, its parameters and its result as structs, and the function that answers.

    `params` are made from what the use cases declare (`arguments.py`). `result` has the types of the fields of an
    answer; a name with `?` may be absent. `also` are further names that a call may use.
    The schema of the parameters leaves out `unlisted` ones, which programs send and models have no use for. `rows`
    names the list in an answer that has pages; `beside_rows` adapts the rest of the answer to rows that were left out.
    An answer is shortened to ANSWER_BYTES unless it must stay
    `whole` or the caller chose a limit or a detail. A `heavy` tool computes a view for long enough that each token
    may run one at a time. `tracked_as` is the method of CSTP as which a call becomes an input of the agent's next
    decision, if the agent asked for automatic deliberation.
    """

    name: str
    title: str
    description: str
    toolset: Toolset
    params: type[msgspec.Struct]
    result: Mapping[str, Any] = field(default_factory=dict)
    answer: Callable[[ToolCall, Any], Awaitable[Answer]] = field(repr=False)
    writes: bool = False
    repeatable: bool = False
    open_world: bool = False
    heavy: bool = False
    whole: bool = False
    rows: str | None = None
    also: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    beside_rows: Callable[[Answer], Answer] | None = None
    tracked_as: str | None = None

    @property
    def scope(self) -> TokenScope:
        return "append" if self.writes else "read"

    @cached_property
    def input_schema(self) -> JsonSchema:
        schema, declared = compact_schema(self.params, nullable=False), descriptions(self.params)
        listed = {
            name: {**IN_WORDS.get((self.name, name), value), "description": text_of(self.name, name) or declared[name]}
            for name, value in schema["properties"].items()
            if name not in self.unlisted
        }
        return {**schema, "properties": listed}

    @cached_property
    def output_schema(self) -> JsonSchema:
        """The schema of an answer. A page has its rows; an answer of a tool that reads ends with `as_of`."""
        basis = {} if self.writes else {"as_of": dict}
        page = {} if self.rows is None else {self.rows: list, "total": int, "next": str | None}
        fields = [
            (name.rstrip("?"), kind | UnsetType, UNSET) if name.endswith("?") else (name, kind)
            for name, kind in {**basis, **page, **self.result}.items()
        ]
        return compact_schema(msgspec.defstruct("Answer", fields, kw_only=True), nullable=True)

    @property
    def annotations(self) -> dict[str, Any]:
        """The four hints. Nothing in an append-only ledger is destroyed."""
        return {
            "read_only_hint": not self.writes,
            "destructive_hint": False,
            "idempotent_hint": self.repeatable or not self.writes,
            "open_world_hint": self.open_world,
        }
