"""GET /openapi.json: the HTTP door described, from the structs and the limits that it is made of."""

from functools import cache
from importlib.metadata import version

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from api.http.media import EVENT, JSON
from api.http.openapi.checkpoints import proof
from api.http.openapi.common_errors import behind_door
from api.http.openapi.discovery import discovery
from api.http.openapi.evaluations import evaluations
from api.http.openapi.export import export
from api.http.openapi.links import linked
from api.http.openapi.schemas import (
    DIGEST,
    PARAMETERS,
    POSITION,
    PROBLEM,
    STREAM_ID,
    TEXT,
    WORDS,
    Json,
    answer,
    binary_headers,
    events_body,
    order,
    page,
    parameter,
    problems,
    reference,
    schemas,
)
from api.http.openapi.tiles import tree
from api.http.routes.evidence import BYTES, LIST_PARAMETERS
from api.http.routes.models import INVENTORY_PARAMETERS, PROBES_PARAMETERS
from api.http.routes.runs import RUN_INCLUSIONS
from api.service.query_params import ADVICE_PARAMETERS, CALIBRATION_PARAMETERS, DECISIONS_PARAMETERS, RUNS_PARAMETERS
from api.service.query_params import PARAMETERS as EVENTS_PARAMETERS
from events.limits import ITEMS_MAX
from projections.registry import PROJECTIONS

PROSE = """\
An append-only ledger for the decisions of AI agents. Post events; read them, follow them, and ask for the views that
are folded from them. A retry with the same id never writes twice. A page that was read stays as it was read.

Refusals are problem documents (RFC 9457): `detail` says what is wrong and where, `field` and `index` name it,
`advice` says what to do. Every answer carries `x-request-id`. Any other method on a path is refused with 405. Without
tokens a name that is not loopback's is refused with 421, and what a page of elsewhere would write with 403.
"""


async def get_openapi(request: Request) -> Response:
    """This description."""
    return Response(_encoded(), media_type=JSON)


@cache
def document() -> Json:
    """The OpenAPI 3.1 document."""
    paths = {
        **_events(),
        **_views(),
        **_runs(),
        **_models(),
        **evaluations(),
        **_evidence(),
        **proof(),
        **discovery(),
        **tree(),
        **export(),
        **_operations(),
        **_cstp(),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tallystick", "version": version("tallystick"), "description": PROSE},
        "paths": linked(behind_door(paths)),
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by `tallystick token add AGENT`. A ledger without tokens asks for none.",
                }
            },
        },
        "security": [{}, {"token": []}],
    }


@cache
def _encoded() -> bytes:
    return msgspec.json.encode(document())


def _events() -> Json:
    taken = [*_named(*(name for name in EVENTS_PARAMETERS if name != "order")), order("asc")]
    subject = {"type": "string", "pattern": r"^[a-z]+/[A-Za-z0-9._-]+$", "examples": ["decision/3f2a9c1e"]}
    whose = parameter("subject", subject, "The stream's name, KIND/ID; its slash may stand as it is.", "path")
    return {
        "/events": {
            "post": _post_events(),
            "get": _read(
                "get_events",
                "A page of events; with `Accept: application/x-ndjson` all of them as lines; with "
                "`Accept: text/event-stream` a feed that follows the log, resumed by Last-Event-ID.",
                page("Events, in the order asked for.", streams=True),
                taken,
            ),
        },
        "/events/{position}": {
            "get": _read(
                "get_event",
                "The event at a position, byte for byte as it is stored.",
                answer("The event.", {EVENT: reference("Event")}),
                [parameter("position", POSITION, "1-based, over the whole log.", "path")],
                404,
            )
        },
        "/streams/{subject}": {
            "get": _read(
                "get_stream",
                "A page of the events of one stream, oldest first.",
                page("Events of the stream."),
                [whose, *_named("after", "limit")],
                404,
            )
        },
    }


