"""The parts of the OpenAPI document: schemas made from the structs themselves, parameters, bodies, answers."""

from typing import Any, Literal

import msgspec

from api.errors import Problem
from api.http.media import BATCH, EVENT, JSON, LINES
from api.http.routes.discovery import FinishBody, ResponseBody
from api.http.routes.events import FEED
from api.http.routes.health import Liveness, Readiness
from api.importers.runs import RunPage
from api.parameters import POSITION_MAX, WINDOWS
from api.service.calibration import DETAILS, Advice, CalibrationAnswer
from api.service.decisions import DecisionPage
from api.service.discovery.messages import NextPrompt, ResponseResult, RunConfig, SignalDraft, SignalEntry, SignalPage
from api.service.evaluation.queries import EvaluationAnswer, EvaluationPage, RunComparisonAnswer, ScoreboardAnswer
from api.service.evidence import ErasureReceipt, EvidencePage, StoredEvidence
from api.service.models import InventoryAnswer, ProbesAnswer
from api.service.projections import ProjectionInfo, ProjectionState
from api.service.proofs import ConsistencyAnswer, InclusionAnswer
from api.service.query_params import OUTCOMES, SORTS
from api.service.store import AppendResult
from events.limits import (
    AGENT_NAME_CHARS_MAX,
    BATCH_EVENTS_MAX,
    EVENT_ID_CHARS_MAX,
    EVIDENCE_WORDS_CHARS_MAX,
    ITEMS_MAX,
    PAGE_EVENTS_DEFAULT,
    PAGE_EVENTS_MAX,
    STREAM_ID_CHARS_MAX,
    TRACE_CHARS_MAX,
)
from events.payload import DIGEST_PATTERN, STREAM_ID_PATTERN
from events.registry import VOCABULARY
from events.schema import json_schema
from ledger import AppendedEvent
from projections.calibration.calibration import GROUPINGS, MIN_DECISIONS
from projections.calibration.history import HISTORY_PARTS
from projections.calibration.trend import TREND_DAYS, TREND_DAYS_MAX
from projections.decisions.decision_index import STAKES
from projections.decisions.decision_state import DecisionState
from projections.discovery.run_report import RunDetail

Json = dict[str, Any]

PROBLEM = "application/problem+json"
TEMPLATE = "#/components/schemas/{name}"

TEXT: Json = {"type": "string"}
WORDS: Json = {"type": "string", "minLength": 1, "maxLength": EVIDENCE_WORDS_CHARS_MAX}
DIGEST: Json = {"type": "string", "pattern": DIGEST_PATTERN}
POSITION: Json = {"type": "integer", "minimum": 1, "maximum": POSITION_MAX}
CURSOR: Json = {"type": "integer", "minimum": 0, "maximum": POSITION_MAX}
DATE: Json = {"type": "string", "format": "date"}
INSTANT: Json = {"type": "string", "format": "date-time"}
STREAM_ID: Json = {
    "type": "string", "minLength": 1, "maxLength": STREAM_ID_CHARS_MAX, "pattern": STREAM_ID_PATTERN,
}  # fmt: skip


class ProjectionList(msgspec.Struct, frozen=True):
    """Every projection."""

    projections: list[ProjectionInfo]


class RpcRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call of CSTP, JSON-RPC 2.0 with named parameters; without an id it is answered with the id null."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | float | None = None
    params: dict[str, object] = {}


class RpcErrorSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to when it came to nothing."""

    code: int
    message: str
    data: object = None


class RpcAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a call: `result`, or `error`."""

    jsonrpc: Literal["2.0"]
    id: str | int | float | None
    result: object = None
    error: RpcErrorSchema | None = None


ANSWERS = (
    Problem, AppendedEvent, AppendResult, CalibrationAnswer, Advice, DecisionPage, DecisionState, RunPage, RunDetail,
    InventoryAnswer, ProbesAnswer, ScoreboardAnswer, EvaluationPage, EvaluationAnswer, RunComparisonAnswer,
    ProjectionList, ProjectionState, Liveness, Readiness, StoredEvidence, ErasureReceipt, EvidencePage, RpcRequest,
    RpcAnswer,
    RunConfig, NextPrompt, ResponseBody, ResponseResult, SignalDraft, SignalEntry, SignalPage, FinishBody,
    InclusionAnswer, ConsistencyAnswer,
)  # fmt: skip


def reference(name: str) -> Json:
    """A reference to a schema of the document."""
    return {"$ref": TEMPLATE.format(name=name)}


