"""Routes about the server: liveness, readiness, metrics, and the OpenAPI document."""

from asyncio import to_thread
from typing import Literal

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from api.http.compressed_document import accepts_gzip, etag_matches
from api.http.media_types import JSON
from api.http.metrics import Metrics
from api.http.openapi.document import compressed_openapi
from api.http.operation import TEXT, Answer, HttpOperation, json_answer
from api.http.readiness import Readiness, read_readiness
from api.http.request import json_response
from api.text_format import to_json


class Liveness(msgspec.Struct, frozen=True):
    """The process is alive."""

    status: Literal["alive"] = "alive"


_ALIVE = to_json(Liveness())


@HttpOperation("GET", "/healthz", public=True, answers={200: json_answer("The process is alive.", Liveness)}).raw
async def get_healthz(request: Request) -> Response:
    """Report that the process is alive."""
    return Response(_ALIVE, media_type=JSON)


@HttpOperation(
    "GET",
    "/readyz",
    public=True,
    answers={200: json_answer("Ready.", Readiness), 503: json_answer("Not ready.", Readiness)},
).raw
async def get_readyz(request: Request) -> Response:
    """Report whether the ledger accepts events. It may be ready before views are folded; their reads then wait."""
    readiness = await read_readiness(request)
    return json_response(readiness, 200 if readiness.status == "ready" else 503)


@HttpOperation(
    "GET", "/metrics", public=True, answers={200: Answer("Metrics.", {CONTENT_TYPE_LATEST.partition(";")[0]: TEXT})}
).raw
async def get_metrics(request: Request) -> Response:
    """Return metrics for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(generate_latest(metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST})


@HttpOperation(
    "GET",
    "/openapi.json",
    public=True,
    answers={
        200: json_answer("OpenAPI, compressed with gzip if the client accepts it.", {"type": "object"}),
        304: Answer("If-None-Match names this document."),
    },
).raw
async def get_openapi(request: Request) -> Response:
    """Return this description of the HTTP interface."""
    document = await to_thread(compressed_openapi)
    headers = {"etag": document.etag, "vary": "accept-encoding", "cache-control": "no-cache"}
    if etag_matches(request.headers.get("if-none-match", ""), document.etag):
        return Response(status_code=304, headers=headers)
    if not accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(document.body, headers=headers, media_type=JSON)
    return Response(document.gzipped, headers={**headers, "content-encoding": "gzip"}, media_type=JSON)
