"""Routes of evidence: store bytes, read and erase them."""

from starlette.responses import Response

from api.http.compressed_document import etag_matches
from api.http.media_types import OCTETS
from api.http.operation import BYTES, Answer, HttpOperation, json_answer
from api.http.path_parameters import DIGEST_SCHEMA
from api.http.request import Call, json_response, read_body
from api.parameters import text_parameter
from api.service.evidence import Blob, ErasureReceipt, StoredEvidence, digest_of
from api.service.operation import Link
from events.limits import EVIDENCE_NOTE_CHARS_MAX
from ledger.errors import InvalidQuery

_REMARK = {"type": "string", "minLength": 1, "maxLength": EVIDENCE_NOTE_CHARS_MAX}

DIGEST = text_parameter("digest", "The SHA-256 of the bytes, in hex.", DIGEST_SCHEMA)
EXPECTED_DIGEST = text_parameter(
    "digest", "The SHA-256 that the body must have. Without it, any body is stored.", DIGEST_SCHEMA
)
NOTE = text_parameter("note", "A description. It stays in the log permanently.", _REMARK)
REASON = text_parameter("reason", "Why it is erased. It stays in the log permanently.", _REMARK)

_TO_EVENT = Link("get_event", "position", "$response.body#/position")


@HttpOperation(
    "PUT",
    "/evidence",
    scopes=("append",),
    query=(EXPECTED_DIGEST, NOTE),
    body={OCTETS: {"description": "Bytes of any kind. Their content-type, if there is one, is stored with them."}},
    body_required=False,
    answers={
        200: json_answer("The bytes were stored before; nothing was written.", StoredEvidence),
        201: json_answer("Stored, synced and recorded.", StoredEvidence),
    },
    errors=(410, 507),
    links={
        "bytes": Link("get_evidence", "digest", "$response.body#/digest"),
        "erase": Link("delete_evidence", "digest", "$response.body#/digest"),
        "event": _TO_EVENT,
    },
)
async def put_evidence(call: Call) -> Response:
    """Store bytes outside the log, under their SHA-256 digest. They can be erased later."""
    data = await read_body(call.request.scope, call.request.receive)
    expected = EXPECTED_DIGEST.find(call.parameters)
    if expected is not None and expected != (actual := digest_of(data)):
        raise InvalidQuery(
            "digest", f"the body's digest is {actual}.", "Send the whole body, or correct this.", written=False
        )
    blob = Blob(data, call.request.headers.get("content-type"), NOTE.find(call.parameters))
    stored = await call.ledger.evidence.put(blob, call.caller)
    headers = {"location": f"/evidence/{stored.digest}", "etag": f'"{stored.digest}"'}
    return json_response(stored, 200 if stored.duplicate else 201, headers)


@HttpOperation(
    "GET",
    "/evidence/{digest}",
    path_parameters=(DIGEST,),
    answers={
        200: Answer("The bytes.", {OCTETS: BYTES, "*/*": BYTES}),
        304: Answer("If-None-Match names these bytes."),
    },
    errors=(404, 410),
)
async def get_evidence(call: Call) -> Response:
    """Verify and return the bytes of a digest, with their content-type, as an attachment that no browser executes."""
    content = await call.ledger.evidence.get(call.path(DIGEST), call.caller)
    # No cache may keep the bytes, since they can be erased.
    headers = {"cache-control": "private, no-store", "etag": f'"{content.digest}"'}
    if etag_matches(call.request.headers.get("if-none-match", ""), headers["etag"]):
        return Response(status_code=304, headers=headers)
    headers["content-disposition"] = f'attachment; filename="{content.digest}"'
    headers["content-type"] = content.media_type or OCTETS
    return Response(content.data, headers=headers)


@HttpOperation(
    "DELETE",
    "/evidence/{digest}",
    scopes=("admin",),
    path_parameters=(DIGEST,),
    query=(REASON,),
    answers={200: json_answer("The bytes are erased.", ErasureReceipt)},
    errors=(404, 507),
    links={"event": _TO_EVENT, "bytes": Link("get_evidence", "digest", "$request.path.digest")},
)
async def delete_evidence(call: Call) -> Response:
    """Erase the bytes of a digest permanently. Every position, digest and figure stays the same."""
    digest, reason = call.path(DIGEST), REASON.find(call.parameters)
    return json_response(await call.ledger.evidence.erase(digest, reason, call.caller))
