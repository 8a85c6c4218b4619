"""The loop of discovery for agents that spawn their own answers: begin a run, ask for its prompt, respond, finish."""

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api import discoveries
from api.access import Scope
from api.bodies import Body
from api.book import Spoken
from api.operations import House
from api.parameters import instant, integer, known, single
from api.problems import to_json
from api.runs import show_run
from api.steps import Config, SignalDraft
from events.envelope import timestamp
from events.errors import InvalidEvent
from events.payload import COUNT_MAX, Count, Label, Text
from instruments.answer import Answer, Failure
from ledger import Query

SIGNALS_PARAMETERS = ("since",)

NS_PER_MS = 1_000_000

ELAPSED_MS_MAX = COUNT_MAX // NS_PER_MS


class Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back for a prompt: `response`, which may be empty, or `failure`. Times are from prompt to answer."""

    response: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)] | None = None
    elapsed_ns: Count | None = None
    elapsed_ms: Annotated[float, msgspec.Meta(ge=0, le=ELAPSED_MS_MAX)] | None = None
    reported_model: Label | None = None
    tokens_used: Count | None = None


class Finish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run is to end, in words."""

    reason: Text | None = None


_config = Body(Config)
_reply = Body(Reply)
_signal = Body(SignalDraft)
_finish = Body(Finish)


async def post_discovery(request: Request) -> Response:
    """Begin a run of discovery, and say what it asks first."""
    book = _book(request, "append")
    _plain(request)
    begun = await discoveries.start(book, await _config.read(request))
    step = await discoveries.prompt(book, begun.run_id)
    headers = {"location": f"/discovery/{begun.run_id}/prompt"}
    return Response(to_json(step), 200 if begun.duplicate else 201, headers, media_type="application/json")


async def get_prompt(request: Request) -> Response:
    """What a run wants next: a prompt, or, where it has ended, none."""
    book = _book(request, "read")
    _plain(request)
    return _json(await discoveries.prompt(book, request.path_params["run"]))


async def post_response(request: Request) -> Response:
    """Record what came back for a prompt, and say what it is and what is wanted next."""
    book = _book(request, "append")
    _plain(request)
    reply = await _reply.read(request)
    return _json(await discoveries.respond(book, request.path_params["run"], _answer(reply), reply.attempt))


async def post_signal(request: Request) -> Response:
    """Tell the people watching a run something."""
    book = _book(request, "append")
    _plain(request)
    placed = await discoveries.signal(book, request.path_params["run"], await _signal.read(request))
    return _json(placed, 201)


async def get_signals(request: Request) -> Response:
    """The signals of a run, from a position or a time on."""
    book = _book(request, "read")
    parameters = single(request.query_params.multi_items())
    known(parameters.keys(), SIGNALS_PARAMETERS)
    since, run_id = parameters.get("since", "0"), request.path_params["run"]
    if since.isascii() and since.isdigit():
        after = integer("since", since, 0, 0)
        await book.house.read(Query(after=after, limit=1))
        return _json(await discoveries.signals(book, run_id, after))
    return _json(await discoveries.signals(book, run_id, since=timestamp(instant("since", since))))


async def post_finish(request: Request) -> Response:
    """End a run, and say what it found."""
    book = _book(request, "append", "read")
    _plain(request)
    asked = await _finish.read(request)
    await discoveries.finish(book, request.path_params["run"], asked.reason)
    return _json((await show_run(book.house, request.path_params["run"])).detail)


def _answer(reply: Reply) -> Answer:
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
    return Answer(
        text=reply.response,
        elapsed_ns=elapsed_ns,
        reported_model=reply.reported_model,
        tokens_used=reply.tokens_used,
        failure=reply.failure,
        detail=reply.detail,
    )


def _book(request: Request, *scopes: Scope) -> Spoken:
    """The house with who asks. Errors: AccessRefused."""
    house: House = request.app.state.house
    speaker = house.tokens.identify(request.headers.get("authorization"))
    for scope in scopes:
        speaker.require(scope)
    return Spoken(house, speaker)


def _plain(request: Request) -> None:
    """Errors: InvalidQuery, for parameters where there are none."""
    known(request.query_params.keys(), ())


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")
