"""Routes of live discovery, for agents that call the models themselves: start, get a prompt, respond, finish."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import TEXT, Answer, HttpOperation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response, read_json
from api.parameters import (
    CURSOR_SCHEMA,
    DATE_SCHEMA,
    TIME_SCHEMA,
    parse_instant,
    parse_integer,
    text_parameter,
)
from api.service.discovery import run_operations, run_signals
from api.service.discovery.queries import get_run
from api.service.discovery.run_types import (
    NextPrompt,
    ResponseResult,
    RunConfig,
    SignalDraft,
    SignalEntry,
    SignalPage,
)
from api.service.discovery.stated_answer import ResponseBody, to_router_answer
from api.service.discovery.summary import read_golden
from api.service.operation import Link
from api.service.run_params import RunParams
from api.service.store import LocalStore
from events.envelope import timestamp
from events.payload import Text
from ledger.log import Query
from projections.discovery.run_report import RunDetail

GOLDEN = "text/plain; charset=utf-8"

RUN = stream_id_parameter("run", "The run's id.")
SINCE = text_parameter(
    "since",
    "Signals after this position (`next` of the previous answer), or signals recorded at this time or later.",
    {"anyOf": [CURSOR_SCHEMA, TIME_SCHEMA, DATE_SCHEMA]},
)

_WRITE_ERRORS = (409, 422, 507)


class FinishBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason why a run ends."""

    reason: Text | None = None


@HttpOperation(
    "POST",
    "/discovery",
    scopes=("append",),
    body={JSON: RunConfig},
    body_required=False,
    answers={
        200: json_answer("A retry: a run with this id and these settings exists.", NextPrompt),
        201: json_answer("The run is started.", NextPrompt),
    },
    errors=_WRITE_ERRORS,
    links={
        name: Link(operation, parameter, "$response.body#/run_id")
        for name, operation, parameter in (
            ("prompt", "get_prompt", "run"),
            ("respond", "post_response", "run"),
            ("signal", "post_signal", "run"),
            ("signals", "get_signals", "run"),
            ("finish", "post_finish", "run"),
            ("report", "get_run", "run_id"),
        )
    },
)
async def post_discovery(call: Call) -> Response:
    """Start a discovery run, and return its first prompt."""
    store = _store(call)
    started = await run_operations.start(store, await read_json(call.request, RunConfig))
    prompt = await run_operations.prompt(store, started.run_id)
    headers = {"location": f"/discovery/{started.run_id}/prompt"}
    return json_response(prompt, 200 if started.duplicate else 201, headers)


@HttpOperation(
    "GET",
    "/discovery/{run}/prompt",
    path_parameters=(RUN,),
    answers={200: json_answer("The prompt.", NextPrompt)},
    errors=(404, 409),
)
async def get_prompt(call: Call) -> Response:
    """Return the next prompt of a run, or, if the run has ended, the reason why."""
    return json_response(await run_operations.prompt(_store(call), call.path(RUN)))


@HttpOperation(
    "POST",
    "/discovery/{run}/responses",
    scopes=("append",),
    path_parameters=(RUN,),
    body={JSON: ResponseBody},
    answers={200: json_answer("The result. If `attempt` was answered before, the same result again.", ResponseResult)},
    errors=(404, *_WRITE_ERRORS),
)
async def post_response(call: Call) -> Response:
    """Record the answer to a prompt, and return its analysis and the next prompt."""
    store = _store(call)
    body = await read_json(call.request, ResponseBody)
    return json_response(await run_operations.respond(store, call.path(RUN), to_router_answer(body), body.attempt))


@HttpOperation(
    "POST",
    "/discovery/{run}/signals",
    scopes=("append",),
    path_parameters=(RUN,),
    body={JSON: SignalDraft},
    answers={201: json_answer("The recorded signal.", SignalEntry)},
    errors=(404, *_WRITE_ERRORS),
)
async def post_signal(call: Call) -> Response:
    """Record a signal for the people who watch a run, also after the run has ended, or under an id of no run."""
    signal = await read_json(call.request, SignalDraft)
    return json_response(await run_signals.signal(_store(call), call.path(RUN), signal), 201)


@HttpOperation(
    "GET",
    "/discovery/{run}/signals",
    path_parameters=(RUN,),
    query=(SINCE,),
    answers={200: json_answer("Signals.", SignalPage)},
    errors=(404,),
)
async def get_signals(call: Call) -> Response:
    """List the signals of a run, in the order of the log."""
    store, run_id = _store(call), call.path(RUN)
    since = call.parameters.get(SINCE.name, "0")
    if since.isascii() and since.isdigit():
        after = parse_integer("since", since, 0)
        await call.ledger.read(Query(after=after, limit=1))
        return json_response(await run_signals.signals(store, run_id, after))
    return json_response(await run_signals.signals(store, run_id, since=timestamp(parse_instant("since", since))))


@HttpOperation(
    "GET",
    "/discovery/{run}/golden",
    path_parameters=(RUN,),
    answers={200: Answer("The response, byte for byte.", {GOLDEN.partition(";")[0]: TEXT})},
    errors=(404, 410),
)
async def get_golden(call: Call) -> Response:
    """Return the first accepted response of a run, for use as a test fixture (a golden file)."""
    return Response((await read_golden(_store(call), call.path(RUN))).encode(), media_type=GOLDEN)


@HttpOperation(
    "POST",
    "/discovery/{run}/finish",
    scopes=("append", "read"),
    path_parameters=(RUN,),
    body={JSON: FinishBody},
    body_required=False,
    answers={200: json_answer("The report. If the run ended before, the same report again.", RunDetail)},
    errors=(404, *_WRITE_ERRORS),
)
async def post_finish(call: Call) -> Response:
    """End a run, and return its report."""
    body = await read_json(call.request, FinishBody)
    await run_operations.finish(_store(call), call.path(RUN), body.reason)
    return json_response(await get_run(call.ledger, RunParams(run_id=call.path(RUN))))


def _store(call: Call) -> LocalStore:
    return LocalStore(call.ledger, call.caller)
