"""The export in the OpenAPI document."""

from api.export.manifest import FORMATS
from api.http.openapi.schemas import PARAMETERS, Json, answer, parameter, problems
from api.http.routes.export import ZIP

_TEXT: Json = {"schema": {"type": "string"}, "required": True}


def export() -> Json:
    """The path of the export."""
    chosen = [PARAMETERS[name] for name in ("since", "until", "type", "subject", "agent")]
    written = [
        parameter("format", {"enum": list(FORMATS), "default": "ndjson"}, "How the events are written."),
        parameter("gzip", {"type": "boolean", "default": False}, "Compress the events; not those of parquet."),
        parameter("evidence", {"type": "boolean", "default": False}, "With the evidence that the events name."),
    ]
    told = answer("The export, streamed; whole where it ends as a ZIP does.", {ZIP: {}})
    headers = {
        "content-disposition": {**_TEXT, "description": "A name for the file."},
        "cache-control": {**_TEXT, "description": "Kept by nobody on the way."},
    }
    return {
        "/export": {
            "get": {
                "operationId": "get_export",
                "summary": "All events, or those that the filters choose, with all that proves them: a ZIP that says "
                "in its README.md how to verify it.",
                "parameters": chosen + written,
                "responses": {
                    "200": {**told, "headers": {**told["headers"], **headers}},
                    **problems(400, 401, 403, 404, 422, 503, 507),
                },
            }
        }
    }
