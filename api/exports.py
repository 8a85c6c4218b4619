"""GET /export: an export as a ZIP, streamed while it is made."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.exporting import Archive, Selection, opened, selection_of
from api.operations import House
from api.parameters import single

ZIP = "application/zip"

HEADERS = {"content-disposition": 'attachment; filename="tallystick-export.zip"', "cache-control": "private, no-store"}


async def get_export(request: Request) -> Response:
    """Everything, or what the parameters choose, with its proofs."""
    house: House = request.app.state.house
    house.tokens.identify(request.headers.get("authorization")).require("read")
    selection = selection_of(single(request.query_params.multi_items()))
    pieces = _pieces(house, selection)
    first = await anext(pieces)
    return StreamingResponse(_from(first, pieces), headers=HEADERS, media_type=ZIP)


async def _pieces(house: House, selection: Selection) -> AsyncGenerator[bytes, None]:
    """The bytes of the ZIP. What is refused is refused before the first."""
    made: list[bytes] = []
    async with opened(house, selection) as export:
        with Archive(made.append, export.created) as archive:
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
