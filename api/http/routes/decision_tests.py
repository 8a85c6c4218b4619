"""The route that resolves tests of decisions."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response
from api.parameters import flag_parameter
from api.service.decision_tests import resolve_tests
from tallystick.shapes.tests import ResolvedTests

DRY_RUN = flag_parameter("dry_run", "Whether to return what would be reviewed, and to review nothing.")


@HttpOperation(
    "POST",
    "/tests/resolve",
    scopes=("observe",),
    query=(DRY_RUN,),
    answers={200: json_answer("Every test that has an outcome has reviewed its decision.", ResolvedTests)},
    errors=(507,),
)
async def post_resolve(call: Call) -> Response:
    """Review every decision whose test has an outcome by now, and that nobody has reviewed.

    A server does that by itself seconds after a new scan, and every minute.
    """
    call.caller.require("observe")
    return json_response(await resolve_tests(call.ledger, dry_run=bool(DRY_RUN.find(call.parameters))))
