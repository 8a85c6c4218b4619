"""Read the form that a page posts, after the check that no other site's page caused the request."""

import secrets
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request

from api.errors import CrossSite, UnsupportedMedia
from api.http.origin_guard import refuse_cross_site
from api.http.request import headers_of, read_body
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.errors import InvalidEvent, MalformedInput
from events.limits import BODY_BYTES_FREE, BODY_BYTES_MAX

FORM = "application/x-www-form-urlencoded"
FIELDS_MAX = 1_000

EVENT_ID = "event_id"
"""The field with the id of the event that a form makes: posting it again with the same content writes nothing."""

_Shape = TypeVar("_Shape", bound=msgspec.Struct)


def require_own_page(request: Request) -> None:
    """Check that one of this server's pages caused a writing request. Errors: CrossSite.

    Every browser sends Origin or Sec-Fetch-Site with a form.
    """
    headers = headers_of(request.scope)
    refuse_cross_site(headers)
    origin = headers.get(b"origin")
    without_tls = origin is not None and request.url.scheme == "https" and not origin.startswith(b"https:")
    if without_tls or (origin is None and b"sec-fetch-site" not in headers):
        detail = "Only a page of this server may post this form."
        raise CrossSite(detail, "Programs use the JSON routes.")


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form that have a value. Before the caller is authenticated, a form must be small.

    Errors: UnsupportedMedia, BodyTooLarge, LimitReached, MalformedInput.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != FORM:
        raise UnsupportedMedia(f"content-type {media!r} is not a form's.", f"Send {FORM}.")
    size_max = BODY_BYTES_MAX if "caller" in request.scope else BODY_BYTES_FREE
    body = await read_body(request.scope, request.receive, size_max)
    try:
        fields = parse_qsl(body.decode("ascii"), strict_parsing=False, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise MalformedInput(f"The form cannot be read: {error}.", "Send it again.", field=None) from None
    return {name: value.replace("\r\n", "\n") for name, value in fields if value}


def new_event_id() -> str:
    """Return the id of the event that a form makes."""
    return f"page-{secrets.token_hex(12)}"


def event_id_of(typed: Mapping[str, str]) -> str:
    """Return the id that the form was made with: without one, sending the form twice would write two events."""
    if EVENT_ID not in typed:
        raise InvalidEvent("The form has no event_id.", "Open the page again.", field=EVENT_ID)
    return typed[EVENT_ID]


def convert_fields(fields: Mapping[str, object], shape: type[_Shape]) -> _Shape:
    """Return the struct that fields of a form make. Errors: InvalidEvent."""
    try:
        return msgspec.convert(fields, shape)
    except DECODE_ERRORS as error:
        raise explain_decode_error(error, (), fields=shape.__struct_fields__, shape=shape) from None


def stated_texts(typed: Mapping[str, str], *names: str) -> dict[str, object]:
    """Return the fields of these names that are not blank, without the blanks around them."""
    return {name: text for name in names if (text := typed.get(name, "").strip())}