def schemas() -> Json:
    """Every schema: the vocabulary's, those of the answers, and the names for any event."""
    vocabulary = json_schema(ref_template=TEMPLATE)
    _, found = msgspec.json.schema_components(ANSWERS, schema_hook=_anything, ref_template=TEMPLATE)
    del found["Payload"]
    found["HistoryEntry"]["properties"]["data"] = reference("Payload")
    kinds = VOCABULARY.kinds.values()
    drafts = {kind.name: TEMPLATE.format(name=kind.draft.__name__) for kind in kinds}
    events = {kind.name: TEMPLATE.format(name=kind.event.__name__) for kind in kinds}
    return {
        **found,
        **vocabulary["$defs"],
        "Draft": {"description": vocabulary["description"], **_one_of(drafts)},
        "Event": {"description": "An event as it is stored, byte for byte.", **_one_of(events)},
        "Payload": {
            "description": "The data of an event.",
            "anyOf": [reference(kind.payload.__name__) for kind in kinds],
        },
        "EventPage": {
            "type": "object",
            "description": "Stored events. `next` is the position to go on after (before, in descending order), "
            "null on the last page; `head` is the newest position.",
            "properties": {
                "events": {"type": "array", "items": reference("Event"), "maxItems": PAGE_EVENTS_MAX},
                "next": {"anyOf": [POSITION, {"type": "null"}]},
                "head": CURSOR,
            },
            "required": ["events", "next", "head"],
            "additionalProperties": False,
        },
    }


def parameter(name: str, schema: Json, description: str, place: str = "query") -> Json:
    """A parameter that may be left out, or one of the path, which may not."""
    made = {"name": name, "in": place, "required": place == "path", "schema": schema, "description": description}
    if schema.get("type") == "array":
        made |= {"style": "form", "explode": False}
    return made


def _several(items: Json) -> Json:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": ITEMS_MAX}


PARAMETERS: dict[str, Json] = {
    made["name"]: made
    for made in (
        parameter("after", {**CURSOR, "default": 0}, "Events behind this position; the `next` of the page before."),
        parameter("before", POSITION, "Events ahead of this position."),
        parameter(
            "limit",
            {"type": "integer", "minimum": 1, "maximum": PAGE_EVENTS_MAX, "default": PAGE_EVENTS_DEFAULT},
            "How many at most.",
        ),
        parameter("type", _several({"enum": list(VOCABULARY.types)}), "Events of these types, separated by commas."),
        parameter(
            "subject",
            _several({"type": "string", "pattern": "^[^,]+$"}),
            "Events of these streams, separated by commas.",
        ),
        parameter("source", TEXT, "Events of one agent: its name, or /agents/NAME."),
        parameter("agent", TEXT, "What one agent did, by its name."),
        parameter("router", TEXT, "Runs that asked one router."),
        parameter("probe", TEXT, "One probe, by its id; among scores also ID@VERSION."),
        parameter("scorer", TEXT, "Scores by one scorer, ID or ID@VERSION."),
        parameter("model", TEXT, "One model, by any of its names."),
        parameter(
            "confidence",
            {"type": "number", "minimum": 0, "maximum": 1},
            "The confidence planned; decisions that stated about the same are told, without it those of any.",
        ),
        parameter("category", TEXT, "Decisions of one category."),
        parameter("stakes", {"enum": list(STAKES)}, "Decisions with these stakes."),
        parameter("project", TEXT, "Decisions of one project."),
        parameter("feature", TEXT, "Decisions of one feature."),
        parameter("since", {"anyOf": [INSTANT, DATE]}, "From this time on, or from the first moment of this day, UTC."),
        parameter("until", {"anyOf": [INSTANT, DATE]}, "Up to this time, or to the last moment of this day, UTC."),
        parameter("window", {"enum": list(WINDOWS)}, "Days back from now; beats `since`."),
        parameter("group_by", {"enum": [*GROUPINGS, "confidenceBucket"]}, "What the groups are by."),
        parameter(
            "min_decisions",
            {**POSITION, "default": MIN_DECISIONS},
            "Reviewed decisions below which there are no figures.",
        ),
        parameter(
            "detail",
            {"enum": list(DETAILS), "default": "figures"},
            "How much to compute: figures, or curve, band and recalibration map too.",
        ),
        parameter(
            "include",
            _several({"enum": list(HISTORY_PARTS)}),
            "What to add, separated by commas: the trend, a look for drift, the comparison of agents.",
        ),
        parameter(
            "trend_days",
            {"type": "integer", "minimum": 1, "maximum": TREND_DAYS_MAX, "default": TREND_DAYS},
            "Length of the trend's windows, in days.",
        ),
        parameter(
            "as_of",
            {"anyOf": [CURSOR, INSTANT, DATE]},
            "The view as it stood at a position, at a time, or at the end of a day.",
        ),
        parameter("status", {"enum": ["pending", "reviewed", ""]}, "Decisions not yet reviewed, or those that are."),
        parameter("outcome", {"enum": [*OUTCOMES, ""]}, "Decisions that turned out so."),
        parameter("tag", _several({"type": "string", "pattern": "^[^,]+$"}), "Decisions with any of these tags."),
        parameter("search", TEXT, "Decisions whose texts hold every one of these words, whole."),
        parameter("sort", {"enum": list(SORTS), "default": "created_at"}, "What the order is by."),
        parameter("offset", {**CURSOR, "default": 0}, "How many to leave out; the `next` of the page before."),
    )
}
"""Every query parameter that means the same on each route that takes it."""


