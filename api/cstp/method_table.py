"""The table of methods, with those of features that this ledger lacks, and the answer to a call."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from api.cstp import (
    attribute_outcomes,
    compaction,
    decision_changes,
    get_decisions,
    guardrails,
    links,
    observations,
    pre_action,
    record_decision,
    statistics,
    thoughts,
)
from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcCall, RpcError, internal_error, rpc_error_of
from api.cstp.params_schema import collect_tolerated, name_tolerated
from api.cstp.tracked_calls import answer_tracked
from api.principal import AccessRefused, Principal, Scope
from api.service.ledger import LedgerService
from api.service.server_log import log
from events.errors import TallystickError


async def map_controls(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Refuse cstp.mapControls."""
    raise _unsupported(
        "cstp.mapControls",
        "This ledger has no control maps (SR 11-7, NIST AI RMF).",
        "Read the observations, GET /events?type=observation.recorded.v1, and map them yourself.",
    )


async def export_evidence_bundle(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Refuse cstp.exportEvidenceBundle."""
    raise _unsupported(
        "cstp.exportEvidenceBundle",
        "A server writes no bundle or PDF into a folder that a caller names.",
        "GET /export, or tallystick export, gives the whole log with its proofs.",
    )


def _unsupported(method: str, reason: str, advice: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Not supported: {method}. {reason}", {"method": method, "advice": advice})


Load = Literal["heavy", "quick", "appends"]
"""What a call costs: `heavy` computes a view for so long that a token may run one at a time, within the time limit of
a query; `quick` only reads, beside others, within that limit; `appends` waits until its event is on disk."""


class Method(NamedTuple):
    """The scope that a method needs, the function that answers a call, and what that costs."""

    scope: Scope
    answer: Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]
    load: Load = "appends"


METHODS: dict[str, Method] = {
    "cstp.recordDecision": Method("append", record_decision.record_decision),
    "cstp.reviewDecision": Method("append", decision_changes.review_decision),
    "cstp.updateDecision": Method("append", decision_changes.update_decision),
    "cstp.recordThought": Method("append", thoughts.record_thought),
    "cstp.debugTracker": Method("read", thoughts.debug_tracker, "quick"),
    "cstp.getDecision": Method("read", get_decisions.get_decision, "quick"),
    "cstp.listDecisions": Method("read", get_decisions.list_decisions, "heavy"),
    "cstp.queryDecisions": Method("read", get_decisions.query_decisions, "heavy"),
    "cstp.getStats": Method("read", get_decisions.get_stats, "heavy"),
    "cstp.getCalibration": Method("read", statistics.get_calibration, "heavy"),
    "cstp.checkDrift": Method("read", statistics.check_drift, "heavy"),
    "cstp.getReasonStats": Method("read", statistics.get_reason_stats, "heavy"),
    "cstp.attributeOutcomes": Method("append", attribute_outcomes.attribute_outcomes),
    "cstp.ready": Method("read", get_decisions.ready, "heavy"),
    "cstp.preAction": Method("read", pre_action.pre_action),
    "cstp.getSessionContext": Method("read", get_decisions.get_session_context, "heavy"),
    "cstp.linkDecisions": Method("append", links.link),
    "cstp.getNeighbors": Method("read", links.get_neighbors, "quick"),
    "cstp.getGraph": Method("read", links.get_graph, "quick"),
    "cstp.checkGuardrails": Method("read", guardrails.check_guardrails),
    "cstp.listGuardrails": Method("read", guardrails.list_guardrails, "quick"),
    "cstp.ingestEvidence": Method("append", observations.ingest_evidence),
    "cstp.linkEvidence": Method("append", observations.link_evidence),
    "cstp.verifyEvidenceChain": Method("read", observations.verify_evidence_chain, "heavy"),
    "cstp.compact": Method("append", compaction.compact),
    "cstp.getCompacted": Method("read", compaction.get_compacted, "quick"),
    "cstp.setPreserve": Method("append", compaction.preserve_decision),
    "cstp.getWisdom": Method("read", compaction.get_wisdom, "heavy"),
    "cstp.listBreakers": Method("read", guardrails.list_circuit_breakers, "quick"),
    "cstp.getCircuitState": Method("read", guardrails.get_circuit_state, "quick"),
    "cstp.resetCircuit": Method("append", guardrails.reset_circuit),
    "cstp.reindex": Method("read", get_decisions.reindex, "quick"),
    "cstp.mapControls": Method("read", map_controls, "quick"),
    "cstp.exportEvidenceBundle": Method("read", export_evidence_bundle, "quick"),
}


PREFIX = "cstp."


async def call_method(ledger: LedgerService, caller: Principal, call: RpcCall) -> object:
    """Return the result of a call. Errors: RpcError; Forbidden."""
    method = METHODS.get(call.method)
    if method is None:
        raise _unknown_method(call.method)
    caller.require(method.scope)
    try:
        with collect_tolerated() as tolerated:
            answer = name_tolerated(await method.answer(ledger, caller, call.params), tolerated)
        return await answer_tracked(ledger, caller, call.method, call.params, answer)
    except (RpcError, AccessRefused):
        raise
    except TallystickError as error:
        raise rpc_error_of(error) from error
    except Exception as error:
        log.exception("fault", method=call.method)
        raise internal_error(error) from error


def _unknown_method(method: str) -> RpcError:
    if not method.startswith(PREFIX):
        return RpcError(METHOD_NOT_FOUND, f"Unknown method: {method}", {"method": method})
    data = {"method": method, "available": list(METHODS)}
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", data)
