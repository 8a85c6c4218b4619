"""cstp.ingestEvidence, linkEvidence and verifyEvidenceChain: observations of other systems, and proof that they stay.

`seq` is a position in the log. `head_hash` is the root of the log's Merkle tree after the newest observation or link:
see `api/service/observations.py`.
"""

from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParamsSchema
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.ledger import LedgerService
from api.service.observations import Observed, ingest_observations, link_observations, verify_log
from events.decision import Stakes
from events.envelope import EventId
from events.payload import DIGEST_PATTERN, Count, Label

DEFAULT_SOURCE = "external"


class _Ingest(msgspec.Struct, frozen=True, kw_only=True):
    events: tuple[Observed, ...]
    source: Label = DEFAULT_SOURCE
    idempotency_key: EventId | None = None


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    decision_id: Label
    event_seqs: tuple[Count, ...]
    stakes: Stakes | None = None
    has_outcome: bool | None = None
    idempotency_key: EventId | None = None


class _Verify(msgspec.Struct, frozen=True, kw_only=True):
    expected_head_hash: Annotated[str, msgspec.Meta(pattern=DIGEST_PATTERN)] | None = None


def _in_snake_case(struct: type[msgspec.Struct]) -> dict[str, tuple[str, ...]]:
    """Return aliases by which errors name a field as these methods of the protocol do, in snake_case."""
    return {name: (name,) for name in struct.__struct_fields__}


_observed: ParamsSchema[Observed] = ParamsSchema(Observed, aliases=_in_snake_case(Observed), defaults={"source": ""})
_ingest: ParamsSchema[_Ingest] = ParamsSchema(_Ingest, aliases=_in_snake_case(_Ingest), inner={"events": _observed})
_link: ParamsSchema[_Link] = ParamsSchema(_Link, aliases=_in_snake_case(_Link))
_verify: ParamsSchema[_Verify] = ParamsSchema(_Verify, aliases=_in_snake_case(_Verify))


async def ingest_evidence(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Record what other systems observed: all events or none. `idempotencyKey` makes a retry safe."""
    _check_events(params.get("events"))
    request = _ingest.decode(params)
    observed = [structs.replace(event, source=event.source or request.source) for event in request.events]
    return await ingest_observations(ledger, caller, observed, request.idempotency_key)


async def link_evidence(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Attest that observations are evidence of a decision."""
    request = _link.decode(params)
    return await link_observations(
        ledger,
        caller,
        request.decision_id,
        request.event_seqs,
        stakes=request.stakes,
        has_outcome=request.has_outcome,
        key=request.idempotency_key,
    )


async def verify_evidence_chain(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Recompute the tree over every line of the log, and compare it with a head hash or with the signed checkpoint."""
    return await verify_log(ledger, _verify.decode(params).expected_head_hash)


def _check_events(events: object) -> None:
    """Check the events in the protocol's words. Errors: RpcError."""
    if not isinstance(events, list) or not events:
        raise RpcError(INVALID_PARAMS, "'events' must be a non-empty list", {"fields": ["events"]})
    for index, event in enumerate(events):
        payload = event.get("payload") if isinstance(event, dict) else None
        if payload is not None and not isinstance(payload, dict):
            message = f"Event payload must be a dict, got: {type(payload).__name__}"
            raise RpcError(INVALID_PARAMS, message, {"fields": [f"events[{index}].payload"]})
