"""PUT, GET and DELETE of evidence: bytes in, bytes out, bytes gone."""

from collections.abc import Collection, Mapping

from starlette.requests import Request
from starlette.responses import Response

from api.auth import Principal
from api.http.request import read_body
from api.parameters import check_names, index_pairs, parse_integer
from api.service.evidence import Blob, digest_of
from api.service.ledger import LedgerService
from api.text import to_json
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from ledger.errors import InvalidQuery

BYTES = "application/octet-stream"
"""What evidence is served as where its media type is not known."""

PUT_PARAMETERS = ("digest", "note")
LIST_PARAMETERS = ("limit", "offset", "as_of")
ERASE_PARAMETERS = ("reason",)

SAFE = {
    "cache-control": "private, no-store",
}
"""What was stored is in no cache when it is erased; `api/http/origin_guard.py` has it run nowhere."""


async def put_evidence(request: Request) -> Response:
    """Keep the body; 201 when it is new, 200 when it was there."""
    ledger, caller = _asked(request)
    caller.require("append")
    parameters = _given(request, PUT_PARAMETERS)
    data = await read_body(request)
    wanted = parameters.get("digest")
    if wanted is not None and wanted != (found := digest_of(data)):
        raise InvalidQuery("digest", f"the body's is {found}; nothing was kept.", "Send it whole, or correct this.")
    kept = await ledger.evidence.put(Blob(data, request.headers.get("content-type"), parameters.get("note")), caller)
    headers = {"location": f"/evidence/{kept.digest}", "etag": f'"{kept.digest}"'}
    return Response(to_json(kept), 200 if kept.duplicate else 201, headers, media_type="application/json")


async def get_evidence(request: Request) -> Response:
    """The bytes of a digest."""
    ledger, caller = _asked(request)
    _given(request, ())
    piece = await ledger.evidence.get(request.path_params["digest"], caller)
    headers = {**SAFE, "etag": f'"{piece.digest}"'}
    if _matches(request.headers.get("if-none-match", ""), headers["etag"]):
        return Response(status_code=304, headers=headers)
    headers["content-disposition"] = f'attachment; filename="{piece.digest}"'
    headers["content-type"] = piece.media_type or BYTES
    return Response(piece.data, headers=headers)


async def list_evidence(request: Request) -> Response:
    """What was kept and what was erased, in the order of the log."""
    ledger, caller = _asked(request)
    caller.require("read")
    parameters = _given(request, LIST_PARAMETERS)
    limit = parse_integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX)
    offset = parse_integer("offset", parameters.get("offset"), 0, 0)
    as_of = await ledger.resolve(parameters.get("as_of"))
    page = await ledger.evidence.catalogue(caller, offset, limit, as_of)
    return Response(to_json(page), media_type="application/json")


async def delete_evidence(request: Request) -> Response:
    """Erase the bytes of a digest for good."""
    ledger, caller = _asked(request)
    parameters = _given(request, ERASE_PARAMETERS)
    erased = await ledger.evidence.erase(request.path_params["digest"], parameters.get("reason"), caller)
    return Response(to_json(erased), media_type="application/json")


def _asked(request: Request) -> tuple[LedgerService, Principal]:
    """The house, and who asks. Errors: Unauthenticated."""
    ledger: LedgerService = request.app.state.ledger
    return ledger, ledger.tokens.identify(request.headers.get("authorization"))


def _given(request: Request, allowed: Collection[str]) -> Mapping[str, str]:
    parameters = index_pairs(request.query_params.multi_items())
    check_names(parameters.keys(), allowed)
    return parameters


def _matches(header: str, etag: str) -> bool:
    """Whether If-None-Match names a tag."""
    return etag in (tag.strip().removeprefix("W/") for tag in header.split(",")) or header.strip() == "*"
