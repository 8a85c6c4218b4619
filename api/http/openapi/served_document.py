"""The OpenAPI document of every operation, as the server sends it."""

from functools import cache

import msgspec

from api.http.compressed_document import CompressedDocument, compress_document
from api.http.openapi.document import make_document
from api.http.route_table import operations
from api.parameters import JsonSchema


@cache
def openapi_document() -> JsonSchema:
    """Return the OpenAPI document of every operation."""
    return make_document(operations())


@cache
def compressed_openapi() -> CompressedDocument:
    """Return the OpenAPI document as JSON."""
    return compress_document(msgspec.json.encode(openapi_document()))
