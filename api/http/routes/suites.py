"""The route of a file of a suite version."""

from starlette.responses import Response

from api.http.operation import BYTES, Answer, http_operation
from api.service.evaluation import suite_queries
from api.service.evaluation.suite_files import JSON, YAML, media_type_of
from api.service.evidence import digest_of
from api.service.run_params import KeptFileQuery


def _attachment(data: bytes, params: KeptFileQuery) -> Response:
    """Return the bytes as an attachment that no browser executes."""
    # No cache may keep the bytes, since they can be erased.
    headers = {
        "cache-control": "private, no-store",
        "etag": f'"{digest_of(data)}"',
        "content-disposition": f'attachment; filename="{digest_of(data)}"',
        "content-type": media_type_of(params.path),
    }
    return Response(data, headers=headers)


get_suite_file = http_operation(
    suite_queries.get_suite_file, Answer("The bytes of the file.", {JSON: BYTES, YAML: BYTES}), _attachment
)
