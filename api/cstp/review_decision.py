"""cstp.reviewDecision: record the outcome of a decision. The latest review is used; earlier ones stay in the log."""

from typing import Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema, decode_both
from api.errors import INTERNAL_ERROR
from api.principal import Principal
from api.service.compaction import find_level
from api.service.decision_links import find_named
from api.service.decision_writer import review_decision as record_review
from api.service.ledger import LedgerService
from events.decision import DecisionReviewed
from events.envelope import EventId
from ledger.errors import NotFound


class _ReviewOptions(msgspec.Struct, frozen=True, kw_only=True):
    idempotency_key: EventId | None = None


_review: ParamsSchema[DecisionReviewed] = ParamsSchema(
    DecisionReviewed, aliases={"decision_id": ("id",)}, types={"decision_id": str}
)
_options: ParamsSchema[_ReviewOptions] = ParamsSchema(_ReviewOptions)


async def review_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Record the outcome of a decision, by its id or an unambiguous prefix of it.

    A prefix needs the scope `read`. `idempotencyKey` works as in recordDecision.
    """
    review, options = decode_both(_review, _options, params)
    decision_id, _ = await find_named(ledger, caller, review.decision_id, prefix=caller.may("read"))
    review = structs.replace(review, decision_id=decision_id)
    try:
        recorded = await record_review(ledger, caller, review, event_id=options.idempotency_key)
    except NotFound:
        raise _not_found(review.decision_id) from None
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
