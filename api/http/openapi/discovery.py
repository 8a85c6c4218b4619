"""The loop of discovery in the OpenAPI document."""

from api.http.media import JSON
from api.http.openapi.schemas import CURSOR, DATE, INSTANT, STREAM_ID, Json, answer, parameter, problems, reference

_RUN = parameter("run", STREAM_ID, "The run's id.", "path")
_SINCE = parameter(
    "since",
    {"anyOf": [CURSOR, INSTANT, DATE]},
    "Behind this position, the `next` of the answer before; or recorded at this time or later.",
)


def discovery() -> Json:
    """The paths of a live run."""
    return {
        "/discovery": {
            "post": _post(
                "post_discovery",
                "Begin a run of discovery, and say what it asks first.",
                "RunConfig",
                {
                    "200": _told("A retry: a run of that id began alike.", "NextPrompt"),
                    "201": _told("It began.", "NextPrompt"),
                },
            )
        },
        "/discovery/{run}/prompt": {
            "get": _get(
                "get_prompt",
                "What a run wants next: a prompt; or, where it has ended, none, and why.",
                _told("The step.", "NextPrompt"),
                [_RUN],
                409,
            )
        },
        "/discovery/{run}/responses": {
            "post": _post(
                "post_response",
                "Record what came back for a prompt, and say what it is and what is wanted next.",
                "ResponseBody",
                {"200": _told("What came of it; the same again where `attempt` was answered so.", "ResponseResult")},
                [_RUN],
            )
        },
        "/discovery/{run}/signals": {
            "post": _post(
                "post_signal",
                "Tell the people watching a run something.",
                "SignalDraft",
                {"201": _told("The signal as it stands.", "SignalEntry")},
                [_RUN],
            ),
            "get": _get(
                "get_signals",
                "The signals of a run, in the order of the log.",
                _told("Signals.", "SignalPage"),
                [_RUN, _SINCE],
            ),
        },
        "/discovery/{run}/finish": {
            "post": _post(
                "post_finish",
                "End a run, and say what it found.",
                "FinishBody",
                {"200": _told("Its report; the same again where it ended so.", "RunDetail")},
                [_RUN],
            )
        },
    }


def _post(operation: str, summary: str, body: str, told: Json, path: list[Json] | None = None) -> Json:
    """An operation that the append scope allows, with its refusals."""
    missing = (404,) if path else ()
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": path or [],
        "requestBody": {"required": False, "content": {JSON: {"schema": reference(body)}}},
        "responses": {**told, **problems(400, 401, 403, *missing, 409, 413, 415, 422, 503, 507)},
    }


def _get(operation: str, summary: str, told: Json, parameters: list[Json], *statuses: int) -> Json:
    """An operation that the read scope allows, with its refusals."""
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": told, **problems(400, 401, 403, 404, *statuses, 503)},
    }


def _told(description: str, schema: str) -> Json:
    return answer(description, {JSON: reference(schema)})
