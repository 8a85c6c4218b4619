"""GET /export: an export as a ZIP, streamed while it is made."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.export import (
    ExportSelection,
    ZipTarget,
    opened,
    parse_export_selection,
)
from api.parameters import index_pairs
from api.service.ledger import LedgerService

ZIP = "application/zip"

HEADERS = {"content-disposition": 'attachment; filename="tallystick-export.zip"', "cache-control": "private, no-store"}


async def get_export(request: Request) -> Response:
    """Everything, or what the parameters choose, with its proofs."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    selection = parse_export_selection(index_pairs(request.query_params.multi_items()))
    pieces = _pieces(ledger, selection)
    first = await anext(pieces)
    return StreamingResponse(_from(first, pieces), headers=HEADERS, media_type=ZIP)


async def _pieces(ledger: LedgerService, selection: ExportSelection) -> AsyncGenerator[bytes, None]:
    """The bytes of the ZIP. What is refused is refused before the first."""
    made: list[bytes] = []
    async with opened(ledger, selection) as export:
        with ZipTarget(made.append, export.created) as archive:
            async with aclosing(export.write(archive)) as written:
                async for _ in written:
                    if made:
                        yield b"".join(made)
                        made.clear()
            archive.close()
            yield b"".join(made)


async def _from(first: bytes, pieces: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(pieces):
        yield first
        async for piece in pieces:
            yield piece
