"""Routes of suite versions that runs kept: list them, show one, compare two, and return one file."""

from starlette.responses import Response

from api.http.operation import BYTES, Answer, HttpOperation, json_answer
from api.http.path_parameters import STREAM_ID_SCHEMA, stream_id_parameter
from api.http.request import Call, json_response
from api.http.routes.evaluations import SCENARIO
from api.parameters import text_parameter
from api.service.evaluation import suite_comparison, suite_queries
from api.service.evaluation.suite_files import JSON, YAML, media_type_of
from api.service.event_params import AS_OF, LIMIT, OFFSET
from api.service.operation import Link
from api.service.suite_params import SUITES_PARAMETERS, parse_suite_query

VERSION = stream_id_parameter(
    "version",
    "A run of the version, its suite digest or the digest of its list of files, or a unique beginning of one.",
)
BEFORE = text_parameter("baseline", "The older version, named as `version` is.", STREAM_ID_SCHEMA, required=True)
AFTER = text_parameter("candidate", "The newer version, named as `version` is.", STREAM_ID_SCHEMA, required=True)
PATH = text_parameter("path", "The path of the file, such as `job-image/scenario.yaml`.", required=True)


@HttpOperation(
    method="GET",
    path="/suites",
    heavy=True,
    query=SUITES_PARAMETERS,
    answers={200: json_answer("A page of suite versions.", suite_queries.SuiteVersionPage)},
    links={"version": Link("get_suite_version", "version", "$response.body#/versions/0/suite_digest")},
)
async def get_suite_versions(call: Call) -> Response:
    """List the versions of suites that runs used, the last used first, and whether their files are stored."""
    query = parse_suite_query(call.parameters)
    found = await suite_queries.list_suite_versions(await call.view(), call.caller, query)
    return json_response(found)


@HttpOperation(
    method="GET",
    path="/suites/{version}",
    heavy=True,
    path_parameters=(VERSION,),
    query=(LIMIT, OFFSET, AS_OF),
    answers={200: json_answer("The version, with a page of its scenarios.", suite_queries.SuiteVersionAnswer)},
    errors=(404, 422),
)
async def get_suite_version(call: Call) -> Response:
    """Return a suite version with its scenarios and files. Without kept files, it has no scenarios here."""
    limit, offset = LIMIT.read(call.parameters), OFFSET.read(call.parameters)
    found = await suite_queries.show_suite_version(
        await call.view(), call.caller, call.path(VERSION), limit=limit, offset=offset
    )
    return json_response(found)


@HttpOperation(
    method="GET",
    path="/suites/compare",
    heavy=True,
    query=(BEFORE, AFTER, AS_OF),
    answers={200: json_answer("What was added, removed and changed.", suite_comparison.SuiteComparison)},
    errors=(404, 410, 422),
)
async def get_suite_comparison(call: Call) -> Response:
    """Compare two suite versions by scenario, to tell whether the suite changed or the agent."""
    baseline, candidate = BEFORE.read(call.parameters), AFTER.read(call.parameters)
    found = await suite_comparison.compare_suite_versions(await call.view(), call.caller, baseline, candidate)
    return json_response(found)


@HttpOperation(
    method="GET",
    path="/suites/{version}/scenarios/{scenario_id}",
    heavy=True,
    path_parameters=(VERSION, SCENARIO),
    query=(AS_OF,),
    answers={200: json_answer("The scenario, with the texts of its files.", suite_queries.KeptScenarioAnswer)},
    errors=(404, 410, 422),
)
async def get_kept_scenario(call: Call) -> Response:
    """Return one scenario of a suite version, with its files as they were when a run kept them."""
    version, scenario = call.path(VERSION), call.path(SCENARIO)
    found = await suite_queries.show_kept_scenario(await call.view(), call.caller, version, scenario)
    return json_response(found)


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
