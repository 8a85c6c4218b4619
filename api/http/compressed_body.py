"""Request bodies that may be compressed with gzip, as exporters of telemetry send them."""

import zlib

from starlette.types import Receive, Scope

from api.errors import BodyTooLarge
from api.http.request import headers_of, read_body, requests_of
from events.errors import MalformedInput
from events.limits import BODY_BYTES_FREE, BODY_BYTES_MAX
from ledger.threads import run_on_thread

GZIP = b"gzip"
_GZIP_WINDOW = 31
"""The window bits that make zlib read the format gzip."""


async def read_compressed_body(scope: Scope, receive: Receive) -> bytes:
    """Receive a body, and decompress it up to BODY_BYTES_MAX. Both forms count as memory in use.

    Errors: those of `read_body`; MalformedInput.
    """
    encoding = headers_of(scope).get(b"content-encoding", b"").strip().lower()
    body = await read_body(scope, receive, encodings=(b"identity", GZIP))
    if encoding != GZIP:
        return body
    plain = await run_on_thread(_decompress, body)
    size = len(body) + len(plain)
    if size > BODY_BYTES_FREE:
        requests_of(scope).hold_body(scope, size)
        scope["caller"].spend_body(len(plain))
    return plain


def _decompress(body: bytes) -> bytes:
    """Return the content of a gzip file with one member. Errors: MalformedInput, BodyTooLarge."""
    decompressor = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = decompressor.decompress(body, BODY_BYTES_MAX + 1)
    except zlib.error as error:
        raise MalformedInput(f"The body is not gzip: {error}.", "Send it uncompressed.") from None
    if len(plain) > BODY_BYTES_MAX:
        raise BodyTooLarge(
            f"The body is over {BODY_BYTES_MAX:,} bytes when decompressed.", "Send it in several requests."
        )
    if not decompressor.eof or decompressor.unused_data:
        raise MalformedInput("The body is not one whole file of gzip.", "Send it again.")
    return plain