def _post_events() -> Json:
    written = {"anyOf": [reference("AppendedEvent"), reference("AppendResult")]}
    return {
        "operationId": "post_events",
        "summary": "Record one event or a batch, all or nothing.",
        "description": "Structured, batched, as lines, or in CloudEvents binary mode: attributes in ce- headers, and "
        "the payload alone as an application/json body. One event is answered with where it stands, a batch with "
        "where each one does.",
        "parameters": binary_headers(),
        "requestBody": events_body(),
        "responses": {
            "200": answer("A retry: everything stood there already, and nothing was written.", {JSON: written}),
            "201": answer("Written, committed and synced.", {JSON: written}),
            **problems(400, 401, 403, 409, 413, 415, 422, 503, 507),
        },
    }


def _views() -> Json:
    as_of = _named("as_of")
    decision_id = parameter("decision_id", STREAM_ID, "The decision's id.", "path")
    name = parameter("name", {"enum": [kind.name for kind in PROJECTIONS]}, "The projection's name.", "path")
    listed = [*_named(*(name for name in DECISIONS_PARAMETERS if name != "order")), order("desc")]
    return {
        "/calibration": {
            "get": _read(
                "get_calibration",
                "The figures: is it as good as it thinks it is?",
                _told("The figures of the decisions asked for.", "CalibrationAnswer"),
                _named(*CALIBRATION_PARAMETERS),
            )
        },
        "/calibration/advice": {
            "get": _read(
                "get_advice",
                "What decisions like the one planned came to; by default those of the agent who asks.",
                _told("What they came to, with its interval.", "Advice"),
                _named(*ADVICE_PARAMETERS),
            )
        },
        "/decisions": {
            "get": _read(
                "get_decisions",
                "Decisions as they stand, the newest first.",
                _told("A page of decisions.", "DecisionPage"),
                listed,
            )
        },
        "/decisions/{decision_id}": {
            "get": _read(
                "get_decision",
                "One decision with its history.",
                _told("The decision.", "DecisionState"),
                [decision_id, *as_of],
                404,
            )
        },
        "/projections": {
            "get": _read(
                "get_projections", "Every projection.", _told("How far each has folded.", "ProjectionList"), []
            )
        },
        "/projections/{name}": {
            "get": _read(
                "get_projection",
                "One projection: the digest of its state, and its summary.",
                _told("The projection.", "ProjectionState"),
                [name, *as_of],
                404,
            )
        },
    }


def _runs() -> Json:
    inclusions = {"type": "array", "items": {"enum": list(RUN_INCLUSIONS)}, "minItems": 1, "maxItems": ITEMS_MAX}
    include = parameter("include", inclusions, "What to add: every attempt, and with them the signals.")
    return {
        "/runs": {
            "get": _read(
                "get_runs",
                "Runs of discovery in short, the one that began last first.",
                _told("A page of runs.", "RunPage"),
                _named(*RUNS_PARAMETERS),
            )
        },
        "/runs/{run_id}": {
            "get": _read(
                "get_run",
                "One run as its report, in the wire format of run reports.",
                _told("The report.", "RunDetail"),
                [parameter("run_id", STREAM_ID, "The run's id.", "path"), include, *_named("as_of")],
                404,
            )
        },
    }


def _evidence() -> Json:
    digest = parameter("digest", DIGEST, "SHA-256 of the bytes, in hex.", "path")
    wanted = parameter("digest", DIGEST, "SHA-256 that the body must have; without it whatever it has is taken.")
    note = parameter("note", WORDS, "What it is, in words; stands in the log for ever.")
    reason = parameter("reason", WORDS, "Why, in words; stands in the log for ever.")
    what = "Bytes of any kind; their content-type, if there is one, is kept with them."
    return {
        "/evidence": {
            "put": {
                "operationId": "put_evidence",
                "summary": "Keep bytes beside the log, by their SHA-256 digest; they can be erased again.",
                "parameters": [wanted, note],
                "requestBody": {"content": {BYTES: {"schema": {"description": what}}}},
                "responses": {
                    "200": _told("They were kept before, and nothing was written.", "StoredEvidence"),
                    "201": _told("Kept, synced and recorded.", "StoredEvidence"),
                    **problems(400, 401, 403, 410, 413, 415, 503, 507),
                },
            },
            "get": _read(
                "list_evidence",
                "What was kept and what was erased, in the order of the log.",
                _told("A page of evidence.", "EvidencePage"),
                _named(*LIST_PARAMETERS),
            ),
        },
        "/evidence/{digest}": {
            "get": _with_304(
                _read(
                    "get_evidence",
                    "The bytes, verified, with their content-type; an attachment, that runs nowhere.",
                    answer("The bytes.", {"*/*": {}}),
                    [digest],
                    404,
                    410,
                )
            ),
            "delete": {
                "operationId": "delete_evidence",
                "summary": "Erase the bytes for good; every position, digest and figure stays as it was.",
                "parameters": [digest, reason],
                "responses": {
                    "200": _told("They are gone.", "ErasureReceipt"),
                    **problems(400, 401, 403, 404, 503, 507),
                },
            },
        },
    }


