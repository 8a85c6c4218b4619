"""Routes of CSTP: calls over JSON-RPC 2.0, health, and the agent card.

An error of the protocol is an answer with status 200.
"""

from importlib.metadata import version
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.auth import AccessRefused, Principal, Unauthenticated
from api.cstp.jsonrpc import Id, RpcError, call_of, error_reply, id_of, parse_request, result_reply
from api.cstp.method_table import METHODS, call_method
from api.errors import error_codes, problem_name
from api.http.media_types import JSON, PROBLEM
from api.http.operation import TEXT, Answer, Operation, json_answer, reference
from api.http.request import headers_of, json_response, ledger_of, read_body
from api.service.ledger import LedgerService

PROTOCOL_VERSION = "1.0"

_REFUSED = {"type": "object", "properties": {"detail": TEXT}, "required": ["detail"]}
_STATUS = json_answer("The status.", {"type": "object"})


class RpcRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call of CSTP: JSON-RPC 2.0 with named parameters. If the call has no id, the answer has the id null."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | float | None = None
    params: dict[str, object] = {}


class RpcErrorSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a call failed."""

    code: int
    message: str
    data: object = None


class RpcAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a call: `result`, or `error`."""

    jsonrpc: Literal["2.0"]
    id: str | int | float | None
    result: object = None
    error: RpcErrorSchema | None = None


@Operation(
    method="POST",
    path="/cstp",
    scopes=(),
    body={JSON: RpcRequest},
    body_required=True,
    answers={
        200: json_answer("The result, or an error.", RpcAnswer),
        401: Answer("A token is required.", {JSON: _REFUSED}),
        403: Answer(
            "The token does not allow this; or the ledger has no tokens, and the page of another site sent this.",
            {JSON: _REFUSED, PROBLEM: reference("Problem")},
        ),
    },
).raw
async def post_cstp(request: Request) -> Response:
    """Answer a call of CSTP, over JSON-RPC 2.0.

    A token that is missing, unknown or without the scope is an HTTP error with `detail`. Every other error of a call is
    a JSON-RPC error with status 200.
    """
    ledger = ledger_of(request)
    try:
        caller = ledger.tokens.identify(request.headers.get("authorization"))
        reply = await _reply(ledger, caller, await read_body(headers_of(request.scope), request.receive))
    except AccessRefused as error:
        request.scope["refusal"] = problem_name(type(error).__name__)
        headers = {"www-authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
        return json_response({"detail": error.detail}, error_codes(error).status, headers)
    return Response(reply, media_type=JSON)


async def _reply(ledger: LedgerService, caller: Principal, body: bytes) -> bytes:
    call_id: Id = None
    try:
        frame = parse_request(body)
        call_id = id_of(frame)
        return result_reply(call_id, await call_method(ledger, caller, call_of(frame)))
    except RpcError as error:
        return error_reply(call_id, error)


@Operation(method="GET", path="/health", public=True, answers={200: _STATUS, 503: _STATUS}).raw
async def get_health(request: Request) -> Response:
    """Report whether the ledger accepts events, as CSTP defines it."""
    ledger = ledger_of(request)
    now = ledger.clock()
    healthy = (ledger.log is None or ledger.log.broken is None) and not request.app.state.stopping.is_set()
    body = {
        "status": "healthy" if healthy else "unhealthy",
        "version": version("tallystick"),
        "uptime_seconds": round((now - request.app.state.started).total_seconds(), 2),
        "timestamp": now.isoformat(),
    }
    return json_response(body, 200 if healthy else 503)


@Operation(
    method="GET",
    path="/.well-known/agent.json",
    public=True,
    answers={200: json_answer("The card.", {"type": "object"})},
).raw
async def get_agent_card(request: Request) -> Response:
    """Return CSTP's agent card: name, version and the methods that this server implements."""
    card = {
        "name": "tallystick",
        "description": "A ledger for AI agents: what they decided, how sure they were, and how it turned out.",
        "version": version("tallystick"),
        "url": str(request.base_url).rstrip("/"),
        "capabilities": {"cstp": {"version": PROTOCOL_VERSION, "methods": list(METHODS)}},
        "authentication": {"schemes": ["bearer"]},
    }
    return json_response(card)
