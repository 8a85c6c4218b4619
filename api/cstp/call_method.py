"""Answer a call by the table of methods."""

from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcCall, RpcError, internal_error, rpc_error_of
from api.cstp.method_table import METHODS
from api.cstp.tolerance import collect_tolerated, name_tolerated
from api.cstp.tracked_calls import answer_tracked
from api.principal import AccessRefused, Principal
from api.service.ledger import LedgerService
from api.service.server_log import log
from events.errors import TallystickError

PREFIX = "cstp."


async def call_method(ledger: LedgerService, caller: Principal, call: RpcCall) -> object:
    """Return the result of a call. Errors: RpcError; Forbidden."""
    method = METHODS.get(call.method)
    if method is None:
        raise _unknown(call.method)
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


def _unknown(method: str) -> RpcError:
    if not method.startswith(PREFIX):
        return RpcError(METHOD_NOT_FOUND, f"Unknown method: {method}", {"method": method})
    data = {"method": method, "available": list(METHODS)}
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", data)
