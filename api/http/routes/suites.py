"""Routes of suite versions that runs kept: list them, show one, compare two, and return one file."""

from starlette.responses import Response

from api.http.operation import BYTES, Answer, HttpOperation
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call
from api.parameters import text_parameter
from api.service.evaluation import suite_queries
from api.service.evaluation.suite_files import JSON, YAML, media_type_of
from api.service.event_params import AS_OF

VERSION = stream_id_parameter(
    "version",
    "A run of the version, its suite digest or the digest of its list of files, or a unique beginning of one.",
)
PATH = text_parameter("path", "The path of the file, such as `job-image/scenario.yaml`.", required=True)


@HttpOperation(
    method="GET",
    path="/suites/{version}/file",
    path_parameters=(VERSION,),
    query=(PATH, AS_OF),
    answers={200: Answer("The bytes of the file.", {JSON: BYTES, YAML: BYTES})},
    errors=(404, 410, 422),
)
async def get_suite_file(call: Call) -> Response:
    """Verify and return the bytes of a file of a suite version, as an attachment that no browser executes."""
    path = PATH.read(call.parameters)
    content = await suite_queries.read_kept_file(await call.view(), call.caller, call.path(VERSION), path)
    # No cache may keep the bytes, since they can be erased.
    headers = {
        "cache-control": "private, no-store",
        "etag": f'"{content.digest}"',
        "content-disposition": f'attachment; filename="{content.digest}"',
        "content-type": media_type_of(path),
    }
    return Response(content.data, headers=headers)
