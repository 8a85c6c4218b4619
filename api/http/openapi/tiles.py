"""The tree in the OpenAPI document."""

from api.http.media import JSON
from api.http.openapi.schemas import CURSOR, POSITION, TEXT, Json, answer, parameter, problems, reference
from api.http.routes.tiles import BYTES, LEVEL_MAX

_NUMBER = {
    "type": "string",
    "pattern": r"^(x[0-9]{3}/){0,6}[0-9]{3}(\.p/([1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5]))?$",
    "examples": ["000", "x001/x234/067", "x001/x234/067.p/5"],
}
_TILE = parameter(
    "tile",
    _NUMBER,
    "Its number from the left in groups of three digits, all but the last prefixed by x; .p/W for the first W hashes. "
    "Its slashes may stand as they are.",
    "path",
)
_LEVEL = parameter("level", {"type": "integer", "minimum": 0, "maximum": LEVEL_MAX}, "0 holds the leaves.", "path")


def tree() -> Json:
    """The paths of tiles and proofs."""
    position = parameter("position", POSITION, "Where the event stands.") | {"required": True}
    older = parameter("from", CURSOR, "How many events the older tree has.") | {"required": True}
    return {
        "/tile/{level}/{tile}": {
            "get": _get(
                "get_tile",
                "A tile of the Merkle tree, 256 hashes of 32 bytes or the first of them (C2SP tlog-tiles).",
                _kept(answer("The hashes, side by side.", {BYTES: {}}), "Authorization"),
                [_LEVEL, _TILE],
                404,
            )
        },
        "/tile/entries/{tile}": {
            "get": _get(
                "get_entries",
                "The lines behind a tile of level 0, each behind its length in two bytes, big-endian; compressed where "
                "Accept-Encoding takes gzip.",
                _kept(answer("The lines.", {BYTES: {}}), "Authorization, Accept-Encoding"),
                [_TILE],
                404,
            )
        },
        "/proofs/inclusion": {
            "get": _get(
                "get_inclusion",
                "The proof that an event is in the tree of the first `size` events (RFC 6962).",
                answer("The proof; hashes in base64.", {JSON: reference("InclusionAnswer")}),
                [position, parameter("size", POSITION, "How many events the tree has; by default all there are.")],
            )
        },
        "/proofs/consistency": {
            "get": _get(
                "get_consistency",
                "The proof that the tree of the first `to` events begins with that of the first `from` (RFC 6962).",
                answer("The proof; hashes in base64.", {JSON: reference("ConsistencyAnswer")}),
                [older, parameter("to", CURSOR, "How many events the newer tree has; by default all there are.")],
            )
        },
    }


def _kept(told: Json, vary: str) -> Json:
    """An answer that never changes."""
    lasting = {"schema": TEXT, "required": True, "description": "It never changes."}
    varying = {"schema": TEXT, "required": True, "description": f"{vary}."}
    return {**told, "headers": {**told["headers"], "cache-control": lasting, "vary": varying}}


def _get(operation: str, summary: str, told: Json, parameters: list[Json], *statuses: int) -> Json:
    """An operation that the read scope allows, with its refusals."""
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": told, **problems(400, 401, 403, *statuses, 503)},
    }
