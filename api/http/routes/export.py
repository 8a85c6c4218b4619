"""Route of the export: a ZIP, streamed while it is written."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse

from api.export import ExportSelection, ZipTarget, open_export, parse_selection
from api.export.selection import EXPORT_PARAMETERS
from api.http.media_types import OCTETS, ZIP
from api.http.operation import BYTES, Answer, HttpOperation
from api.http.request import Call
from api.service.ledger import LedgerService


@HttpOperation(
    "GET",
    "/export",
    query=EXPORT_PARAMETERS,
    answers={
        200: Answer(
            "The export, streamed. It is complete if it ends with the ZIP's directory.",
            {ZIP: BYTES, OCTETS: BYTES},
            {"content-disposition": "A name for the file.", "cache-control": "No cache may keep it."},
        )
    },
    errors=(404, 422, 507),
)
async def get_export(call: Call) -> Response:
    """Export all events, or those that the filters select, with their proofs.

    The README.md in the ZIP explains how to verify it. `Accept: application/octet-stream` names that content type.
    """
    chunks = _zip_chunks(call.ledger, parse_selection(call.parameters))
    first = await anext(chunks)
    headers = {
        "content-disposition": 'attachment; filename="tallystick-export.zip"',
        "cache-control": "private, no-store",
    }
    media_type = OCTETS if call.request.headers.get("accept") == OCTETS else ZIP
    return StreamingResponse(_prepend(first, chunks), headers=headers, media_type=media_type)


async def _zip_chunks(ledger: LedgerService, selection: ExportSelection) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the ZIP. Every error of the selection is raised before the first chunk."""
    unsent: list[bytes] = []
    async with open_export(ledger, selection) as export:
        with ZipTarget(unsent.append, export.created) as archive:
            async with aclosing(export.write(archive)) as written:
                async for _ in written:
                    if unsent:
                        yield b"".join(unsent)
                        unsent.clear()
            archive.close()
            yield b"".join(unsent)


async def _prepend(first: bytes, chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(chunks):
        yield first
        async for chunk in chunks:
            yield chunk
