"""Routes of the Merkle tree: tiles and their log lines, as C2SP's tlog-tiles defines them, and proofs.

A tile of a given width never changes, so clients may cache it. Shared caches may not, because they would serve it to
callers without a token.
"""

import re
from asyncio import to_thread
from gzip import compress

from starlette.responses import Response

from api.http.compressed_document import accepts_gzip
from api.http.media_types import OCTETS
from api.http.operation import BYTES, Answer, HttpOperation, json_answer
from api.http.path_parameters import POSITION
from api.http.request import Call, json_response
from api.parameters import Parameter, integer_parameter
from api.service import proofs
from ledger.errors import InvalidQuery
from ledger.transparency.tiles import TileAddress

LEVEL_MAX = 63
"""Source: C2SP's tlog-tiles."""

_level = re.compile(r"0|[1-9][0-9]?")

_CACHED = {"cache-control": "private, max-age=31536000, immutable"}


def _parse_level(text: str) -> int:
    if _level.fullmatch(text) is None or int(text) > LEVEL_MAX:
        raise InvalidQuery("level", f"{text!r} is not a level.", f"Levels are 0 to {LEVEL_MAX}, without leading zeros.")
    return int(text)


def _parse_tile(text: str) -> TileAddress:
    if (address := TileAddress.parse(text)) is None:
        advice = "Write tile 1234067 as x001/x234/067, and its first 5 hashes as x001/x234/067.p/5."
        raise InvalidQuery("tile", f"{text!r} is not the number of a tile.", advice)
    return address


LEVEL = Parameter(
    name="level",
    description="The level of the tree; 0 contains the leaves.",
    schema={"type": "integer", "minimum": 0, "maximum": LEVEL_MAX},
    parse=_parse_level,
)
TILE = Parameter(
    name="tile",
    description="The number of the tile from the left, in groups of three digits. Every group except the last has the "
    "prefix x; .p/W selects the first W hashes. Its slashes need no escape.",
    schema={
        "type": "string",
        "pattern": "^(x([1-9][0-9]{2}|0[1-9][0-9]|00[1-9])/(x[0-9]{3}/){0,5})?"
        r"[0-9]{3}(\.p/([1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5]))?$",
        "examples": ["000", "x001/x234/067", "x001/x234/067.p/5"],
    },
    parse=_parse_tile,
)
EVENT_POSITION = integer_parameter("position", POSITION.description, 1, required=True)
SIZE = integer_parameter("size", "The number of events in the tree; by default all.", 1)
OLDER_SIZE = integer_parameter("from", "The number of events in the older tree.", 0, required=True)
NEWER_SIZE = integer_parameter("to", "The number of events in the newer tree; by default all.", 0)


@HttpOperation(
    "GET",
    "/tile/{level}/{tile:path}",
    path_parameters=(LEVEL, TILE),
    answers={
        200: Answer(
            "The hashes, one after the other.",
            {OCTETS: BYTES},
            {"cache-control": "It never changes.", "vary": "Authorization."},
        )
    },
    errors=(404,),
)
async def get_tile(call: Call) -> Response:
    """Return a tile of the Merkle tree: 256 hashes of 32 bytes, or the first of them (C2SP tlog-tiles)."""
    data = await proofs.tile(call.ledger, call.path(LEVEL), call.path(TILE))
    return Response(data, headers={**_CACHED, "vary": "authorization"}, media_type=OCTETS)


@HttpOperation(
    "GET",
    "/tile/entries/{tile:path}",
    path_parameters=(TILE,),
    answers={
        200: Answer(
            "The lines.",
            {OCTETS: BYTES},
            {"cache-control": "It never changes.", "vary": "Authorization, Accept-Encoding."},
        )
    },
    errors=(404,),
)
async def get_entries(call: Call) -> Response:
    """Return the log lines of a tile of level 0. Before each line is its length in two bytes, big-endian.

    The answer is compressed if Accept-Encoding names gzip.
    """
    data = await proofs.entries(call.ledger, call.path(TILE))
    headers = {**_CACHED, "vary": "authorization, accept-encoding"}
    if accepts_gzip(call.request.headers.get("accept-encoding", "")):
        data = await to_thread(compress, data, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(data, headers=headers, media_type=OCTETS)


@HttpOperation(
    "GET",
    "/proofs/inclusion",
    query=(EVENT_POSITION, SIZE),
    answers={200: json_answer("The proof; hashes in base64.", proofs.InclusionAnswer)},
)
async def get_inclusion(call: Call) -> Response:
    """Prove that an event is in the tree of the first `size` events (RFC 6962)."""
    position, size = EVENT_POSITION.read(call.parameters), SIZE.find(call.parameters)
    return json_response(await proofs.inclusion(call.ledger, position, size))


@HttpOperation(
    "GET",
    "/proofs/consistency",
    query=(OLDER_SIZE, NEWER_SIZE),
    answers={200: json_answer("The proof; hashes in base64.", proofs.ConsistencyAnswer)},
)
async def get_consistency(call: Call) -> Response:
    """Prove that the tree of the first `to` events begins with that of the first `from` (RFC 6962)."""
    older, newer = OLDER_SIZE.read(call.parameters), NEWER_SIZE.find(call.parameters)
    return json_response(await proofs.consistency(call.ledger, older, newer))
