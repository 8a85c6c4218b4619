"""The loop of discovery for agents that spawn their own answers: begin a run, ask for its prompt, respond, finish."""

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.auth import Scope
from api.http.request import JsonBody
from api.importers.runs import show_run
from api.parameters import (
    check_names,
    index_pairs,
    parse_instant,
    parse_integer,
)
from api.service.discovery import runs
from api.service.discovery.messages import RunConfig, SignalDraft
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from api.text import to_json
from events.envelope import timestamp
from events.errors import InvalidEvent
from events.payload import COUNT_MAX, Count, Label, Text
from instruments.answer import Failure, RouterAnswer
from ledger import Query

SIGNALS_PARAMETERS = ("since",)

NS_PER_MS = 1_000_000

ELAPSED_MS_MAX = COUNT_MAX // NS_PER_MS


class ResponseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back for a prompt: `response`, which may be empty, or `failure`. Times are from prompt to answer."""

    response: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)] | None = None
    elapsed_ns: Count | None = None
    elapsed_ms: Annotated[float, msgspec.Meta(ge=0, le=ELAPSED_MS_MAX)] | None = None
    reported_model: Label | None = None
    tokens_used: Count | None = None


class FinishBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run is to end, in words."""

    reason: Text | None = None


_config = JsonBody(RunConfig)
_reply = JsonBody(ResponseBody)
_signal = JsonBody(SignalDraft)
_finish = JsonBody(FinishBody)


async def post_discovery(request: Request) -> Response:
    """Begin a run of discovery, and say what it asks first."""
    store = _book(request, "append")
    _plain(request)
    begun = await runs.start(store, await _config.read(request))
    step = await runs.prompt(store, begun.run_id)
    headers = {"location": f"/discovery/{begun.run_id}/prompt"}
    return Response(to_json(step), 200 if begun.duplicate else 201, headers, media_type="application/json")


async def get_prompt(request: Request) -> Response:
    """What a run wants next: a prompt, or, where it has ended, none."""
    store = _book(request, "read")
    _plain(request)
    return _json(await runs.prompt(store, request.path_params["run"]))


async def post_response(request: Request) -> Response:
    """Record what came back for a prompt, and say what it is and what is wanted next."""
    store = _book(request, "append")
    _plain(request)
    reply = await _reply.read(request)
    return _json(await runs.respond(store, request.path_params["run"], _answer(reply), reply.attempt))


async def post_signal(request: Request) -> Response:
    """Tell the people watching a run something."""
    store = _book(request, "append")
    _plain(request)
    placed = await runs.signal(store, request.path_params["run"], await _signal.read(request))
    return _json(placed, 201)


async def get_signals(request: Request) -> Response:
    """The signals of a run, from a position or a time on."""
    store = _book(request, "read")
    parameters = index_pairs(request.query_params.multi_items())
    check_names(parameters.keys(), SIGNALS_PARAMETERS)
    since, run_id = parameters.get("since", "0"), request.path_params["run"]
    if since.isascii() and since.isdigit():
        after = parse_integer("since", since, 0, 0)
        await store.ledger.read(Query(after=after, limit=1))
        return _json(await runs.signals(store, run_id, after))
    return _json(await runs.signals(store, run_id, since=timestamp(parse_instant("since", since))))


async def post_finish(request: Request) -> Response:
    """End a run, and say what it found."""
    store = _book(request, "append", "read")
    _plain(request)
    asked = await _finish.read(request)
    await runs.finish(store, request.path_params["run"], asked.reason)
    return _json((await show_run(store.ledger, request.path_params["run"])).detail)


def _answer(reply: ResponseBody) -> RouterAnswer:
    """What a router would have brought. Errors: InvalidEvent, for fields that contradict each other."""
    if (reply.response is None) == (reply.failure is None):
        raise InvalidEvent(
            "response and failure: exactly one of them says what came back.",
            'Send {"response": TEXT}, or {"failure": "timeout"}. Nothing was written.',
            field="response",
        )
    if reply.elapsed_ns is not None and reply.elapsed_ms is not None:
        raise InvalidEvent(
            "elapsed_ns and elapsed_ms say the same thing.", "Send one. Nothing was written.", field="elapsed_ms"
        )
    elapsed_ns = reply.elapsed_ns if reply.elapsed_ms is None else round(reply.elapsed_ms * NS_PER_MS)
    return RouterAnswer(
        text=reply.response,
        elapsed_ns=elapsed_ns,
        reported_model=reply.reported_model,
        tokens_used=reply.tokens_used,
        failure=reply.failure,
        detail=reply.detail,
    )


def _book(request: Request, *scopes: Scope) -> LocalStore:
    """The house with who asks. Errors: AccessRefused."""
    ledger: LedgerService = request.app.state.ledger
    caller = ledger.tokens.identify(request.headers.get("authorization"))
    for scope in scopes:
        caller.require(scope)
    return LocalStore(ledger, caller)


def _plain(request: Request) -> None:
    """Errors: InvalidQuery, for parameters where there are none."""
    check_names(request.query_params.keys(), ())


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")
