"""cstp.compact, getCompacted, setPreserve and getWisdom: old decisions in short form, and what they come to together.

A level is a view of a decision's age: nothing in the ledger is shortened (`api/service/compaction.py`).
"""

from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.params_schema import ParamsSchema
from api.principal import Principal
from api.service.agent_calls.decision_json import decision_json, without_defaults
from api.service.agent_calls.session_context import wisdom_json
from api.service.compaction import (
    WISDOM_DECISIONS_MIN,
    CompactedQuery,
    LeveledDecision,
    count_by_level,
    list_compacted,
    list_wisdom,
    set_preserve,
)
from api.service.ledger import LedgerService
from events.envelope import EventId
from events.payload import StreamId
from ledger.errors import NotFound
from projections.decisions.compaction import Level
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOME_VALUES

COMPACTED_MAX = 500
LINE_CHARS_MAX = 80
_CUT = "..."

_SUMMARY = ("outcome", "confidence", "actualConfidence", "pattern", "stakes")
_FULL = (*_SUMMARY, "context", "reasons", "tags", "bridge", "deliberation")
_FIELDS: dict[Level, tuple[str, ...]] = {
    "full": _FULL,
    "summary": _SUMMARY,
    "digest": ("oneLine",),
    "wisdom": _FULL,
}
"""The fields of a row at each level, besides those that every row has."""


class _Compaction(CompactedQuery, frozen=True, kw_only=True):
    dry_run: bool = False
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = WISDOM_DECISIONS_MIN


class _Preserve(msgspec.Struct, frozen=True, kw_only=True):
    decision_id: StreamId
    preserve: bool = True
    idempotency_key: EventId | None = None


_compaction: ParamsSchema[_Compaction] = ParamsSchema(
    _Compaction, aliases={"preserved": ("includePreserved", "include_preserved")}, reads=True
)
_preserve: ParamsSchema[_Preserve] = ParamsSchema(
    _Preserve, aliases={"decision_id": ("decisionId", "decision_id", "id")}
)


async def compact(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Count decisions by level. Levels follow from the age, so there is nothing to write, with `dryRun` or without."""
    request = _compaction.decode(params)
    counts = await count_by_level(ledger, request.category)
    answer = {"compacted": counts.total, "preserved": counts.preserved, "levels": counts.levels}
    return {**answer, "dryRun": request.dry_run}


async def get_compacted(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return the newest decisions, each as its level shows it. `levels` counts all that match, `total` the returned.

    As in the protocol, decisions of the level `wisdom` are listed only if that is the `level`, with all fields.
    """
    query = _compaction.decode(params)
    found = await list_compacted(ledger, structs.replace(query, limit=min(max(query.limit, 1), COMPACTED_MAX)))
    rows = [_row(decision) for decision in found.decisions]
    return {"decisions": rows, "total": len(rows), "levels": found.levels}


async def get_wisdom(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return what the decisions of the level `wisdom` come to, for each category with `minDecisions` of them."""
    request = _compaction.decode(params)
    rows = await list_wisdom(ledger, request.category, request.min_decisions)
    total = sum(row.decisions for row in rows)
    return {"wisdom": list(map(wisdom_json, rows)), "totalDecisions": total, "categoriesAnalyzed": len(rows)}


async def preserve_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Keep a decision at the level `full`, or no longer. An unknown decision is a result and not an error.

    `idempotencyKey` works as in recordDecision.
    """
    request = _preserve.decode(params)
    answer: dict[str, object] = {"success": True, "decisionId": request.decision_id, "preserve": request.preserve}
    try:
        await set_preserve(
            ledger, caller, request.decision_id, preserve=request.preserve, event_id=request.idempotency_key
        )
    except NotFound:
        error = f"Decision not found: {request.decision_id}; nothing was written."
        return {**answer, "success": False, "error": error}
    return answer


def _row(decision: LeveledDecision) -> dict[str, object]:
    fields, review = without_defaults(decision_json(decision.state)), decision.state.review
    fields["oneLine"] = _one_line(decision.state.decision.decision)
    if review is not None:
        fields["actualConfidence"] = OUTCOME_VALUES[OUTCOME_NUMBERS[review.outcome]].item()
    row: dict[str, object] = {
        "id": fields["id"],
        "level": decision.level,
        "decision": fields["decision"],
        "category": decision.state.decision.category or "",
        "date": fields["date"],
    }
    if decision.state.preserve:
        row["preserved"] = True
    return row | {name: fields[name] for name in _FIELDS[decision.level] if fields.get(name) not in (None, "", (), [])}


def _one_line(text: str) -> str:
    """Return a text on one line, cut to LINE_CHARS_MAX characters."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS_MAX else line[: LINE_CHARS_MAX - len(_CUT)] + _CUT
