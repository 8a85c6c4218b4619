"""The table of methods, with those of features that this ledger lacks, and the answer to a call."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from api.cstp.attribute_outcomes import attribute_outcomes
from api.cstp.compaction import compact, get_compacted, get_wisdom, preserve_decision
from api.cstp.decision_changes import review_decision, update_decision
from api.cstp.get_decisions import (
    get_decision,
    get_session_context,
    get_stats,
    list_decisions,
    query_decisions,
    ready,
    reindex,
)
from api.cstp.guardrails import (
    check_guardrails,
    get_circuit_state,
    list_circuit_breakers,
    list_guardrails,
    reset_circuit,
)
from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcCall, RpcError, internal_error, rpc_error_of
from api.cstp.links import get_graph, get_neighbors, link
from api.cstp.observations import ingest_evidence, link_evidence, verify_evidence_chain
from api.cstp.params_schema import collect_tolerated, name_tolerated
from api.cstp.pre_action import pre_action
from api.cstp.record_decision import record_decision
from api.cstp.statistics import check_drift, get_calibration, get_reason_stats
from api.cstp.thoughts import debug_tracker, record_thought
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
    "cstp.recordDecision": Method("append", record_decision),
    "cstp.reviewDecision": Method("append", review_decision),
    "cstp.updateDecision": Method("append", update_decision),
    "cstp.recordThought": Method("append", record_thought),
    "cstp.debugTracker": Method("read", debug_tracker, "quick"),
    "cstp.getDecision": Method("read", get_decision, "quick"),
    "cstp.listDecisions": Method("read", list_decisions, "heavy"),
    "cstp.queryDecisions": Method("read", query_decisions, "heavy"),
    "cstp.getStats": Method("read", get_stats, "heavy"),
    "cstp.getCalibration": Method("read", get_calibration, "heavy"),
    "cstp.checkDrift": Method("read", check_drift, "heavy"),
    "cstp.getReasonStats": Method("read", get_reason_stats, "heavy"),
    "cstp.attributeOutcomes": Method("append", attribute_outcomes),
    "cstp.ready": Method("read", ready, "heavy"),
    "cstp.preAction": Method("read", pre_action),
    "cstp.getSessionContext": Method("read", get_session_context, "heavy"),
    "cstp.linkDecisions": Method("append", link),
    "cstp.getNeighbors": Method("read", get_neighbors, "quick"),
    "cstp.getGraph": Method("read", get_graph, "quick"),
    "cstp.checkGuardrails": Method("read", check_guardrails),
    "cstp.listGuardrails": Method("read", list_guardrails, "quick"),
    "cstp.ingestEvidence": Method("append", ingest_evidence),
    "cstp.linkEvidence": Method("append", link_evidence),
    "cstp.verifyEvidenceChain": Method("read", verify_evidence_chain, "heavy"),
    "cstp.compact": Method("append", compact),
    "cstp.getCompacted": Method("read", get_compacted, "quick"),
    "cstp.setPreserve": Method("append", preserve_decision),
    "cstp.getWisdom": Method("read", get_wisdom, "heavy"),
    "cstp.listBreakers": Method("read", list_circuit_breakers, "quick"),
    "cstp.getCircuitState": Method("read", get_circuit_state, "quick"),
    "cstp.resetCircuit": Method("append", reset_circuit),
    "cstp.reindex": Method("read", reindex, "quick"),
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
