"""Build the OpenAPI 3.1 document from the declarations of the operations, their structs and the vocabulary."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from api.errors import Problem
from api.http.compressed_document import CompressedDocument, compress_document
from api.http.media_types import PROBLEM
from api.http.operation import TEXT, Answer, ArrayOf, HttpOperation, Shape, reference
from api.http.route_table import operations
from api.parameters import CURSOR_SCHEMA, POSITION_SCHEMA, JsonSchema, Parameter
from events.life import Author
from events.limits import PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from events.schema import json_schema
from projections.decisions.decision_state import HistoryEntry

DESCRIPTION = """\
An append-only ledger for the decisions of AI agents. Post events, read and follow them, and read the views that are
folded from them. A retry with the same id never writes twice. Pages are immutable.

Errors are problem documents (RFC 9457): `detail` says what is wrong, `field` and `index` say where, `advice` says what
to do. Every answer has an `x-request-id`. Any other method on a path is refused with 405. A ledger without tokens
refuses a Host that is not a loopback name with 421, and writes from the pages of other sites with 403.
"""

PROBLEMS: Mapping[int, str] = {
    400: "Not well-formed, not HTTP/1.1, or an invalid parameter; nothing was written.",
    401: "A token is required.",
    403: "The token does not allow this; or the ledger has no tokens, and the page of another site tried to write. "
    "Nothing was written.",
    404: "Not found.",
    408: "The client sent the request or read the answer too slowly; nothing was done.",
    409: "The current state of the log does not allow this; nothing was written.",
    410: "The evidence was erased, and cannot be stored again.",
    413: "The body, or an event in it, is too long; nothing was written.",
    414: "The address is too long; nothing was done.",
    415: "The content type or encoding is not supported; nothing was written.",
    421: "The ledger has no tokens, and the Host is not a loopback name; nothing was done.",
    422: "An event does not match the vocabulary; nothing was written.",
    429: "The token is used faster than its rate allows; nothing was done. Retry after `retry-after` seconds.",
    431: "The head of the request is too large; nothing was done.",
    501: "Packages that this needs are not installed; the advice names them.",
    503: "The ledger is not available now, or too many connections are open. Retry after `retry-after` seconds.",
    507: "The disk is full; nothing was written.",
}

ANY_ERRORS = (400, 408, 414, 421, 431, 503)
"""Error statuses of every operation: the connection and the origin guard answer them before the route is called."""

TOKEN_ERRORS = (401, 403, 429)
BODY_ERRORS = (413, 415)


def make_document(operations: Sequence[HttpOperation]) -> JsonSchema:
    """Return the OpenAPI document of some operations."""
    paths: JsonSchema = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.method.lower()] = _operation(operation)
    structs = dict.fromkeys(struct for operation in operations for struct in _structs(operation))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tallystick",
            "version": version("tallystick"),
            "description": DESCRIPTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The server that answers this document."}],
        "paths": paths,
        "components": {
            "schemas": make_schemas([Problem, *structs]),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by `tallystick token add AGENT`. A ledger without tokens needs none.",
                }
            },
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: HttpOperation) -> JsonSchema:
    described: JsonSchema = {"operationId": operation.name, "tags": [operation.tag], "summary": operation.summary}
    if operation.description:
        described["description"] = operation.description
    described["security"] = [] if operation.public else [{}, {"token": list(operation.scopes)}]
    described["parameters"] = [
        _parameter(parameter, location)
        for location, parameters in (
            ("path", operation.path_parameters),
            ("query", operation.query),
        )
        for parameter in parameters
    ]
    if operation.body:
        described["requestBody"] = {"required": operation.body_required, "content": _content(operation.body)}
    described["responses"] = _responses(operation)
    return described


def _parameter(parameter: Parameter[Any], location: str) -> JsonSchema:
    described: JsonSchema = {
        "name": parameter.name,
        "in": location,
        "required": location == "path" or parameter.required,
        "schema": parameter.schema,
        "description": parameter.description,
    }
    if parameter.schema.get("type") == "array":
        described |= {"style": "form", "explode": False}
    return described


def _responses(operation: HttpOperation) -> JsonSchema:
    """Return the answers by status. If a status of ANY_ERRORS has an answer, too, its description has both bodies."""
    responses: dict[int, JsonSchema] = {status: _answer(answer) for status, answer in operation.answers.items()}
    for status, answer in responses.items():
        if operation.links and 200 <= status < 300:
            answer["links"] = {
                name: {"operationId": link.operation, "parameters": {link.parameter: link.value}}
                for name, link in operation.links.items()
            }
    for status in ANY_ERRORS:
        if status in responses:
            responses[status]["content"] |= _problem(status)["content"]
    for status in _error_statuses(operation):
        if status not in responses:
            responses[status] = _problem(status)
            responses[status]["content"] |= _content(operation.error_content)
    return {str(status): responses[status] for status in sorted(responses)}


def _error_statuses(operation: HttpOperation) -> tuple[int, ...]:
    return (
        *ANY_ERRORS,
        *(() if operation.public else TOKEN_ERRORS),
        *(BODY_ERRORS if operation.body else ()),
        *operation.errors,
    )


def _problem(status: int) -> JsonSchema:
    answer = _answer(Answer(PROBLEMS[status], {PROBLEM: Problem}))
    if status == 401:
        answer["headers"]["www-authenticate"] = {"schema": {"enum": ["Bearer"]}, "required": True}
    if status in {429, 503}:
        answer["headers"]["retry-after"] = {"schema": {"type": "integer", "minimum": 1}, "required": True}
    return answer


def _answer(answer: Answer) -> JsonSchema:
    headers = {"x-request-id": "The client's, or a new one.", **answer.headers}
    return {
        "description": answer.description,
        "headers": {
            name: {"schema": TEXT, "required": True, "description": meaning} for name, meaning in headers.items()
        },
        "content": _content(answer.content),
    }


def _content(content: Mapping[str, Shape]) -> JsonSchema:
    return {media: {"schema": _schema(shape)} for media, shape in content.items()}


def _schema(shape: Shape) -> JsonSchema:
    if isinstance(shape, dict):
        return shape
    if isinstance(shape, tuple):
        return {"anyOf": [_schema(choice) for choice in shape]}
    if isinstance(shape, ArrayOf):
        return {"type": "array", "items": _schema(shape.struct), "minItems": 1, "maxItems": shape.maximum}
    return reference(shape.__name__)


def _structs(operation: HttpOperation) -> Iterator[type[msgspec.Struct]]:
    """Yield the structs of the bodies."""
    for content in (
        operation.body,
        operation.error_content,
        *(answer.content for answer in operation.answers.values()),
    ):
        for shape in content.values():
            if not isinstance(shape, dict):
                for choice in shape if isinstance(shape, tuple) else (shape,):
                    yield choice.struct if isinstance(choice, ArrayOf) else choice


_TEMPLATE: str = reference("{name}")["$ref"]


def make_schemas(structs: Collection[type[msgspec.Struct]]) -> JsonSchema:
    """Return every schema by name: of the structs, of the vocabulary, and of an event, draft or payload of any type."""
    vocabulary = json_schema(ref_template=_TEMPLATE)
    _, schemas = msgspec.json.schema_components(structs, schema_hook=_any_json, ref_template=_TEMPLATE)
    schemas[HistoryEntry.__name__]["properties"]["data"] = reference("Payload")
    kinds = VOCABULARY.event_types.values()
    for struct in structs:
        schemas[struct.__name__] |= getattr(struct, "json_schema_rules", {})
    posted = [kind for kind in kinds if kind.by is not Author.LEDGER]  # evidence has routes of its own
    for kind in kinds:
        if kind not in posted:
            del vocabulary["$defs"][kind.draft.__name__]
    made = {name: _for_generators(schema) for name, schema in {**schemas, **vocabulary["$defs"]}.items()}
    return {
        **made,
        "Draft": {
            "description": vocabulary["description"],
            **_one_of({kind.name: kind.draft.__name__ for kind in posted}),
        },
        "Event": {
            "description": "An event as it is stored, byte for byte.",
            **_one_of({kind.name: kind.event.__name__ for kind in kinds}),
        },
        "Payload": {
            "description": "The data of an event.",
            "anyOf": [reference(kind.payload.__name__) for kind in kinds],
        },
        "EventPage": {
            "type": "object",
            "description": "Stored events. `next` is the position to continue after (before, in descending order), "
            "null on the last page; `head` is the newest position.",
            "properties": {
                "events": {"type": "array", "items": reference("Event"), "maxItems": PAGE_EVENTS_MAX},
                "next": {"anyOf": [POSITION_SCHEMA, {"type": "null"}]},
                "head": CURSOR_SCHEMA,
            },
            "required": ["events", "next", "head"],
            "additionalProperties": False,
        },
    }


def _for_generators(node: Any) -> Any:  # noqa: ANN401 # any part of a JSON Schema
    """Return a schema that generators of clients understand, and that describes the same values.

    They cannot read `items: false` after `prefixItems`, which `maxItems` states, too. From an empty default they
    conclude that the field is always present. A field that is `OMITTED` where it has its default is never null.
    """
    if isinstance(node, list):
        return [_for_generators(each) for each in node]
    if not isinstance(node, dict):
        return node
    if "omitted" in node:
        kinds = node.get("anyOf", [{"type": node.get("type")}])
        node = next(kind for kind in kinds if kind != {"type": "null"})
    return {
        key: _for_generators(value)
        for key, value in node.items()
        if not (key == "items" and value is False and "maxItems" in node)
        and not (key == "default" and value in (None, (), [], {}, ""))
    }


def _one_of(names: dict[str, str]) -> JsonSchema:
    """Return the schema of an event of any type, from schema names by type."""
    mapping = {kind: str(reference(name)["$ref"]) for kind, name in names.items()}
    return {
        "oneOf": [{"$ref": target} for target in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }


def _any_json(kind: type) -> JsonSchema:
    assert kind is object, f"{kind} has no JSON Schema"
    return {"description": "Any JSON."}


@cache
def openapi_document() -> JsonSchema:
    """Return the OpenAPI document of every operation."""
    return make_document(operations())


@cache
def compressed_openapi() -> CompressedDocument:
    """Return the OpenAPI document as JSON."""
    return compress_document(msgspec.json.encode(openapi_document()))
