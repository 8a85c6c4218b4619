"""The table of methods: the scope and the function of each."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import structlog

from api.cstp.attribute_outcomes import attribute_outcomes
from api.cstp.check_drift import check_drift
from api.cstp.evidence import EVIDENCE
from api.cstp.get_calibration import get_calibration
from api.cstp.get_decisions import get_decision, get_stats, list_decisions
from api.cstp.get_reason_stats import get_reason_stats
from api.cstp.get_session_context import get_session_context
from api.cstp.jsonrpc import (
    METHOD_NOT_FOUND,
    RpcCall,
    RpcError,
    internal_error,
    rpc_error_of,
)
from api.cstp.pre_action import pre_action
from api.cstp.query_decisions import query_decisions
from api.cstp.ready_queue import ready
from api.cstp.record_decision import record_decision
from api.cstp.review_decision import review_decision
from api.cstp.thoughts import debug_tracker, record_thought
from api.cstp.tracked_calls import answer_tracked
from api.cstp.unsupported import UNSUPPORTED
from api.cstp.update_decision import update_decision
from api.principal import AccessRefused, Principal, Scope
from api.service.ledger import LedgerService
from events.errors import TallystickError

PREFIX = "cstp."

log = structlog.get_logger()


class Method(NamedTuple):
    """The scope that a method needs, and the function that answers a call."""

    scope: Scope
    answer: Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]


METHODS: dict[str, Method] = {
    "cstp.recordDecision": Method("append", record_decision),
    "cstp.reviewDecision": Method("append", review_decision),
    "cstp.updateDecision": Method("append", update_decision),
    "cstp.recordThought": Method("append", record_thought),
    "cstp.debugTracker": Method("read", debug_tracker),
    "cstp.getDecision": Method("read", get_decision),
    "cstp.listDecisions": Method("read", list_decisions),
    "cstp.queryDecisions": Method("read", query_decisions),
    "cstp.getStats": Method("read", get_stats),
    "cstp.getCalibration": Method("read", get_calibration),
    "cstp.checkDrift": Method("read", check_drift),
    "cstp.getReasonStats": Method("read", get_reason_stats),
    "cstp.attributeOutcomes": Method("append", attribute_outcomes),
    "cstp.ready": Method("read", ready),
    "cstp.preAction": Method("read", pre_action),
    "cstp.getSessionContext": Method("read", get_session_context),
    **{name: Method(*method) for name, method in EVIDENCE.items()},
    **{name: Method(*method) for name, method in UNSUPPORTED.items()},
}


async def call_method(ledger: LedgerService, caller: Principal, call: RpcCall) -> object:
    """Return the result of a call. Errors: RpcError; Forbidden."""
    method = METHODS.get(call.method)
    if method is None:
        raise _unknown(call.method)
    caller.require(method.scope)
    try:
        answer = await method.answer(ledger, caller, call.params)
        return await answer_tracked(ledger, caller, call.method, call.params, answer)
    except (RpcError, AccessRefused):
        raise
    except TallystickError as error:
        raise rpc_error_of(error) from error
    except Exception as error:
        log.exception("fault", method=call.method)
        raise internal_error(error) from error


def _unknown(method: str) -> RpcError:
    if not method.startswith(PREFIX):
        return RpcError(METHOD_NOT_FOUND, f"Unknown method: {method}", {"method": method})
    data = {"method": method, "available": list(METHODS)}
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", data)
