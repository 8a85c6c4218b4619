"""The guardrail and check streams: the owner's rules for actions, and each evaluation of an action against them.

A rule states when it applies (conditions) and what an action then needs (requirements). The names are those of CSTP's
rule files; their operators are words here.
"""

import math
from typing import Annotated, Any, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.payload import (
    COUNT_MAX,
    Confidence,
    Count,
    Digest,
    Label,
    Labels,
    Payload,
    PayloadPart,
    StreamId,
    StreamName,
    Text,
)

GuardrailAction = Literal["block", "warn", "log"]
Operator = Literal[
    "eq", "ne", "lt", "lte", "gt", "gte", "in", "not_in", "contains", "not_contains",
    "truthy", "falsy", "present", "missing",
]  # fmt: skip
"""How a field is compared. `truthy` and `falsy` ask whether it is set to something true;
`present` and `missing` ask whether it is stated."""

CheckPhase = Literal["check", "pre_action", "record"]
CheckOutcome = Literal["fired", "met", "undecided"]

ORDERING: frozenset[str] = frozenset({"lt", "lte", "gt", "gte"})
"""The operators that compare numbers."""

_LISTS = frozenset({"in", "not_in"})
_TEXTS = frozenset({"contains", "not_contains"})
_UNARY = frozenset({"truthy", "falsy", "present", "missing"})

Number = Annotated[int, msgspec.Meta(ge=-COUNT_MAX, le=COUNT_MAX)] | float
Scalar = str | bool | Number


class GuardrailCondition(PayloadPart, frozen=True, kw_only=True):
    """A comparison of one field of an action."""

    field: Label
    """Name of the field: category, stakes, confidence, or a key of the action's context. Source: the owner."""
    operator: Operator
    """How the field is compared. Source: the owner."""
    value: Scalar | Annotated[tuple[Scalar, ...], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    """What it is compared with: a number for lt, lte, gt and gte, a list for in and not_in, a text for contains and
    not_contains, nothing for truthy, falsy, present and missing, a text, number or boolean for eq and ne.
    Source: the owner."""

    def __post_init__(self) -> None:
        if (needed := self._missing_kind()) is not None:
            raise ValueError(f"The operator {self.operator} of {self.field} needs {needed} as its value")

    def _missing_kind(self) -> str | None:
        """Return what the value would have to be, if it is something else."""
        value, operator = self.value, self.operator
        if operator in _UNARY:
            return None if value is None else "nothing"
        if operator in ORDERING:
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            return None if is_number else "a number"
        if operator in _LISTS:
            return None if isinstance(value, tuple) and value else "a list with values"
        if operator in _TEXTS:
            return None if isinstance(value, str) and value else "a text"
        return None if isinstance(value, str | bool | int | float) else "a text, a number or a boolean"


Conditions = Annotated[tuple[GuardrailCondition, ...], msgspec.Meta(max_length=ITEMS_MAX)]


class GuardrailSet(Payload, frozen=True, kw_only=True):
    """A rule is in force from here on; a later event with the same id replaces it.

    It applies to an action if its scope, all its conditions, and one of each group of `any_of` hold. It then fires if
    it has no requirements, or if one of them is not met.
    """

    guardrail_id: StreamId
    """Names the stream `guardrail/ID`. Source: the owner."""
    action: GuardrailAction
    """What follows when it fires: `block` refuses the action; `warn` and `log` only report. Source: the owner."""
    description: str | None = None
    """The rule in words. Source: the owner."""
    message: str | None = None
    """What the agent reads when it fires; `{field}` is replaced by the field's value. Source: the owner."""
    scope: Labels = ()
    """Projects it is for; empty: all. An action that names no project is in every scope. Source: the owner."""
    conditions: Conditions = ()
    """All of them must hold. Source: the owner."""
    any_of: Annotated[
        tuple[Annotated[Conditions, msgspec.Meta(min_length=1)], ...], msgspec.Meta(max_length=ITEMS_MAX)
    ] = ()
    """Groups, of each of which one condition must hold. Source: the owner."""
    requirements: Conditions = ()
    """What the action needs; a field that is not stated fails. Source: the owner."""
    expression: str | None = None
    """The text in CEL from which the conditions were read. Source: the owner."""

    def __post_init__(self) -> None:
        if not (self.conditions or self.any_of or self.requirements):
            raise ValueError("A rule has at least one condition or requirement")


class GuardrailRetired(Payload, frozen=True, kw_only=True):
    """A rule is no longer in force. It can be set again."""

    guardrail_id: StreamId
    """The rule that is retired. Source: the owner."""
    reason: Text | None = None
    """Why, in words. Source: the owner."""


class CheckedRule(PayloadPart, frozen=True, kw_only=True):
    """What one rule that applied, or perhaps applied, found."""

    guardrail_id: StreamName
    """The rule. Source: the ledger."""
    action: GuardrailAction
    """Its action at that time. Source: the rule."""
    outcome: CheckOutcome
    """`fired`; `met`: it applied and its requirements were met; `undecided`: it did not apply, since a field that it
    compares is not stated, but its other conditions hold. Source: the ledger."""
    message: str | None = None
    """What the agent reads. Source: the rule."""
    fields: Labels = ()
    """Fields that are not stated, or do not meet a requirement. Source: the ledger."""


class GuardrailEvaluated(Payload, frozen=True, kw_only=True):
    """An action was evaluated against the rules in force. Only the ledger appends it."""

    check_id: StreamId | None = None
    """Names the stream `check/ID`. Source: the ledger, 8 hex digits."""
    phase: CheckPhase
    """When it was evaluated: on request, before an action (preAction), or as a decision was recorded.
    Source: the ledger."""
    rules_digest: Digest
    """SHA-256 of the rules in force: their payloads in the order of their ids, as a compact JSON array in UTF-8.
    Source: the ledger."""
    rules: Count
    """How many rules were in force. Source: the ledger."""
    description: Text
    """The action in words. Source: the agent."""
    category: str | None = None
    """Kind of action. Source: the agent."""
    stakes: str | None = None
    """How much depends on it; rules read an absent value as medium. Source: the agent."""
    confidence: Confidence | None = None
    """Stated probability of success, 0..1. Source: the agent."""
    context: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further fields that rules can compare. Source: the agent; as a decision is recorded, the decision."""
    allowed: bool
    """Whether no rule with the action `block` fired. Source: the ledger."""
    results: Annotated[tuple[CheckedRule, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The rules that applied, or perhaps applied, in the order of their ids. Source: the ledger."""
    decision_id: StreamName | None = None
    """The decision that was recorded. Source: the ledger."""
