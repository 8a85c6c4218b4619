"""Set, retire, list and show guardrails."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from api.principal import Principal
from api.service.guardrails.rule_params import GuardrailQuery, GuardrailsQuery
from api.service.id_prefix import id_not_found
from api.service.ledger import LedgerService, View
from api.service.operation import Link, operation
from api.service.shared_fields import shared_fields
from events.errors import InvalidEvent
from events.guardrail import GuardrailRetired, GuardrailSet
from events.limits import ITEMS_MAX
from events.registry import VOCABULARY
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.guardrails.guardrail_index import CheckCounts, GuardrailIndex, Retirement, RuleEntry
from projections.guardrails.rule_evaluation import digest_of_rules
from projections.outcome_codes import OUTCOMES
from tallystick.shapes.parts import AsOf

RULES_MAX = ITEMS_MAX
"""Rules in force at once; an evaluation names each one that applied."""

LATEST_MAX = 20
"""Decisions that one rule names."""

SetState = Literal["set", "replaced", "unchanged"]


class SetRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a file: whether it is new, replaced another version, or was in force already."""

    guardrail_id: str
    state: SetState
    position: int
    """Position of the event that set this version."""


class RuleWarning(msgspec.Struct, frozen=True, kw_only=True):
    """What is noticeable about a rule that was set: that it cannot fire, or compares what nothing states."""

    guardrail_id: str
    message: str


class SetAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a file, and the digest of all rules in force."""

    rules: list[SetRule]
    rules_digest: str
    warnings: list[RuleWarning] = []


class RetiredRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is no longer in force."""

    guardrail_id: str
    position: int
    duplicate: bool
    """Whether it was retired before: nothing was written."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of some recorded decisions."""

    decisions: int
    success: int = 0
    partial: int = 0
    failure: int = 0
    abandoned: int = 0
    unreviewed: int = 0
    retracted: int = 0


class GuardrailRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule with its figures. They count every version of the rule."""

    guardrail_id: str
    rule: GuardrailSet
    position: int
    time: str
    agent: str
    revision: int
    """Number of this version, from 1."""
    retired: Retirement | None
    fired: int
    met: int
    """Evaluations to which it applied, and whose requirements were met."""
    undecided: int
    """Evaluations to which it did not apply, since a field that it compares was not stated."""
    last_fired: str | None
    after_fired: Outcomes
    """The decisions that were recorded although it fired."""
    after_met: Outcomes
    """The decisions that were recorded when its requirements were met."""
    latest_fired: tuple[str, ...] | UnsetType = UNSET
    """The ids of the latest decisions that were recorded although it fired, the newest first; only of one rule."""


class GuardrailList(msgspec.Struct, frozen=True, kw_only=True):
    """The rules and the counts of evaluations, as of a position."""

    guardrails: list[GuardrailRow]
    checks: CheckCounts
    rules_digest: str
    as_of: AsOf
    note: str | UnsetType = UNSET


async def set_rules(ledger: LedgerService, caller: Principal, body: bytes) -> SetAnswer:
    """Set the rules of a file in one append; a rule that is in force unchanged is not set again.

    Errors: InvalidEvent, naming what is wrong or not supported; Forbidden, without the scope `admin`; those of
    `LedgerService.record`. After an error nothing was written.
    """
    from api.service.guardrails.rule_file import read_rules  # noqa: PLC0415 - loads yaml; only setting reads a file
    from api.service.guardrails.rule_search import warnings_of  # noqa: PLC0415 - as above

    caller.require("admin")
    rules = read_rules(body)
    index, _ = await ledger.at(GuardrailIndex)
    in_force = {rule.guardrail_id: rule for rule in index.rules()}
    after = in_force | {rule.guardrail_id: rule for rule in rules}
    if len(after) > RULES_MAX:
        detail = f"{len(after)} guardrails would be in force; at most {RULES_MAX} can be. No rule was set."
        raise InvalidEvent(detail, "Retire some first: tallystick guardrail retire ID.")
    changed = [rule for rule in rules if in_force.get(rule.guardrail_id) != rule]
    positions = {entry.rule.guardrail_id: entry.position for entry in index.entries()}
    if changed:
        now = ledger.clock()
        placed = await ledger.record([VOCABULARY.draft_of(rule, time=now) for rule in changed], caller)
        positions |= {rule.guardrail_id: at.position for rule, at in zip(changed, placed, strict=True)}
    new = {rule.guardrail_id: _state(in_force, rule) for rule in rules}
    rows = [SetRule(guardrail_id=name, state=state, position=positions[name]) for name, state in new.items()]
    warnings = [
        RuleWarning(guardrail_id=rule.guardrail_id, message=message)
        for rule in rules
        for message in warnings_of(rule, index.stated)
    ]
    return SetAnswer(rules=rows, rules_digest=digest_of_rules(after.values()), warnings=warnings)


def _state(in_force: dict[str, GuardrailSet], rule: GuardrailSet) -> SetState:
    earlier = in_force.get(rule.guardrail_id)
    return "set" if earlier is None else "unchanged" if earlier == rule else "replaced"


async def retire_rule(
    ledger: LedgerService, caller: Principal, guardrail_id: str, reason: str | None = None
) -> RetiredRule:
    """Put a rule out of force. Errors: NotFound; Forbidden, without the scope `admin`; those of `record`."""
    caller.require("admin")
    index, _ = await ledger.at(GuardrailIndex)
    entry = _find(index, guardrail_id)
    if entry.retired is not None:
        return RetiredRule(guardrail_id=guardrail_id, position=entry.retired.position, duplicate=True)
    payload = GuardrailRetired(guardrail_id=guardrail_id, reason=reason or None)
    (placed,) = await ledger.record([VOCABULARY.draft_of(payload, time=ledger.clock())], caller)
    return RetiredRule(guardrail_id=guardrail_id, position=placed.position, duplicate=False)


@operation(
    "/guardrails",
    "guardrails",
    heavy=True,
    links={"guardrail": Link("get_guardrail", "guardrail_id", "$response.body#/guardrails/0/guardrail_id")},
)
async def get_guardrails(view: View, params: GuardrailsQuery) -> GuardrailList:
    """List the guardrails, how often each fired, and the outcomes of the decisions that it let through."""
    index, position = await view.at(GuardrailIndex)
    entries = [entry for entry in index.entries() if params.retired or entry.retired is None]
    in_force, checks = index.rules(), msgspec.structs.replace(index.checks)
    outcomes = await _read_outcomes(view, entries)
    return GuardrailList(
        guardrails=[_row(entry, outcomes) for entry in entries],
        checks=checks,
        rules_digest=digest_of_rules(in_force),
        as_of=await view.dated(position),
        note=UNSET if in_force else "No guardrails are set: every action is allowed unchecked.",
    )


@operation("/guardrails/{guardrail_id}", "guardrails", errors=(404,))
async def get_guardrail(view: View, params: GuardrailQuery) -> GuardrailRow:
    """Return one guardrail, also a retired one."""
    index, _ = await view.at(GuardrailIndex)
    entry = _find(index, params.guardrail_id)
    latest = tuple(dict.fromkeys(reversed(entry.decisions_fired)))[:LATEST_MAX]
    outcomes = await _read_outcomes(view, [entry])
    return msgspec.structs.replace(_row(entry, outcomes), latest_fired=latest)


def _find(index: GuardrailIndex, guardrail_id: str) -> RuleEntry:
    entry = index.find(guardrail_id)
    if entry is None:
        raise id_not_found(guardrail_id, "guardrail")
    return entry


async def _read_outcomes(view: View, entries: Iterable[RuleEntry]) -> "_OutcomeRows":
    """Return the outcomes of the decisions for which some rules fired or were met."""
    ids = {name for entry in entries for names in (entry.decisions_fired, entry.decisions_met) for name in names}
    _, position = await view.at(DecisionIndex)
    recorded = await view.engine.names.first_positions([f"decision/{name}" for name in ids], position)
    decisions, _ = await view.at(DecisionIndex)
    return _OutcomeRows(decisions, recorded)


class _OutcomeRows:
    """The outcomes of some decisions, to count a few of them."""

    def __init__(self, decisions: DecisionIndex, recorded: Mapping[str, int]) -> None:
        rows = {subject: decisions.numbers.row(position) for subject, position in recorded.items()}
        self._row_of = {subject: row for subject, row in rows.items() if row is not None}
        selections = {name: DecisionSelection(outcome=name) for name in OUTCOMES}
        selections["retracted"] = DecisionSelection(status="retracted")
        known = np.array(sorted(set(self._row_of.values())), dtype=np.int64)
        self._rows = {name: known[decisions.passing(known, selection)] for name, selection in selections.items()}

    def count(self, decision_ids: Iterable[str]) -> Outcomes:
        found = (self._row_of.get(f"decision/{decision_id}") for decision_id in set(decision_ids))
        rows = np.array([row for row in found if row is not None], dtype=np.int64)
        counts = {name: int(np.isin(rows, of_outcome).sum()) for name, of_outcome in self._rows.items()}
        return Outcomes(decisions=len(rows), **counts)


def _row(entry: RuleEntry, outcomes: _OutcomeRows) -> GuardrailRow:
    return GuardrailRow(
        **shared_fields(entry, GuardrailRow),
        guardrail_id=entry.rule.guardrail_id,
        after_fired=outcomes.count(entry.decisions_fired),
        after_met=outcomes.count(entry.decisions_met),
    )
