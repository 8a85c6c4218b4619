"""Route of the export: a ZIP, streamed while it is made."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse

from api.export import ExportSelection, ZipTarget, open_export, parse_selection
from api.export.selection import EXPORT_PARAMETERS
from api.http.media import ZIP
from api.http.operation import BYTES, Answer, Operation
from api.http.request import Call
from api.service.ledger import LedgerService


@Operation(
    method="GET",
    path="/export",
    query=EXPORT_PARAMETERS,
    answers={
        200: Answer(
            "The export, streamed. It is complete if the ZIP's directory is at its end.",
            {ZIP: BYTES},
            {"content-disposition": "A name for the file.", "cache-control": "No cache may keep it."},
        )
    },
    errors=(404, 422, 507),
)
async def get_export(call: Call) -> Response:
    """Export all events, or those that the filters select, with their proofs.

    The ZIP explains in its README.md how to verify it.
    """
    pieces = _zip_pieces(call.ledger, parse_selection(call.parameters))
    first = await anext(pieces)
    headers = {
        "content-disposition": 'attachment; filename="tallystick-export.zip"',
        "cache-control": "private, no-store",
    }
    return StreamingResponse(_prepend(first, pieces), headers=headers, media_type=ZIP)


async def _zip_pieces(ledger: LedgerService, selection: ExportSelection) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the ZIP. Every error of the selection is raised before the first."""
    made: list[bytes] = []
    async with open_export(ledger, selection) as export:
        with ZipTarget(made.append, export.created) as archive:
            async with aclosing(export.write(archive)) as written:
                async for _ in written:
                    if made:
                        yield b"".join(made)
                        made.clear()
            archive.close()
            yield b"".join(made)


async def _prepend(first: bytes, pieces: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(pieces):
        yield first
        async for piece in pieces:
            yield piece
