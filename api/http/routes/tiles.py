"""GET of the tree: its tiles and the lines behind them, as C2SP's tlog-tiles has them, and proofs.

A tile of a width never changes, so whoever fetched it may keep it: but `private`, because a shared cache would go on
handing it out where a token is asked for, today or later.
"""

import re
from asyncio import to_thread
from collections.abc import Mapping
from gzip import compress

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import answer, asked
from api.parameters import parse_integer
from api.service import proofs
from ledger.errors import InvalidQuery
from ledger.transparency.tiles import TileAddress

BYTES = "application/octet-stream"

LEVEL_MAX = 63
"""Source: C2SP's tlog-tiles."""

INCLUSION_PARAMETERS = ("position", "size")
CONSISTENCY_PARAMETERS = ("from", "to")

_KEPT = {"cache-control": "private, max-age=31536000, immutable"}

_level = re.compile(r"0|[1-9][0-9]?")
_gzip_taken = re.compile(r"(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=(?:0\.\d*[1-9]\d*|1(?:\.0*)?)\s*)?(?:,|$)", re.IGNORECASE)


async def get_tile(request: Request) -> Response:
    """The hashes of a tile."""
    ledger, _ = asked(request, ())
    data = await proofs.tile(ledger, _level_of(request.path_params["level"]), _address(request))
    return Response(data, headers={**_KEPT, "vary": "authorization"}, media_type=BYTES)


async def get_entries(request: Request) -> Response:
    """The lines behind a tile of level 0; compressed where that is taken."""
    ledger, _ = asked(request, ())
    data = await proofs.entries(ledger, _address(request))
    headers = {**_KEPT, "vary": "authorization, accept-encoding"}
    if _gzip_taken.search(request.headers.get("accept-encoding", "")):
        data = await to_thread(compress, data, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(data, headers=headers, media_type=BYTES)


async def get_inclusion(request: Request) -> Response:
    """The proof that an event is in the tree of a size."""
    ledger, parameters = asked(request, INCLUSION_PARAMETERS)
    position = parse_integer("position", _needed("position", parameters), 0, 1)
    size = parse_integer("size", parameters["size"], 0, 1) if "size" in parameters else None
    return answer(await proofs.inclusion(ledger, position, size))


async def get_consistency(request: Request) -> Response:
    """The proof that a tree begins with an older one."""
    ledger, parameters = asked(request, CONSISTENCY_PARAMETERS)
    older = parse_integer("from", _needed("from", parameters), 0, 0)
    newer = parse_integer("to", parameters["to"], 0, 0) if "to" in parameters else None
    return answer(await proofs.consistency(ledger, older, newer))


def _level_of(text: str) -> int:
    if _level.fullmatch(text) is None or int(text) > LEVEL_MAX:
        raise InvalidQuery("level", f"{text!r} is not a level.", f"Levels are 0 to {LEVEL_MAX}, without leading zeros.")
    return int(text)


def _address(request: Request) -> TileAddress:
    text = request.path_params["tile"]
    if (address := TileAddress.parse(text)) is None:
        advice = "Write tile 1234067 as x001/x234/067, and the first 5 of it as x001/x234/067.p/5."
        raise InvalidQuery("tile", f"{text!r} is not the number of a tile.", advice)
    return address


def _needed(name: str, parameters: Mapping[str, str]) -> str:
    if name not in parameters:
        raise InvalidQuery(name, "is missing.", "Name the event: ?position=7." if name == "position" else "?from=7.")
    return parameters[name]
