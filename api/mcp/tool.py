"""The declaration of a tool. `toolsets.TOOLS` lists every tool: a further one is one more `Tool` in its module."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import msgspec

from api.mcp.compact_schema import JsonSchema, compact_schema
from api.mcp.parameter_texts import text_of
from api.principal import Principal
from api.principal import Scope as TokenScope
from api.service.ledger import LedgerService, View
from events.payload import Label

Answer = dict[str, Any]
Toolset = Literal["decisions", "links", "discovery", "evaluations", "proof"]
TOOLSETS: tuple[Toolset, ...] = get_args(Toolset)

PageSize = msgspec.Meta(ge=1, le=50)
Day = Annotated[str, msgspec.Meta(examples=["2026-11-01"])]
"""A time or a date, which the use case parses."""


class AgentParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of a tool that writes. The author is the agent of the token; without tokens `agent_id` names it."""

    agent_id: Label | None = None


class ReadParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of a tool that reads: the position or time that the answer is as of, by default now."""

    as_of: int | str | None = None


class ReadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of each answer of a tool that reads, `as_of`: the position that it rests on, with time and root."""

    as_of: dict[str, int | str | None]


@dataclass(frozen=True)
class ToolCall:
    """What a tool answers from: a view, its caller, and where the page of its list begins and how long it is."""

    view: View
    caller: Principal
    offset: int = 0
    limit: int | None = None

    @property
    def ledger(self) -> LedgerService:
        """The ledger, to write to."""
        return self.view.ledger


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool: its names, its parameters and its result as structs, and the function that answers.

    `also` are further names that a call may use. The schema of the parameters leaves out `unlisted` ones, which
    programs send and models have no use for. `rows` names the list in an answer that has pages; `beside_rows` adapts
    the rest of the answer to rows that were left out. An answer is shortened to ANSWER_BYTES unless it must stay
    `whole` or the caller chose a limit or a detail. A `heavy` tool computes a view for long enough that each token
    may run one at a time. `tracked_as` is the method of CSTP as which a call becomes an input of the agent's next
    decision, if the agent asked for automatic deliberation.
    """

    name: str
    title: str
    description: str
    toolset: Toolset
    params: type[msgspec.Struct]
    result: type[msgspec.Struct]
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
        schema = compact_schema(self.params, nullable=False)
        listed = {
            name: {**value, "description": text_of(self.name, name)}
            for name, value in schema["properties"].items()
            if name not in self.unlisted
        }
        return {**schema, "properties": listed}

    @cached_property
    def output_schema(self) -> JsonSchema:
        return compact_schema(self.result, nullable=True)

    @property
    def annotations(self) -> dict[str, Any]:
        """The four hints. Nothing in an append-only ledger is destroyed."""
        return {
            "read_only_hint": not self.writes,
            "destructive_hint": False,
            "idempotent_hint": self.repeatable or not self.writes,
            "open_world_hint": self.open_world,
        }
