"""The HTTP side: who asks, what they ask, and the answer, which is 200 for every error of the protocol's own."""

from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response

from api.auth import AccessRefused, Principal, Unauthenticated
from api.cstp.jsonrpc import Id, RpcError, call_of, error_reply, id_of, parse, result_reply
from api.cstp.methods import METHODS, perform
from api.errors import error_codes, slug
from api.http.request import read_body
from api.service.ledger import LedgerService
from api.text import to_json

PROTOCOL_VERSION = "1.0"
JSON = "application/json"


async def post_cstp(request: Request) -> Response:
    """Answer one call. A token that is missing, unknown or too weak is told by HTTP status, with `detail`."""
    ledger: LedgerService = request.app.state.ledger
    try:
        caller = ledger.tokens.identify(request.headers.get("authorization"))
        reply = await _reply(ledger, caller, await read_body(request))
    except AccessRefused as error:
        request.scope["refusal"] = slug(type(error).__name__)
        headers = {"www-authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
        return Response(to_json({"detail": error.detail}), error_codes(error).status, headers, media_type=JSON)
    return Response(reply, media_type=JSON)


async def _reply(ledger: LedgerService, caller: Principal, body: bytes) -> bytes:
    call_id: Id = None
    try:
        frame = parse(body)
        call_id = id_of(frame)
        return result_reply(call_id, await perform(ledger, caller, call_of(frame)))
    except RpcError as error:
        return error_reply(call_id, error)


async def get_health(request: Request) -> Response:
    """Whether the ledger accepts events, in this protocol's words; 503 where it does not."""
    ledger: LedgerService = request.app.state.ledger
    now = ledger.clock()
    healthy = (ledger.log is None or ledger.log.broken is None) and not request.app.state.stopping.is_set()
    body = {
        "status": "healthy" if healthy else "unhealthy",
        "version": version("tallystick"),
        "uptime_seconds": round((now - request.app.state.began).total_seconds(), 2),
        "timestamp": now.isoformat(),
    }
    return Response(to_json(body), 200 if healthy else 503, media_type=JSON)


async def get_agent_card(request: Request) -> Response:
    """What speaks here, and which methods it knows."""
    card = {
        "name": "tallystick",
        "description": "A ledger for AI agents: what they decided, how sure they were, and how it turned out.",
        "version": version("tallystick"),
        "url": str(request.base_url).rstrip("/"),
        "capabilities": {"cstp": {"version": PROTOCOL_VERSION, "methods": list(METHODS)}},
        "authentication": {"schemes": ["bearer"]},
    }
    return Response(to_json(card), media_type=JSON)
