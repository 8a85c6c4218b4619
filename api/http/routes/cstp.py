"""Routes of CSTP: calls over JSON-RPC 2.0, health, and the agent card.

An error of the protocol is an answer with status 200.
"""

import time
from functools import partial
from importlib.metadata import version
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.cstp.jsonrpc import (
    BATCH_CALLS_MAX,
    Batch,
    Id,
    RpcError,
    call_of,
    error_reply,
    id_of,
    parse_body,
    result_reply,
    rpc_error_of,
)
from api.cstp.jsonrpc import Request as RpcFrame
from api.cstp.method_table import METHODS, call_method
from api.errors import INVALID_PARAMS, error_codes, problem_name
from api.http.media_types import JSON, PROBLEM
from api.http.operation import TEXT, Answer, ArrayOf, HttpOperation, json_answer, reference, with_left_out
from api.http.problems import limit_refusals
from api.http.request import Call, json_response, ledger_of, read_body, requests_of, run_query, within_limit
from api.principal import AccessRefused, Unauthenticated
from api.rate_limit import LimitReached, RateLimited

PROTOCOL_VERSION = "1.0"

_REFUSED = {"type": "object", "properties": {"detail": TEXT}, "required": ["detail"]}
_STATUS = json_answer("The status.", {"type": "object"})


class RpcRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call of CSTP: JSON-RPC 2.0 with named parameters. A call without an id is a notification: it has no answer."""

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


@HttpOperation(
    "POST",
    "/cstp",
    scopes=(),
    body={JSON: (RpcRequest, ArrayOf(RpcRequest, BATCH_CALLS_MAX))},
    answers={
        200: json_answer(
            "The result, or an error; for a batch, a list of them.",
            (RpcAnswer, ArrayOf(RpcAnswer, BATCH_CALLS_MAX)),
        ),
        204: Answer("Only notifications were sent; there is no answer."),
        401: Answer("A token is required.", {JSON: _REFUSED}),
        403: Answer(
            "The token does not allow this; or the ledger has no tokens, and the page of another site sent this.",
            {JSON: _REFUSED, PROBLEM: reference("Problem")},
        ),
    },
).raw
async def post_cstp(request: Request) -> Response:
    """Answer a call of CSTP, or a batch of calls, over JSON-RPC 2.0.

    A token that is missing, unknown or without the scope is an HTTP error with `detail`. Every other error of a call is
    a JSON-RPC error with status 200. In a batch, a missing scope is a JSON-RPC error of its call, too.
    """
    ledger = ledger_of(request)
    try:
        caller = requests_of(request.scope).authenticate(request.scope, request.headers.get("authorization"))
        call = Call(request, ledger, caller, {})
        reply = await _reply(call, await read_body(request.scope, request.receive))
    except AccessRefused as error:
        limited = limit_refusals(request.scope, error)
        if limited is not error:
            raise limited from None
        request.scope["refusal"] = problem_name(type(error).__name__)
        headers = {"www-authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
        return json_response({"detail": error.detail}, error_codes(error).status, headers)
    if reply is None:
        return Response(status_code=204)
    return with_left_out(Response(reply, media_type=JSON), ledger)


async def _reply(call: Call, body: bytes) -> bytes | None:
    """Answer a request or a batch; None: nothing in it is answered. Errors: AccessRefused."""
    try:
        request = parse_body(body)
    except RpcError as error:
        return error_reply(None, error)
    if isinstance(request, list):
        return await _reply_to_batch(call, request)
    return await _reply_to_request(call, request)


async def _reply_to_batch(call: Call, batch: Batch) -> bytes | None:
    """Answer the requests of a batch, one after another. Each further request counts for the token's rate limit."""
    replies: list[bytes | None] = []
    for index, request in enumerate(batch):
        if isinstance(request, RpcError):
            replies.append(error_reply(None, request))
            continue
        try:
            if index and call.caller.bucket is not None:
                call.caller.bucket.take(time.monotonic())
            replies.append(await _reply_to_request(call, request))
        except (AccessRefused, RateLimited) as error:
            replies.append(None if request.is_notification else error_reply(id_of(request), rpc_error_of(error)))
    answers = [reply for reply in replies if reply is not None]
    return b"[%b]" % b",".join(answers) if answers else None


async def _reply_to_request(call: Call, request: RpcFrame) -> bytes | None:
    """Answer a request; None: it is a notification. Errors: AccessRefused."""
    call_id: Id = None
    try:
        call_id = id_of(request)
        rpc_call = call_of(request)
    except RpcError as error:
        return None if request.is_notification and error.code == INVALID_PARAMS else error_reply(call_id, error)
    answer = partial(call_method, call.ledger, call.caller, rpc_call)
    method = METHODS.get(rpc_call.method)
    try:
        if method is not None and method.load == "heavy":
            result = await run_query(call, answer)
        elif method is not None and method.load == "quick":
            result = await within_limit(call, answer)
        else:
            result = await answer()
        reply = result_reply(call_id, result)
    except RpcError as error:
        reply = error_reply(call_id, error)
    except LimitReached as error:
        reply = error_reply(call_id, rpc_error_of(error))
    return None if request.is_notification else reply


@HttpOperation("GET", "/health", public=True, answers={200: _STATUS, 503: _STATUS}).raw
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


@HttpOperation(
    "GET", "/.well-known/agent.json", public=True, answers={200: json_answer("The card.", {"type": "object"})}
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
