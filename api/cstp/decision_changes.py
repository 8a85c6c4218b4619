"""cstp.reviewDecision and updateDecision: record the outcome of a decision, and amend it."""

from typing import Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors, decode_both, missing_param_error
from api.cstp.record_decision import BRIDGE, REASON
from api.errors import INTERNAL_ERROR
from api.principal import Principal
from api.service.compaction import find_level
from api.service.decision_links import find_named
from api.service.decision_writer import RecordedReview, append_payload, continue_decision, is_unknown_decision
from api.service.ledger import LedgerService
from events.decision import DecisionAmended, DecisionReviewedV1
from events.decode_error_messages import json_type
from events.envelope import EventId
from events.errors import InvalidEvent
from ledger.errors import LifecycleViolation, NotFound


class _ReviewOptions(msgspec.Struct, frozen=True, kw_only=True):
    idempotency_key: EventId | None = None


_review: ParamsSchema[DecisionReviewedV1] = ParamsSchema(
    DecisionReviewedV1, aliases={"decision_id": ("id",)}, types={"decision_id": str}
)
_review_options: ParamsSchema[_ReviewOptions] = ParamsSchema(_ReviewOptions)


async def review_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Record the outcome of a decision, by its id or an unambiguous prefix of it.

    A prefix needs the scope `read`. `idempotencyKey` works as in recordDecision.
    """
    review, options = decode_both(_review, _review_options, params)
    decision_id, _ = await find_named(ledger, caller, review.decision_id, prefix=caller.may("read"))
    review = structs.replace(review, decision_id=decision_id)
    try:
        recorded = await continue_decision(RecordedReview, ledger, caller, review, event_id=options.idempotency_key)
    except NotFound as error:
        raise _not_found(review.decision_id) from error
    return {
        "success": True,
        "id": recorded.decision_id,
        "path": f"decision/{recorded.decision_id}",
        "status": "reviewed",
        "reviewedAt": recorded.time.isoformat(),
        "reindexed": True,
        "compactionLevel": await find_level(ledger, recorded.decision_id),
    }


def _not_found(decision_id: str) -> RpcError:
    return RpcError(INTERNAL_ERROR, f"Decision not found: {decision_id}", {"type": "NotFound"})


class _Update(msgspec.Struct, frozen=True, kw_only=True):
    id: str | None = None
    idempotency_key: EventId | None = None


_update: ParamsSchema[_Update] = ParamsSchema(_Update, aliases={"id": ("id", "decision_id", "decisionId")})
_amendment: ParamsSchema[DecisionAmended] = ParamsSchema(
    DecisionAmended, without=("decision_id",), inner={"reasons": REASON, "bridge": BRIDGE}
)


async def update_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Amend a decision, by its id or an unambiguous prefix of it, which needs the scope `read`.

    An unknown decision, or no known field, is a result and not an error. `idempotencyKey` works as in recordDecision.
    """
    errors: list[ParameterError] = []
    update, updates = _update.convert(params, errors), params.get("updates")
    if not update.get("id") and not errors:
        raise missing_param_error("id")
    if updates in (None, {}) and not errors:
        raise missing_param_error("updates")
    values: dict[str, Any] = {}
    if isinstance(updates, dict):
        values = _amendment.convert(_without_blank_decision(updates), errors, "updates.")
    elif updates is not None:
        errors.append(ParameterError("updates", f"must be an object, got {json_type(updates)}"))
    check_errors(errors)
    if not values:
        return {"success": False, "error": "No valid fields to update"}
    decision_id, key = update["id"], update.get("idempotency_key")
    decision_id, _ = await find_named(ledger, caller, decision_id, prefix=caller.may("read"))
    try:
        posted = await append_payload(
            ledger, caller, DecisionAmended(decision_id=decision_id, **values), key, ledger.clock()
        )
    except (LifecycleViolation, InvalidEvent) as error:
        if not is_unknown_decision(error):
            raise
        return _unknown_decision(decision_id)
    return {"success": True, "id": posted.decision_id, "updated_fields": list(values), "indexed": True}


def _without_blank_decision(updates: dict[str, Any]) -> dict[str, Any]:
    """Return the updates without a decision that has only spaces. Like an empty one, it changes nothing."""
    text = updates.get("decision")
    if not isinstance(text, str) or not text.isspace():
        return updates
    return {name: value for name, value in updates.items() if name != "decision"}


def _unknown_decision(decision_id: str) -> object:
    return {"success": False, "error": f"Decision {decision_id} not found"}