def _models() -> Json:
    return {
        "/inventory": {
            "get": _read(
                "get_inventory",
                "Which models are really got: each with what speaks for it; hosts and names of nothing apart; claims "
                "against what the endpoint reports, and one output under several names.",
                _told("The inventory.", "InventoryAnswer"),
                _named(*INVENTORY_PARAMETERS),
            )
        },
        "/probes": {
            "get": _read(
                "get_probes",
                "What the answers of each model to each probe were worth, and whether the probe tells models apart.",
                _told("A table for each probe and scorer.", "ProbesAnswer"),
                _named(*PROBES_PARAMETERS),
            )
        },
    }


def _with_304(operation: Json) -> Json:
    """An operation that If-None-Match may spare its answer."""
    unchanged = answer("If-None-Match names these bytes.", {})
    return {**operation, "responses": {**operation["responses"], "304": unchanged}}


def _operations() -> Json:
    ready = {str(status): _told(text, "Readiness") for status, text in ((200, "It can work."), (503, "Not now."))}
    metrics = CONTENT_TYPE_LATEST.partition(";")[0]
    return {
        "/healthz": {"get": _open("get_healthz", "The process answers.", {"200": _told("It lives.", "Liveness")})},
        "/readyz": {"get": _open("get_readyz", "The ledger accepts events. A view waits until it is folded.", ready)},
        "/metrics": {
            "get": _open("get_metrics", "Figures for Prometheus.", {"200": answer("Figures.", {metrics: TEXT})})
        },
        "/openapi.json": {
            "get": _open("get_openapi", "This description.", {"200": answer("OpenAPI.", {JSON: {"type": "object"}})})
        },
    }


def _cstp() -> Json:
    told = answer("What it says of itself.", {JSON: {"type": "object"}})
    refused = {"type": "object", "properties": {"detail": TEXT}, "required": ["detail"]}
    return {
        "/cstp": {
            "post": {
                "operationId": "post_cstp",
                "summary": "A call of CSTP, for agents that speak it: JSON-RPC 2.0. Its refusals are answers, too.",
                "requestBody": {"required": True, "content": {JSON: {"schema": reference("RpcRequest")}}},
                "responses": {
                    "200": _told("The result, or an error.", "RpcAnswer"),
                    "401": answer("A token is required.", {JSON: refused}),
                    "403": answer(
                        "The token does not allow this; or, without tokens, a page of elsewhere asks.",
                        {JSON: refused, PROBLEM: reference("Problem")},
                    ),
                    **problems(413, 415, 429, 503),
                },
            }
        },
        "/health": {"get": _open("get_health", "Whether it is up, as CSTP asks it.", {"200": told, "503": told})},
        "/.well-known/agent.json": {"get": _open("get_agent_card", "What CSTP calls the agent's card.", {"200": told})},
    }


def _read(operation: str, summary: str, told: Json, parameters: list[Json], *statuses: int) -> Json:
    """An operation that the read scope allows, with its refusals."""
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": told, **problems(400, 401, 403, *statuses, 503)},
    }


def _open(operation: str, summary: str, responses: Json) -> Json:
    """An operation that nobody needs a token for."""
    return {"operationId": operation, "summary": summary, "security": [], "responses": responses}


def _told(description: str, schema: str) -> Json:
    return answer(description, {JSON: reference(schema)})


def _named(*names: str) -> list[Json]:
    return [PARAMETERS[name] for name in names]