def order(default: str) -> Json:
    """The parameter that turns the order round."""
    return parameter("order", {"enum": ["asc", "desc"], "default": default}, "Ascending, or descending.")


def binary_headers() -> list[Json]:
    """The attributes of CloudEvents binary mode."""
    trace = {"type": "string", "minLength": 1, "maxLength": TRACE_CHARS_MAX}
    told = (
        ("ce-specversion", {"enum": ["1.0"]}, "the version of CloudEvents"),
        ("ce-type", {"enum": list(VOCABULARY.types)}, "the type; its presence, or ce-specversion's, chooses the mode"),
        ("ce-id", {"type": "string", "minLength": 1, "maxLength": EVENT_ID_CHARS_MAX}, "unique within the source"),
        ("ce-source", {"type": "string", "maxLength": AGENT_NAME_CHARS_MAX + 8}, "/agents/NAME, as the token has it"),
        ("ce-subject", TEXT, "the stream, as the payload names it"),
        ("ce-time", INSTANT, "when it happened"),
        ("ce-traceparent", trace, "passed through"),
        ("ce-correlationid", trace, "passed through"),
        ("ce-causationid", trace, "passed through"),
        ("ce-expectedversion", {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, "the stream's version"),
    )
    return [
        parameter(name, schema, f"Binary mode, where the body is the payload alone: {text}. Percent-encoded.", "header")
        for name, schema, text in told
    ]


def events_body() -> Json:
    """Every body that POST /events takes."""
    batch = {"type": "array", "items": reference("Draft"), "minItems": 1, "maxItems": BATCH_EVENTS_MAX}
    return {
        "required": True,
        "content": {
            JSON: {"schema": {"anyOf": [reference("Draft"), batch, reference("Payload")]}},
            EVENT: {"schema": reference("Draft")},
            BATCH: {"schema": batch},
            LINES: {"schema": {**TEXT, "description": f"One Draft a line, 1..{BATCH_EVENTS_MAX} of them."}},
        },
    }


def answer(description: str, content: dict[str, Json]) -> Json:
    """An answer by its media types; each carries the request's id."""
    return {
        "description": description,
        "headers": {"x-request-id": {"schema": TEXT, "required": True, "description": "The client's, or one made."}},
        "content": {media: {"schema": schema} for media, schema in content.items()},
    }


def page(description: str, *, streams: bool = False) -> Json:
    """A page of events; where it may also stream, as lines or as a feed, by the Accept header."""
    content = {JSON: reference("EventPage")}
    if streams:
        content[LINES] = {**TEXT, "description": "Every event that fits, one a line, as it is stored."}
        content[FEED] = {**TEXT, "description": "Events as they are committed, without end; `id` is the position."}
    return answer(description, content)


PROBLEMS: dict[int, str] = {
    400: "Not well-formed, no HTTP/1.1, or a parameter that cannot be met; nothing was written.",
    401: "A token is required.",
    403: "The token does not allow this; or, without tokens, a page of elsewhere would write. Nothing was written.",
    404: "There is nothing of that name or number.",
    408: "The request, or the taking of an answer, took too long; nothing was done.",
    409: "The log as it stands does not admit this; nothing was written.",
    410: "The evidence was erased, and cannot come back.",
    413: "The body, or an event in it, is too long; nothing was written.",
    414: "The address is too long; nothing was done.",
    415: "A content type or encoding that is not spoken here; nothing was written.",
    421: "Without tokens, a name that is not loopback's; nothing was done.",
    422: "An event that does not fit the vocabulary; nothing was written.",
    429: "The token is used faster than it may be; nothing was done. Retry after as many seconds as Retry-After says.",
    431: "The head of the request is too large; nothing was done.",
    503: "Not served now, or too many connections are open; retry after as many seconds as Retry-After says.",
    507: "The disk is full; nothing was written.",
}


def problems(*statuses: int) -> Json:
    """The refusals of an operation, by status."""
    told = (*statuses, 429) if 401 in statuses else statuses
    made = {str(status): answer(PROBLEMS[status], {PROBLEM: reference("Problem")}) for status in sorted(told)}
    if "401" in made:
        made["401"]["headers"]["www-authenticate"] = {"schema": {"enum": ["Bearer"]}, "required": True}
    for status in {"429", "503"} & made.keys():
        made[status]["headers"]["retry-after"] = {"schema": {"type": "integer", "minimum": 1}, "required": True}
    return made


def _one_of(named: dict[str, str]) -> Json:
    choices = [{"$ref": target} for target in named.values()]
    return {"oneOf": choices, "discriminator": {"propertyName": "type", "mapping": named}}


def _anything(kind: type) -> Json:
    assert kind is object, f"{kind} has no JSON Schema"
    return {"description": "Any JSON."}
