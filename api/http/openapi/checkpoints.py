"""Checkpoints and receipts in the OpenAPI document."""

from api.http.openapi.schemas import POSITION, TEXT, Json, answer, parameter, problems
from api.http.routes.checkpoints import NOTE


def proof() -> Json:
    """The paths of what is signed."""
    position = parameter("position", POSITION, "1-based, over the whole log.", "path")
    return {
        "/checkpoint": {
            "get": _get(
                "get_checkpoint",
                "What the log says of itself: origin, size and root, signed (C2SP tlog-checkpoint). It lacks at most "
                "the events of the last second.",
                "The newest checkpoint.",
            )
        },
        "/checkpoint/witnessed": {
            "get": _get(
                "get_witnessed",
                "The newest checkpoint that a witness has cosigned (C2SP tlog-cosignature).",
                "It, with the cosignatures.",
                None,
                404,
            )
        },
        "/events/{position}/receipt": {
            "get": _get(
                "get_receipt",
                "That an event is in the log, in a file that stands alone (C2SP tlog-proof).",
                "The event's line as its extra data, where it stands, the proof, and a checkpoint.",
                [position],
                404,
            )
        },
    }


def _get(operation: str, summary: str, told: str, parameters: list[Json] | None = None, *statuses: int) -> Json:
    """An operation that the read scope allows, with its refusals."""
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters or [],
        "responses": {
            "200": answer(told, {NOTE.partition(";")[0]: TEXT}),
            **problems(400, 401, 403, *statuses, 422, 503, 507),
        },
    }
